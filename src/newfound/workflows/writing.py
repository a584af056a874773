"""Classify a large table and write the predictions: to one file, or with a cluster to a folder.

A file or folder with the wanted name is always whole: it is written under another name beside it, and then renamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, get_args

from newfound.data.readers import format_of
from newfound.data.validation import open_rows
from newfound.defaults import Engine
from newfound.engines.ray_data import RaySettings, Table, kept_names, predict_on_ray
from newfound.errors import DataError, OutputError, SettingsError, TargetExists
from newfound.exports.predictions import (
    ALL_COLUMNS,
    FORMAT_OF_ENDING,
    THRESHOLD_COLUMN,
    check_pyarrow,
    check_writer,
    write_batches,
)
from newfound.files import file_atomically, folder_atomically
from newfound.training.progress import Reporter
from newfound.workflows.prediction import PredictRequest, stream_predictions
from newfound.workflows.runtime import Runtime

FORMATS_OF_RAY = ("csv", "tsv", "jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class WritePredictionsRequest(PredictRequest):
    """What to classify, with which model, and where the predictions go.

    Attributes:
        out: The file to write; with the engine ray a folder, which must not exist yet or be empty.
        format: jsonl, csv or parquet; None goes by the ending of `out`. A folder has Parquet files.
        overwrite: Replace an earlier file of that name.
        engine: Where texts are classified: local is this process, ray a cluster.
        ray_address: The address of the cluster; None is that of the variable `RAY_ADDRESS`, or else this machine.
        workers: How many workers of the cluster load the model; None is as many as there is room for.
    """

    out: str | Path = ""
    format: str | None = None
    overwrite: bool = False
    engine: Engine = "local"
    ray_address: str | None = None
    workers: int | None = None

    @property
    def cluster(self) -> RaySettings:
        return RaySettings(self.ray_address, self.workers, self.device)


@dataclass(frozen=True, slots=True)
class PredictionsWritten:
    """The file or folder that was written, and how many predictions it holds."""

    path: Path
    rows: int


def write_predictions(request: WritePredictionsRequest, *, reporter: Reporter | None = None) -> PredictionsWritten:
    """Classify utterances and write the predictions, in memory that does not grow with their number.

    Args:
        request: What to classify, with which model, and where the predictions go.
        reporter: Is told the progress; by default nobody is.

    Raises:
        TargetExists: There is something at `out`, and it is not to be replaced.
        OutputError: The predictions cannot be written. What was at `out` before is still there.
        EngineError: The cluster cannot be reached, or its workers die again and again.
    """
    request.predictor_settings.check()
    runtime = Runtime.of(request, reporter)
    if request.engine not in get_args(Engine):
        raise SettingsError(f"engine={request.engine!r} is not one of {', '.join(get_args(Engine))}")
    if request.engine == "ray":
        request.cluster.check()
    if not str(request.out):
        raise SettingsError("there is no place for the predictions", "written")
    path = Path(request.out)
    _check_is_not_input(request, path)
    if request.engine == "ray":
        return _write_with_ray(request, path, runtime)
    if path.is_dir():
        raise TargetExists(path, "is a folder", replaceable=False)
    format = request.format or FORMAT_OF_ENDING.get(path.suffix.lower())
    if format is None:
        endings = ", ".join(FORMAT_OF_ENDING)
        raise SettingsError(f"{path}: cannot tell the format from its ending; use one of {endings}")
    check_writer(format)
    if path.is_file() and not request.overwrite:
        raise TargetExists(path)
    return PredictionsWritten(path, write_as_they_arrive(request, format, _target(path), reporter=reporter))


def write_as_they_arrive(
    request: PredictRequest, format: str, target: AbstractContextManager[BinaryIO], *, reporter: Reporter | None
) -> int:
    """Classify utterances, write each batch of predictions as it is made, and return their number.

    The target is opened once the input and the model were looked at.
    """
    batches = stream_predictions(request, reporter=reporter)
    first = next(batches, None)
    top = min(request.top, len(first[0][1].top)) if first else request.top
    has_thresholds = first is not None and first[0][1].above_threshold is not None
    columns = (*ALL_COLUMNS, *([THRESHOLD_COLUMN] if has_thresholds else []))
    with target as stream:
        return write_batches(format, stream, chain([] if first is None else [first], batches), top, columns)


@contextmanager
def writing_to(path: str | Path) -> Iterator[None]:
    """Turn what the file system says while something is written into one error."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"{path}: cannot be written ({reason}); nothing was changed there") from error


@contextmanager
def _target(path: Path) -> Iterator[BinaryIO]:
    """Yield the file to write; a device or a named pipe cannot be replaced, and is written to as it is."""
    is_device = path.exists() and not path.is_file()
    with writing_to(path), path.open("wb") if is_device else file_atomically(path) as stream:
        yield stream


def _check_is_not_input(request: WritePredictionsRequest, path: Path) -> None:
    if not isinstance(request.texts, str | Path) or str(request.texts) == "-":
        return
    given, target = Path(request.texts).resolve(), path.resolve()
    if target in (given, *given.parents) or given in target.parents:
        raise SettingsError(f"{path}: is where the input lies", "place")


def _write_with_ray(request: WritePredictionsRequest, path: Path, runtime: Runtime) -> PredictionsWritten:
    if path.suffix in FORMAT_OF_ENDING or request.format not in (None, "parquet"):
        raise SettingsError(f"{path}: the engine ray writes a folder of Parquet files; name a folder")
    if not isinstance(request.model, str | Path) or not (request.encoder is None or isinstance(request.encoder, str)):
        raise SettingsError("the engine ray needs a model folder and the encoder's name, not loaded ones")
    check_pyarrow()
    _check_empty(path)
    table = _table(request, runtime)
    settings = request.predictor_settings
    if settings.encoder is not None and Path(settings.encoder).is_dir():
        settings = replace(settings, encoder=str(Path(settings.encoder).resolve()))  # workers have another folder
    with writing_to(path), folder_atomically(path, lambda: _check_empty(path)) as folder:
        folder.chmod(0o777)  # workers may have another user
        predict_on_ray(Path(request.model), table, folder, settings, request.cluster)
        rows, empty = _count_rows(folder)
    if empty:
        runtime.reporter.warn(f"{request.texts}: {empty:,} rows without text, which have no intent")
    return PredictionsWritten(path, rows)


def _check_empty(path: Path) -> None:
    if path.exists() and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
        raise TargetExists(path, "exists; remove it, or choose another folder", replaceable=False)


def _table(request: WritePredictionsRequest, runtime: Runtime) -> Table:
    """Return what Ray is to read, after a look at the first row: a wrong file is noticed before a cluster starts."""
    texts, options = request.texts, request.read
    if not isinstance(texts, str | Path) or str(texts) == "-":
        raise SettingsError("the engine ray reads files that all workers see; give a file or a folder")
    format = "parquet" if Path(texts).is_dir() else format_of(str(texts), options.format)
    if format not in FORMATS_OF_RAY:
        raise DataError(f"{texts}: the engine ray reads {', '.join(FORMATS_OF_RAY)}, and not {format}")
    rows, report = open_rows(texts, options, "ignored")
    if next(rows, None) is None:
        raise DataError(f"{texts}: no utterance in it; it needs one text a row")
    for note in report.notes:
        runtime.reporter.note(note)
    for old, new in zip(report.columns, kept_names(report.columns), strict=True):
        if old != new:
            runtime.reporter.note(
                f"the input's column {old!r} is written as {new!r}, since the predictions have one of its name"
            )
    return Table(
        str(Path(texts).resolve()),
        format,
        str(report.text_column),
        report.delimiter,
        options.encoding,
        report.columns if options.header is False else None,
    )


def _count_rows(folder: Path) -> tuple[int, int]:
    """Return how many rows a folder of predictions has, and how many of them have no text."""
    from pyarrow import dataset

    table = dataset.dataset(folder, format="parquet")
    return table.count_rows(), table.count_rows(filter=dataset.field("probability").is_null())
