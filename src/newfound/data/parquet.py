"""Parquet: one file, or a folder of files that is read as one table.

The files of a folder are checked before the first row is read. That takes only their footers, and a column that is
missing in the 900th file is noticed at once and not after hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from newfound.data.circumstances import may_tell_more
from newfound.data.columns import find_columns
from newfound.data.messages import is_list_of_messages
from newfound.data.readers import read_objects
from newfound.data.rows import Record, Records, Source
from newfound.data.times import has_name_of_times
from newfound.errors import DataError
from newfound.text import first_line

ENDINGS = (".parquet", ".pq")
ROWS_PER_BATCH = 8_192
BYTES_PER_READ = 2**20  # without a limit, pyarrow holds a column of a whole row group, however large that is


def read_parquet(source: Source, folder: Path | None = None) -> Records:
    """Read a Parquet file, or the files of a folder as one table; the line of a row is its number in the table."""
    streams: dict[str, BinaryIO | None] = {source.name: source.stream}
    if folder is not None:
        streams = dict.fromkeys(map(str, _files_in(folder)))
    elif not source.stream.seekable():
        raise DataError(f"{source.name}: Parquet cannot be read from a pipe; give the file itself")
    schemas = {}
    for name, stream in streams.items():
        with _open(name, stream) as file:
            schemas[name] = file.schema_arrow
    first = next(iter(schemas))
    if any(is_list_of_messages(name) for name in schemas[first].names):
        whole = (record for file in streams.items() for record in _records(source, None, *file))
        yield from read_objects(source, ((i, f"{source.name}, row {i}", record) for i, record in enumerate(whole, 1)))
        return
    find_columns(source, f"{first}, line 1", schemas[first].names, may_be_data=False)
    wanted = [column for column in (source.report.text_column, source.report.label_column) if column is not None]
    for name, schema in schemas.items():
        _check_schema(name, schema, wanted, first, schemas[first])
    yield from enumerate((record for file in streams.items() for record in _records(source, wanted, *file)), 1)


def _files_in(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder and of its folders, in the order of their names.

    Names that start with a dot or an underscore are left out, as those of other programs' notes do.
    """
    files = [
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in ENDINGS
        and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
        and path.is_file()
    ]
    if not files:
        raise DataError(f"{folder}: is a directory without Parquet files; give a file")
    return sorted(files)


def _check_schema(name: str, schema: Any, wanted: Sequence[str], first: str, expected: Any) -> None:
    """Refuse a file that differs from the first one in the columns that are read."""
    for column in wanted:
        if column not in schema.names:
            shown = ", ".join(schema.names[:8])[:120] or "nothing"
            found = f"no column {column!r} (found: {shown}), which {Path(first).name} has"
            raise DataError(f"{name}: {found}; nothing was read")
        type, expected_type = schema.field(column).type, expected.field(column).type
        if type != expected_type:
            found = f"the column {column!r} holds {type}, and in {Path(first).name} {expected_type}"
            raise DataError(f"{name}: {found}; nothing was read")


def _records(source: Source, wanted: Sequence[str] | None, name: str, stream: BinaryIO | None) -> Iterator[Record]:
    """Yield the records of a file with the wanted columns and those that say more of an utterance; None wants all."""
    with _open(name, stream) as file:
        columns = None
        if wanted is not None:
            times = _possible_times(source, file.schema_arrow) if source.reads_times else []
            more = (column for column in file.schema_arrow.names if may_tell_more(column, source.options))
            columns = list(dict.fromkeys([*wanted, *times, *more]))
        for batch in file.iter_batches(ROWS_PER_BATCH, columns=columns):
            yield from batch.to_pylist()


def _possible_times(source: Source, schema: Any) -> list[str]:
    """Return the columns that may hold times, by their names or types; others are not worth reading."""
    import pyarrow as pa

    if source.options.time_column is not None:
        return [name for name in schema.names if name == source.options.time_column]
    return [
        f.name for f in schema if pa.types.is_timestamp(f.type) or pa.types.is_date(f.type) or has_name_of_times(f.name)
    ]


@contextmanager
def _open(name: str, stream: BinaryIO | None) -> Iterator[Any]:
    """Open a file, and turn what pyarrow says of a damaged one into an error with its name."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{name}: reading Parquet needs pyarrow; pip install 'newfound[parquet]'") from None
    try:
        opened = pq.ParquetFile(stream or name, buffer_size=BYTES_PER_READ, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: not a Parquet file, or a damaged one ({first_line(error)})") from None
    try:
        with opened as file:
            yield file
    except UnicodeDecodeError:
        raise DataError(f"{name}: a string in it is not UTF-8; write the file again with strings in UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: a damaged Parquet file ({first_line(error)}); write it again") from None
