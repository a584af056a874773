"""Parquet files, read in small pieces, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from newfound.data.circumstances import may_tell_more
from newfound.data.columns import find_columns
from newfound.data.messages import is_list_of_messages
from newfound.data.readers import read_objects
from newfound.data.rows import Record, Records, Source
from newfound.data.times import has_name_of_times
from newfound.errors import DataError
from newfound.text import first_line

ROWS_PER_BATCH = 8_192
BYTES_PER_READ = 2**20  # without a limit, pyarrow holds a column of a whole row group, however large that is


def read_parquet(source: Source) -> Records:
    """Read a Parquet file; the line of a row is its number in the table."""
    if not source.stream.seekable():
        raise DataError(f"{source.name}: Parquet cannot be read from a pipe; give the file itself")
    with _open(source) as file:
        schema = file.schema_arrow
        if any(is_list_of_messages(name) for name in schema.names):
            rows = enumerate(_records(file, None), 1)
            yield from read_objects(source, ((i, f"{source.name}, row {i}", record) for i, record in rows))
            return
        find_columns(source, f"{source.name}, line 1", schema.names, may_be_data=False)
        times = _possible_times(source, schema) if source.reads_times else []
        more = (name for name in schema.names if may_tell_more(name, source.options))
        wanted = [source.report.text_column, source.report.label_column, *times, *more]
        yield from enumerate(_records(file, list(dict.fromkeys(filter(None, wanted)))), 1)


def _records(file: Any, columns: list[str] | None) -> Iterator[Record]:
    """Yield the records of a file with some columns; None wants all."""
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
def _open(source: Source) -> Iterator[Any]:
    """Open a file, and turn what pyarrow says of a damaged one into an error with its name."""
    name = source.name
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{name}: reading Parquet needs pyarrow; pip install 'newfound[parquet]'") from None
    try:
        opened = pq.ParquetFile(source.stream, buffer_size=BYTES_PER_READ, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: not a Parquet file, or a damaged one ({first_line(error)})") from None
    try:
        with opened as file:
            yield file
    except UnicodeDecodeError:
        raise DataError(f"{name}: a string in it is not UTF-8; write the file again with strings in UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: a damaged Parquet file ({first_line(error)}); write it again") from None
