"""Parquet: one file, or a folder of files that is read as one table.

The files of a folder are checked before the first row is read. That takes only their footers, and a column that is
missing in the 900th file is noticed at once and not after hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from newfound.data.columns import find_columns
from newfound.data.rows import Record, Records, Source
from newfound.data.times import has_name_of_times
from newfound.errors import DataError
from newfound.text import first_line

ENDINGS = (".parquet", ".pq")
ROWS_PER_BATCH = 8_192
BYTES_PER_READ = 2**20  # without a limit, pyarrow holds a column of a whole row group, however large that is


def read_parquet(source: Source) -> Records:
    """Read a Parquet file; the line of a row is its number in the file."""
    if not source.stream.seekable():
        raise DataError(f"{source.name}: Parquet cannot be read from a pipe; give the file itself")
    with _open_file(source.name, source.stream) as file:
        find_columns(source, f"{source.name}, line 1", file.schema_arrow.names, may_be_data=False)
        yield from enumerate(_records(source, source.name, file), 1)


def read_parquet_folder(folder: Path, source: Source) -> Records:
    """Read a folder of Parquet files as one table; the line of a row is its number in the table.

    The source says how the files are read, and its report is told of it; its stream is not used.
    """
    paths = _files_in(folder)
    schemas = [_schema(path) for path in paths]
    find_columns(source, f"{paths[0]}, line 1", schemas[0].names, may_be_data=False)
    for path, schema in zip(paths, schemas, strict=True):
        _check_schema(source, path, schema, paths[0], schemas[0])
    yield from enumerate((record for path in paths for record in _records_of_file(source, path)), 1)


def _schema(path: Path) -> Any:
    with _open_path(path) as file:
        return file.schema_arrow


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


def _check_schema(source: Source, path: Path, schema: Any, first: Path, expected: Any) -> None:
    """Refuse a file that differs from the first one in the columns that are read."""
    for column in filter(None, (source.report.text_column, source.report.label_column)):
        if column not in schema.names:
            shown = ", ".join(schema.names[:8])[:120] or "nothing"
            raise DataError(f"{path}: no column {column!r} (found: {shown}), which {first.name} has; nothing was read")
        type, expected_type = schema.field(column).type, expected.field(column).type
        if type != expected_type:
            raise DataError(
                f"{path}: the column {column!r} holds {type}, and in {first.name} {expected_type}; nothing was read"
            )


def _records_of_file(source: Source, path: Path) -> Iterator[Record]:
    with _open_path(path) as file:
        yield from _records(source, str(path), file)


def _records(source: Source, name: str, file: Any) -> Iterator[Record]:
    wanted = [column for column in (source.report.text_column, source.report.label_column) if column is not None]
    if source.reads_times:
        wanted += [column for column in _possible_times(source, file.schema_arrow) if column not in wanted]
    with _translate_errors(name):
        for batch in file.iter_batches(ROWS_PER_BATCH, columns=wanted):
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
def _open_file(name: str, stream: BinaryIO) -> Iterator[Any]:
    pa = _pyarrow(name)
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream, buffer_size=BYTES_PER_READ, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: not a Parquet file, or a damaged one ({first_line(error)})") from None
    yield file


@contextmanager
def _open_path(path: Path) -> Iterator[Any]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    with stream, _open_file(str(path), stream) as file:
        yield file


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Turn what pyarrow says of damaged pages into an error with the file's name."""
    pa = _pyarrow(name)
    try:
        yield
    except UnicodeDecodeError:
        raise DataError(f"{name}: a string in it is not UTF-8; write the file again with strings in UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: a damaged Parquet file ({first_line(error)}); write it again") from None


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise DataError(f"{name}: reading Parquet needs pyarrow; pip install 'newfound[parquet]'") from None
    return pyarrow
