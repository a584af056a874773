"""A folder of predictions: a large table is cut into parts, and each part becomes one file.

A part is a range of rows of one Parquet file. Its file has the part's number as its name and is put in place by one
rename, so that a part that is computed twice, because a worker died, is still there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newfound.data.parquet import ParquetDataset, ParquetPart, batches_of, not_utf8
from newfound.engines.predictor import Predictor, PredictorSettings
from newfound.errors import DataError, EngineError, NewfoundError, OutputError
from newfound.exports.predictions import PREDICTION_COLUMNS, THRESHOLD_COLUMN, arrow_fields, writer_of
from newfound.files import file_atomically
from newfound.version import __version__

if TYPE_CHECKING:
    pass

MIN_ROWS_PER_PART = 10_000
MAX_PARTS_PER_TABLE = 2_000  # a very large table gets larger parts rather than more of them
IDENTITY_COLUMNS = ("file", "line")  # where a row came from
INPUT_PREFIX = "input_"  # of a column of the input whose name a column of the predictions has


@dataclass(frozen=True, slots=True)
class Part:
    """A range of rows of a Parquet file. The numbers of parts and of rows are counted from 0."""

    number: int
    file: ParquetPart
    start: int
    rows: int


@dataclass(frozen=True, slots=True)
class PartResult:
    """What became of a part: the file that was written, or an error."""

    number: int
    name: str = ""
    rows: int = 0
    bytes: int = 0
    empty: int = 0  # rows without text
    error: str = ""  # why there is no file, in words for the user
    cause: str = "engine"  # what the error is about: data, output or engine

    def check(self) -> None:
        if self.error:
            raise {"data": DataError, "output": OutputError}.get(self.cause, EngineError)(self.error)


@dataclass(frozen=True, slots=True)
class PartJob:
    """What is done with each part; every value can be sent to another machine."""

    folder: Path
    format: str  # jsonl, csv or parquet
    text_column: str
    columns: tuple[str, ...]  # of the input, that are kept
    settings: PredictorSettings
    identify: bool = True  # whether each row gets the file and the line that it came from
    version: str = __version__  # a worker with another version of newfound refuses the job


def plan_parts(dataset: ParquetDataset) -> list[Part]:
    """Return the parts of a table: every row is in exactly one of them."""
    size = max(MIN_ROWS_PER_PART, -(-dataset.rows // MAX_PARTS_PER_TABLE))
    ranges = [(file, start) for file in dataset.files for start in range(0, file.rows, size)]
    return [Part(i, file, start, min(size, file.rows - start)) for i, (file, start) in enumerate(ranges)]


def predict_part(predictor: Predictor, job: PartJob, part: Part) -> PartResult:
    """Write the predictions of one part. Errors of the user are part of the result: Ray does not keep their type."""
    try:
        if job.version != __version__:
            raise EngineError(f"a worker has newfound {__version__}, not {job.version}; install the same one")
        return _write_part(predictor, job, part)
    except UnicodeDecodeError:  # where strings are taken out of a batch, so that pyarrow's reader has not seen it
        return PartResult(part.number, error=str(not_utf8(str(part.file.path))), cause="data")
    except NewfoundError as error:
        return PartResult(part.number, error=str(error), cause="data" if isinstance(error, DataError) else "engine")
    except OSError as error:
        reason = f"a part cannot be written ({error.strerror or error}); nothing was kept"
        return PartResult(part.number, error=reason, cause="output")


def _write_part(predictor: Predictor, job: PartJob, part: Part) -> PartResult:
    import pyarrow as pa

    path = job.folder / f"part-{part.number:05}.{job.format}"
    names = [*kept_names(job.columns, identify=job.identify), *(IDENTITY_COLUMNS if job.identify else ())]
    fields = arrow_fields(predictor.top, predictor.columns)
    rows = empty = 0
    columns_written = [*names, *predictor.columns]
    with file_atomically(path) as stream, writer_of(job.format, stream, predictor.top, columns_written) as writer:
        for batch in batches_of(part.file, part.start, part.rows, list(job.columns)):
            answers = predictor(batch.column(job.text_column).to_pylist())
            columns, first = list(batch.columns), part.start + rows + 1
            if job.identify:
                columns += [pa.array([part.file.name] * len(batch)), pa.array(range(first, first + len(batch)))]
            columns += [pa.array(answers[name], type) for name, type in fields]
            writer.write_table(pa.Table.from_arrays(columns, names=[*names, *(name for name, _ in fields)]))
            rows += len(batch)
            empty += answers["probability"].count(None)
    return PartResult(part.number, path.name, rows, path.stat().st_size, empty)


def kept_names(names: Sequence[str], *, identify: bool) -> list[str]:
    """Return what the columns of the input are called beside those of the predictions."""
    taken = {*PREDICTION_COLUMNS, THRESHOLD_COLUMN, "top", *(IDENTITY_COLUMNS if identify else ())}
    kept: list[str] = []
    for name in names:
        others = taken | set(kept) | (set(names) - {name} if name in taken else set())
        while name in others:
            name = INPUT_PREFIX + name
        kept.append(name)
    return kept


def collect_files(results: Sequence[PartResult], parts: Sequence[Part], folder: Path) -> list[dict[str, Any]]:
    """Return the files of a finished job, after a check that no row was lost or doubled.

    What workers that were killed have left half written is removed.
    """
    by_number = {result.number: result for result in results}
    if len(by_number) != len(results) or len(results) != len(parts):
        raise EngineError(
            f"{len(parts):,} parts were given and {len(results):,} came back; nothing was kept, try again"
        )
    for path in folder.glob(".part-*"):  # of `file_atomically`; a killed process could not remove them itself
        path.unlink(missing_ok=True)
    wanted = {f"part-{part.number:05}" for part in parts}
    written = {path.stem for path in folder.iterdir() if path.name.startswith("part-")}
    if written != wanted:
        raise EngineError(f"{len(wanted):,} files were to be written and {len(written):,} are there; nothing was kept")
    files = []
    for part in parts:
        result = by_number[part.number]
        if result.rows != part.rows or (folder / result.name).stat().st_size != result.bytes:
            raise EngineError(
                f"{result.name}: {part.rows:,} rows were read and {result.rows:,} were written; nothing was kept, "
                "try again"
            )
        files.append({"name": result.name, "rows": result.rows, "bytes": result.bytes, "from": part.file.name})
    return files
