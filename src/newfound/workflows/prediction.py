"""Classify utterances. Review decisions are heeded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING

from newfound import defaults
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions, ReadReport, Row
from newfound.data.validation import open_rows
from newfound.engines.predictor import PredictionLimits as PredictionLimits
from newfound.engines.predictor import Predictor, PredictorSettings
from newfound.errors import DataError
from newfound.model.types import Prediction
from newfound.training.devices import is_surely_cpu
from newfound.training.progress import Reporter
from newfound.workflows.runtime import ModelSource, Runtime

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MAX_TEXTS_AT_ONCE, MAX_TEXTS_AT_ONCE_ON_GPU = 256, 8_192  # a GPU is idle between small batches


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """What to classify, and with which model.

    Attributes:
        model: A model folder, or a loaded model.
        texts: The utterances, or a file of them, or a folder of Parquet files; "-" is standard input, one utterance a
            line.
        max_outliers: Return no intent for texts less typical than all but this share of the labelled data; None
            returns an intent for every text.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda.
        read: How a file is read.
        top: How many of the most probable intents each prediction holds.
        threshold: Return no intent for texts whose most probable intent is less probable than this.
        fallback: The label of texts of no intent: below the threshold, too untypical, or of a rejected intent.
        explain: Return an `Explanation` of each text: nearest utterances, runner-up, and the words that decide. It
            encodes each text once for every word.
    """

    model: ModelSource
    texts: str | Path | Sequence[str]
    max_outliers: float | None = None
    encoder: str | Encoder | None = None
    device: str = defaults.DEVICE
    read: ReadOptions = DEFAULT_READ_OPTIONS
    top: int = 0
    threshold: float | None = None
    fallback: str | None = None
    explain: bool = False

    @property
    def predictor_settings(self) -> PredictorSettings:
        limits = PredictionLimits(self.max_outliers, self.threshold, self.fallback)
        encoder = self.encoder if isinstance(self.encoder, str) else None
        return PredictorSettings(encoder, self.device, self.top, limits)


def predict(request: PredictRequest, *, reporter: Reporter | None = None) -> list[Prediction]:
    """Return one prediction for each utterance.

    Args:
        request: What to classify, and with which model.
        reporter: Is told what was odd in a file; by default nobody is.
    """
    batches = stream_predictions(request, reporter=reporter)
    return [prediction for batch in batches for _, prediction in batch]


def stream_predictions(
    request: PredictRequest, *, reporter: Reporter | None = None
) -> Iterator[list[tuple[int, Prediction]]]:
    """Yield the line and the prediction of utterances as they arrive, in batches.

    A slow pipe is answered line by line, a file in full batches.
    """
    settings = request.predictor_settings
    settings.check()
    runtime = Runtime.of(request, reporter)
    rows, report = rows_to_classify(request)
    if not isinstance(request.texts, str | Path) and len(request.texts) == 0:
        return
    first = next(rows, None)  # a wrong file is noticed before the model is loaded
    if first is None:
        raise DataError(f"{report.name}: no utterance in it; it needs one text a row")
    for note in report.notes:
        runtime.reporter.note(note)
    predictor = _predictor(request, runtime, settings)
    at_once = MAX_TEXTS_AT_ONCE if is_surely_cpu(request.device) else MAX_TEXTS_AT_ONCE_ON_GPU
    for batch in _ready_batches(chain([first], rows), at_once):
        answers = predictor.predictions([row.text for row in batch])
        yield [(row.line, answer) for row, answer in zip(batch, answers, strict=True)]
    for warning in report.warnings():
        runtime.reporter.warn(warning)


def _predictor(request: PredictRequest, runtime: Runtime, settings: PredictorSettings) -> Predictor:
    if not request.explain:
        return Predictor(runtime.open_predictor(request.model), settings)
    from newfound.review.explaining import Explainer

    reviewed = runtime.open_model(request.model)
    return Predictor(reviewed.classifier, settings, Explainer(reviewed).classify)


def rows_to_classify(request: PredictRequest) -> tuple[Iterator[Row], ReadReport]:
    """Return the utterances of a request, one by one, and where unusual ones are counted."""
    if not isinstance(request.texts, str | Path):
        return (Row(number, text, None) for number, text in enumerate(request.texts, 1)), ReadReport("texts")
    return open_rows(request.texts, request.read, "ignored")


def _ready_batches(items: Iterator[Row], most: int) -> Iterator[list[Row]]:
    """Batches of whatever has arrived."""
    arrived: Queue[Row | Exception | None] = Queue(maxsize=4 * most)
    left = Event()  # nobody takes batches any more

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
                if left.is_set():
                    return
            arrived.put(None)
        except Exception as error:
            arrived.put(error)

    Thread(target=read, daemon=True).start()
    try:
        while True:
            batch: list[Row] = []
            item = arrived.get()
            while isinstance(item, Row) and len(batch) < most - 1 and not arrived.empty():
                batch.append(item)
                item = arrived.get()
            if isinstance(item, Row):
                batch.append(item)
            if batch:
                yield batch
            if isinstance(item, Exception):
                raise item
            if item is None:
                return
    finally:
        left.set()
        with suppress(Empty):  # the reader may be waiting for room
            while True:
                arrived.get_nowait()
