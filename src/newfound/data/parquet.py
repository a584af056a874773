"""Parquet: one file, or a folder of files that is read as one table.

The files of a folder are checked before the first row is read. That takes only their footers, and a column that is
missing in the 900th file is noticed at once and not after hours.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from newfound.data.columns import find_names
from newfound.data.rows import LabelUse, ReadOptions, ReadReport, Row, Source, row_of_record
from newfound.data.times import has_name_of_times
from newfound.errors import DataError
from newfound.text import first_line

ENDINGS = (".parquet", ".pq")
ROWS_PER_BATCH = 8_192
BYTES_PER_READ = 2**20  # without a limit, pyarrow holds a column of a whole row group, however large that is


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A file of a dataset: where it lies, its path inside the dataset, and the number of its rows."""

    path: Path
    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class ParquetDataset:
    """Files that are one table, in the order of their names."""

    files: tuple[ParquetPart, ...]
    text: str  # the column of the utterances
    label: str | None  # the column of the intents; None if they are not read
    schema: Any  # of the first file (`pyarrow.Schema`)
    notes: tuple[str, ...]  # what a user should know about how the files are read

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


def read_parquet(source: Source) -> Iterator[Row]:
    """Read a Parquet file; the line of a row is its number in the file."""
    if not source.stream.seekable():
        raise DataError(f"{source.name}: Parquet cannot be read from a pipe; give the file itself")
    with _open_file(source.name, source.stream) as file:
        yield from _rows(source, file, *find_names(source, f"{source.name}, line 1", file.schema_arrow.names))


def read_parquet_folder(folder: Path, source: Source) -> Iterator[Row]:
    """Read a folder of Parquet files as one table; the line of a row is its number in the table.

    The source says how the files are read, and its report is told of it; its stream is not used.
    """
    dataset = open_dataset(folder, source.options, source.labels)
    source.report.notes.extend(dataset.notes)
    before = 0
    for part in dataset.files:
        with _open_path(part.path) as file:
            of_part = replace(source, report=ReadReport(str(part.path)))
            for row in _rows(of_part, file, dataset.text, dataset.label):
                yield replace(row, line=before + row.line)
        before += part.rows


def open_dataset(
    path: Path, options: ReadOptions, labels: LabelUse = "ignored", *, same_columns: bool = False
) -> ParquetDataset:
    """Return the files of a dataset after a look at the footer of each.

    Args:
        path: A Parquet file, or a folder of them, in folders of its own or not. Names that start with a dot or an
            underscore are left out, as those of manifests do.
        options: Which columns to read.
        labels: Whether labels are read.
        same_columns: Whether all columns must be the same in all files, and not only those that are read.
    """
    _pyarrow(str(path))
    paths = [path] if path.is_file() else _files_in(path)
    with _open_path(paths[0]) as file:
        schema = file.schema_arrow
    source = Source(ReadReport(str(paths[0])), io.BytesIO(), options, labels)
    text, label = find_names(source, f"{paths[0]}, line 1", schema.names)
    read = [name for name in (text, label) if name is not None]
    parts = []
    for file_path in paths:
        with _open_path(file_path) as file:
            _check_schema(file_path, file.schema_arrow, paths[0], schema, None if same_columns else read)
            name = file_path.name if file_path == path else file_path.relative_to(path).as_posix()
            parts.append(ParquetPart(file_path, name, file.metadata.num_rows))
    _check_text_type(paths[0], schema, text)
    return ParquetDataset(tuple(parts), text, label, schema, tuple(source.report.notes))


def batches_of(part: ParquetPart, start: int, rows: int, columns: list[str]) -> Iterator[Any]:
    """Yield record batches (`pyarrow.RecordBatch`) of so many rows of a file, beginning with the row `start` from 0."""
    with _open_path(part.path) as file:
        groups: list[int] = []
        skip = before = 0
        for group in range(file.metadata.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if before < start + rows and before + size > start:
                skip = start - before if not groups else skip
                groups.append(group)
            before += size
        batches = file.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=columns)
        with _translate_errors(str(part.path)):
            for batch in batches:
                wanted = batch.slice(skip, rows)
                skip = max(0, skip - len(batch))
                rows -= len(wanted)
                if len(wanted):
                    yield wanted
                if not rows:
                    return


def _files_in(folder: Path) -> list[Path]:
    if not folder.exists():
        raise DataError(f"{folder}: no such file")
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


def _check_schema(path: Path, schema: Any, first: Path, expected: Any, columns: list[str] | None) -> None:
    """Refuse a file that differs from the first one in these columns; without them, one that differs in any."""
    for column in expected.names if columns is None else columns:
        if column not in schema.names:
            shown = ", ".join(schema.names[:8])[:120] or "nothing"
            raise DataError(f"{path}: no column {column!r} (found: {shown}), which {first.name} has; nothing was read")
        type, expected_type = schema.field(column).type, expected.field(column).type
        if type != expected_type:
            raise DataError(
                f"{path}: the column {column!r} holds {type}, and in {first.name} {expected_type}; nothing was read"
            )
    others = [] if columns is not None else [column for column in schema.names if column not in expected.names]
    if others:
        raise DataError(f"{path}: the column {others[0]!r} is not in {first.name}; nothing was read")


def _check_text_type(path: Path, schema: Any, column: str) -> None:
    import pyarrow as pa

    type = schema.field(column).type
    value = type.value_type if pa.types.is_dictionary(type) else type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(test(value) for test in tests):
        raise DataError(f"{path}: {column!r} is not a string but {type}")


def _rows(source: Source, file: Any, text: str, label: str | None) -> Iterator[Row]:
    wanted = [column for column in (text, label) if column is not None]
    if source.reads_times:
        wanted += [name for name in _possible_times(source, file.schema_arrow) if name not in wanted]
    with _translate_errors(source.name):
        batches = file.iter_batches(ROWS_PER_BATCH, columns=wanted)
        for line, record in enumerate((record for batch in batches for record in batch.to_pylist()), 1):
            yield row_of_record(source, line, record, text, label)


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
        raise not_utf8(name) from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name}: a damaged Parquet file ({first_line(error)}); write it again") from None


def not_utf8(name: str) -> DataError:
    """Return the error for a file with strings that pyarrow reads, but that Python cannot decode."""
    return DataError(f"{name}: a string in it is not UTF-8; write the file again with strings in UTF-8")


def _pyarrow(name: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise DataError(f"{name}: reading Parquet needs pyarrow; pip install 'newfound[parquet]'") from None
    return pyarrow
