"""Classify a large table and write the predictions: to one file, or to a folder of parts, here or on a cluster.

A file or folder with the wanted name is always whole: it is written under another name beside it, and then renamed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, get_args

from newfound.data.parquet import ParquetDataset, open_dataset
from newfound.data.readers import format_of
from newfound.data.rows import ReadOptions
from newfound.defaults import Engine
from newfound.engines.parts import Part, PartJob, PartResult, collect_files, kept_names, plan_parts, predict_part
from newfound.engines.predictor import Predictor, model_fingerprint
from newfound.engines.ray_data import RaySettings, run_on_ray
from newfound.errors import DataError, OutputError, SettingsError, TargetExists
from newfound.exports.predictions import (
    ALL_COLUMNS,
    FORMAT_OF_ENDING,
    THRESHOLD_COLUMN,
    check_pyarrow,
    check_writer,
    writer_of,
)
from newfound.files import file_atomically, folder_atomically, to_json, write_atomically
from newfound.training.progress import Reporter
from newfound.version import __version__
from newfound.workflows.prediction import PredictRequest, rows_to_classify, stream_predictions
from newfound.workflows.runtime import Runtime, name_of

MANIFEST = "_manifest.json"
MANIFEST_FORMAT = "newfound-predictions"
STAGED_ROWS_PER_GROUP = 10_000


@dataclass(frozen=True, slots=True)
class WritePredictionsRequest(PredictRequest):
    """What to classify, with which model, and where the predictions go.

    Attributes:
        out: The file to write; or a folder, if it is one, if its name ends with a slash, or if the engine is ray.
        format: jsonl, csv or parquet; None goes by the ending of `out`, and is parquet for a folder.
        overwrite: Replace an earlier file of that name, or an earlier folder of predictions.
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
    """The file or folder that was written, and how many predictions and files it holds."""

    path: Path
    rows: int
    files: int = 1


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
    if _is_folder(request):
        return _write_folder(request, path, runtime)
    format = request.format or FORMAT_OF_ENDING.get(path.suffix.lower())
    if format is None:
        raise SettingsError(
            f"{path}: cannot tell the format from its ending; use one of {', '.join(FORMAT_OF_ENDING)}, or end "
            "the name of a folder with a slash"
        )
    check_writer(format)
    if path.is_file() and not request.overwrite:
        raise TargetExists(path)
    _check_is_not_input(request, path)
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
    rows = 0
    with target as stream, writer_of(format, stream, top, columns) as writer:
        for batch in chain([] if first is None else [first], batches):
            writer.write(batch)
            rows += len(batch)
    return rows


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


def _is_folder(request: WritePredictionsRequest) -> bool:
    ends_with_slash = isinstance(request.out, str) and request.out.endswith("/")
    is_folder = ends_with_slash or Path(request.out).is_dir()
    if request.engine == "ray" and not is_folder and Path(request.out).suffix in FORMAT_OF_ENDING:
        raise SettingsError(f"{request.out}: the engine ray writes a folder, not a file; end its name with a slash")
    return is_folder or request.engine == "ray"


def _write_folder(request: WritePredictionsRequest, path: Path, runtime: Runtime) -> PredictionsWritten:
    format = request.format or "parquet"
    check_writer(format)
    check_pyarrow()
    if request.engine == "ray":
        _folder_of(request)
    _check_folder(path, request.overwrite)
    _check_is_not_input(request, path)
    source = str(request.texts) if isinstance(request.texts, str | Path) else "texts"
    fingerprint = model_fingerprint(request.model) if isinstance(request.model, str | Path) else None
    with writing_to(path), folder_atomically(path) as folder:
        folder.chmod(0o755)  # workers may have another user
        with _table(request, folder, runtime) as dataset:
            results, files = _write_parts(request, dataset, folder, format, runtime)
        rows = sum(file["rows"] for file in files)
        empty = sum(result.empty for result in results)
        if empty:
            runtime.reporter.warn(f"{source}: {empty:,} rows without text, which have no intent")
        manifest = {
            "format": MANIFEST_FORMAT,
            "version": 1,
            "newfound": __version__,
            "model": {"name": name_of(request.model), "sha256": fingerprint},
            "settings": asdict(request.predictor_settings),
            "input": source,
            "rows": rows,
            "empty": empty,
            "files": files,
        }
        write_atomically(folder / MANIFEST, to_json(manifest))
    return PredictionsWritten(path, rows, len(files))


def _check_folder(path: Path, overwrite: bool) -> None:
    if path.is_symlink():
        raise SettingsError(f"{path} is a link; give the folder itself")
    if path.exists() and not path.is_dir():
        raise TargetExists(path, "is a file", replaceable=False)
    names = {entry.name for entry in path.iterdir()} if path.exists() else set()
    others = sorted(names - _names_in_manifest(path))
    if others:
        raise TargetExists(path, f"exists and holds something else ({others[0]})", replaceable=False)
    if names and not overwrite:
        raise TargetExists(path)


def _names_in_manifest(folder: Path) -> set[str]:
    """Return the files of an earlier folder of predictions, its manifest included; none if it is something else."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest["format"] != MANIFEST_FORMAT:
            return set()
        return {MANIFEST, *(str(file["name"]) for file in manifest["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _check_is_not_input(request: WritePredictionsRequest, path: Path) -> None:
    if not isinstance(request.texts, str | Path) or str(request.texts) == "-":
        return
    given, target = Path(request.texts).resolve(), path.resolve()
    if target in (given, *given.parents) or given in target.parents:
        raise SettingsError(f"{path}: is where the input lies", "place")


@contextmanager
def _table(request: WritePredictionsRequest, folder: Path, runtime: Runtime) -> Iterator[ParquetDataset]:
    """Yield the input as Parquet.

    What is not Parquet is read here and put down as Parquet first, in the folder that the workers can see.
    """
    if _is_parquet(request):
        dataset = open_dataset(Path(str(request.texts)).resolve(), request.read, same_columns=True)
        for note in dataset.notes:
            runtime.reporter.note(note)
        yield dataset
        return
    with tempfile.TemporaryDirectory(prefix=".input-", dir=folder) as staging:
        Path(staging).chmod(0o755)
        staged = Path(staging).resolve() / "input.parquet"
        _stage(request, staged, runtime)
        yield open_dataset(staged, ReadOptions("text"))


def _is_parquet(request: WritePredictionsRequest) -> bool:
    texts = request.texts
    if not isinstance(texts, str | Path) or str(texts) == "-":
        return False
    return Path(texts).is_dir() or format_of(str(texts), request.read.format) == "parquet"


def _stage(request: WritePredictionsRequest, path: Path, runtime: Runtime) -> None:
    """Write the usable rows of any input to a Parquet file, with their lines."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("line", pa.int64()), ("text", pa.string())])
    rows, report = rows_to_classify(request)
    with path.open("wb") as stream, pq.ParquetWriter(stream, schema) as writer:
        while group := list(islice(rows, STAGED_ROWS_PER_GROUP)):
            columns = {"line": [row.line for row in group], "text": [row.text for row in group]}
            writer.write_table(pa.table(columns, schema=schema))
    runtime.tell(report)


def _write_parts(
    request: WritePredictionsRequest, dataset: ParquetDataset, folder: Path, format: str, runtime: Runtime
) -> tuple[list[PartResult], list[dict[str, Any]]]:
    """Write all parts, and return them after their rows were counted."""
    parts = plan_parts(dataset)
    if not parts:
        raise DataError(f"{request.texts}: no utterance in it; it needs one text a row")
    names, identify = tuple(dataset.schema.names), _is_parquet(request)  # other rows have their line already
    for old, new in zip(names, kept_names(names, identify=identify), strict=True):
        if identify and old != new:
            runtime.reporter.note(
                f"the input's column {old!r} is written as {new!r}, since the predictions have one of its name"
            )
    settings = request.predictor_settings
    if settings.encoder is not None and Path(settings.encoder).is_dir():
        settings = replace(settings, encoder=str(Path(settings.encoder).resolve()))  # workers have another folder
    job = PartJob(folder.resolve(), format, str(dataset.text), names, settings, identify=identify)
    results = []
    with (
        runtime.reporter.task(f"Predicting {dataset.rows:,} rows", len(parts)) as task,
        closing(_results(request, job, parts, runtime)) as arriving,  # workers end before the folder is tidied up
    ):
        for result in arriving:
            result.check()
            results.append(result)
            task.advance()
    return results, collect_files(results, parts, folder)


def _results(
    request: WritePredictionsRequest, job: PartJob, parts: list[Part], runtime: Runtime
) -> Generator[PartResult, None, None]:
    if request.engine == "ray":
        yield from run_on_ray(_folder_of(request), job, parts, request.cluster)
    else:
        predictor = Predictor(runtime.open_predictor(request.model), job.settings)
        yield from (predict_part(predictor, job, part) for part in parts)


def _folder_of(request: WritePredictionsRequest) -> str | Path:
    if isinstance(request.model, str | Path) and (request.encoder is None or isinstance(request.encoder, str)):
        return request.model
    raise SettingsError("the engine ray needs a model folder and the encoder's name, not loaded ones")
