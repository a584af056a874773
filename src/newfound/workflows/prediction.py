"""Classify utterances, and write the predictions: to one file, or with a cluster to a folder. Decisions are heeded.

A file or folder with the wanted name is always whole: it is written under another name beside it, and then renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO

from newfound import defaults
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions, ReadReport, Row
from newfound.data.validation import open_rows
from newfound.defaults import Engine
from newfound.engines.predictor import PredictionLimits as PredictionLimits
from newfound.engines.predictor import Predictor
from newfound.engines.ray_data import Opening, predict_on_ray
from newfound.errors import DataError, MissingExtra, OutputError, SettingsError, TargetExists
from newfound.exports.predictions import FORMAT_OF_ENDING, check_pyarrow, check_writer, write_batches
from newfound.files import file_atomically, folder_atomically
from newfound.model.hub import model_folder
from newfound.model.types import Prediction
from newfound.training.devices import is_surely_cpu
from newfound.training.progress import Reporter
from newfound.workflows.runtime import ModelSource, Runtime
from newfound.workflows.sources import check_choice

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MAX_TEXTS_AT_ONCE, MAX_TEXTS_AT_ONCE_ON_GPU = 256, 8_192  # a GPU is idle between small batches


def predict(
    model: ModelSource,
    texts: str | Path | Sequence[str],
    *,
    top: int = 0,
    several: bool = False,
    threshold: float | None = None,
    explain: bool = False,
    encoder: str | Encoder | None = None,
    device: str = defaults.DEVICE,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    reporter: Reporter | None = None,
) -> list[Prediction]:
    """Return one prediction for each utterance.

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        model: A model folder, or a loaded model.
        texts: The utterances, or a file of them; "-" is standard input, one utterance a line.
        top: How many of the most probable intents each prediction holds.
        several: Divide messages that state several wishes: each prediction holds its parts with an intent each, and
            beside them the intent of the whole message.
        threshold: Return no intent for texts whose most probable intent is less probable than this.
        explain: Return an `Explanation` of each text: nearest utterances, runner-up, and the words that decide. It
            encodes each text once for every word.
    """
    runtime = Runtime.of(reporter, encoder, device)
    limits = PredictionLimits(threshold, top, several)
    batches = stream_predictions(model, texts, limits, runtime, read=read, explain=explain)
    return [prediction for batch in batches for _, prediction in batch]


def stream_predictions(
    model: ModelSource,
    texts: str | Path | Sequence[str],
    limits: PredictionLimits,
    runtime: Runtime,
    *,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    explain: bool = False,
) -> Iterator[list[tuple[int, Prediction]]]:
    """Yield the line and the prediction of utterances as they arrive, in batches.

    A slow pipe is answered line by line, a file in full batches.
    """
    if explain and limits.several:
        raise SettingsError("an explanation is of a whole message; ask for its parts without it")
    if isinstance(texts, str | Path):
        rows, report = open_rows(texts, read, "ignored")
    elif len(texts):
        rows, report = (Row(number, text, None) for number, text in enumerate(texts, 1)), ReadReport("texts")
    else:
        return
    first = next(rows, None)  # a wrong file is noticed before the model is loaded
    if first is None:
        raise DataError(f"{report.name}: no utterance in it; it needs one text a row")
    for note in report.notes:
        runtime.reporter.note(note)
    if explain:
        from newfound.review.explaining import Explainer

        reviewed = runtime.open_model(model)
        predictor = Predictor(reviewed.classifier, limits, Explainer(reviewed).classify)
    else:
        predictor = Predictor(runtime.open_predictor(model), limits)
    at_once = MAX_TEXTS_AT_ONCE if is_surely_cpu(runtime.device) else MAX_TEXTS_AT_ONCE_ON_GPU
    for batch in _ready_batches(chain([first], rows), at_once):
        answers = predictor.predictions([row.text for row in batch])
        yield [(row.line, answer) for row, answer in zip(batch, answers, strict=True)]
    for warning in report.warnings():
        runtime.reporter.warn(warning)


def _ready_batches(items: Iterator[Row], at_most: int) -> Iterator[list[Row]]:
    """Batches of whatever has arrived."""
    arrived: Queue[Row | Exception | None] = Queue(maxsize=4 * at_most)

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
            arrived.put(None)
        except Exception as error:
            arrived.put(error)

    Thread(target=read, daemon=True).start()
    item = arrived.get()
    while isinstance(item, Row):
        batch = [item]
        while len(batch) < at_most and not arrived.empty() and isinstance(item := arrived.get(), Row):
            batch.append(item)
        yield batch
        if isinstance(item, Row):
            item = arrived.get()
    if item is not None:
        raise item


def write_predictions(
    model: ModelSource,
    texts: str | Path | Sequence[str],
    out: str | Path,
    *,
    format: str | None = None,
    overwrite: bool = False,
    engine: Engine = "local",
    ray_address: str | None = None,
    workers: int | None = None,
    top: int = 0,
    several: bool = False,
    threshold: float | None = None,
    explain: bool = False,
    encoder: str | Encoder | None = None,
    device: str = defaults.DEVICE,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    reporter: Reporter | None = None,
) -> int:
    """Classify utterances and write the predictions, in memory that does not grow; return their number.

    What is not listed is as in `predict`, the rest in `newfound.workflows`.

    Args:
        model: A model folder, or a loaded model.
        texts: The utterances, or a file of them; "-" is standard input. The engine ray also takes a folder of Parquet
            files.
        out: The file to write; with the engine ray a folder, which must not exist yet or be empty.
        format: jsonl, csv or parquet; None goes by the ending of `out`. A folder has Parquet files.
        engine: Where texts are classified: local is this process, ray a cluster.
        ray_address: The address of the cluster; None is that of the variable `RAY_ADDRESS`, or else this machine.
        workers: How many workers of the cluster load the model; None is as many as there is room for.

    Raises:
        TargetExists: There is something at `out`, and it is not to be replaced.
        OutputError: The predictions cannot be written. What was at `out` before is still there.
        EngineError: The cluster cannot be reached, or its workers die again and again.
    """
    runtime = Runtime.of(reporter, encoder, device)
    limits = PredictionLimits(threshold, top, several)
    check_choice("engine", engine, Engine)
    path = Path(out)
    _check_is_not_input(texts, path)
    if engine == "ray":
        if path.suffix in FORMAT_OF_ENDING or format not in (None, "parquet"):
            raise SettingsError(f"{path}: the engine ray writes a folder of Parquet files; name a folder")
        opening = _opening(model, limits, runtime, workers)
        if not isinstance(texts, str | Path) or str(texts) == "-":
            raise SettingsError("the engine ray reads files that all workers see; give a file or a folder")
        _check_empty(path)
        with writing_to(path), folder_atomically(path, lambda: _check_empty(path)) as folder:
            folder.chmod(0o777)  # workers may have another user
            predict_on_ray(
                opening, Path(texts), folder, read=read, address=ray_address, workers=workers, reporter=runtime.reporter
            )
            from pyarrow import dataset

            return dataset.dataset(folder, format="parquet").count_rows()  # type: ignore[no-any-return]
    if path.is_dir():
        raise TargetExists(path, "is a folder", replaceable=False)
    format = format or FORMAT_OF_ENDING.get(path.suffix.lower())
    if format is None:
        endings = ", ".join(FORMAT_OF_ENDING)
        raise SettingsError(f"{path}: cannot tell the format from its ending; use one of {endings}")
    check_writer(format)
    if path.is_file() and not overwrite:
        raise TargetExists(path)
    batches = stream_predictions(model, texts, limits, runtime, read=read, explain=explain)
    return write_batches(format, _target(path), batches, top)


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


def _check_is_not_input(texts: str | Path | Sequence[str], path: Path) -> None:
    if not isinstance(texts, str | Path) or str(texts) == "-":
        return
    given, target = Path(texts).resolve(), path.resolve()
    if target in (given, *given.parents) or given in target.parents:
        raise SettingsError(f"{path}: is where the input lies", "place")


def _opening(model: ModelSource, limits: PredictionLimits, runtime: Runtime, workers: int | None) -> Opening:
    """Return how workers open the model; refuse what they cannot open, and to start without Ray."""
    if workers is not None and (type(workers) is not int or workers < 1):
        raise SettingsError(f"workers={workers!r} must be a whole number from 1")
    if find_spec("ray") is None:
        raise MissingExtra("the engine ray", "Ray", "ray")
    check_pyarrow()
    encoder = runtime.encoder
    if not isinstance(model, str | Path) or not (encoder is None or isinstance(encoder, str)):
        raise SettingsError("the engine ray needs a model folder and the encoder's name, not loaded ones")
    if encoder is not None and Path(encoder).is_dir():
        encoder = str(Path(encoder).resolve())  # workers have another folder
    return Opening(str(model_folder(model).resolve()), encoder, runtime.device, limits)


def _check_empty(path: Path) -> None:
    if path.exists() and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
        raise TargetExists(path, "exists; remove it, or choose another folder", replaceable=False)
