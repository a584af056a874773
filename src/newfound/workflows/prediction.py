"""Classify utterances. Review decisions are heeded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING

from newfound import defaults
from newfound.data.readers import Row
from newfound.data.validation import ReadReport, stream_rows
from newfound.defaults import Precision
from newfound.errors import DataError, SettingsError
from newfound.model.types import Prediction
from newfound.training.devices import check_device
from newfound.training.progress import Reporter, Silent
from newfound.workflows.models import ModelSource, check_precision, opened_predictor
from newfound.workflows.sources import DEFAULT_READ_OPTIONS, ReadOptions

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MAX_TEXTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """What to classify, and with which model.

    Attributes:
        model: A model folder, or a loaded model.
        texts: The utterances, or a file of them; "-" is standard input, one utterance a line.
        max_outliers: Return no intent for texts less typical than all but this share of the labelled data; None
            returns an intent for every text.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda.
        read: How a file is read.
        top: How many of the most probable intents each prediction holds.
        threshold: Return no intent for texts whose most probable intent is less probable than this.
        fallback: The label of texts of no intent: below the threshold, too untypical, or of a rejected intent.
        precision: fp32, or int8: faster on a CPU, with probabilities that differ a little.
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
    precision: Precision = defaults.PRECISION

    @property
    def limits(self) -> PredictionLimits:
        return PredictionLimits(self.max_outliers, self.threshold, self.fallback)


@dataclass(frozen=True, slots=True)
class PredictionLimits:
    """Which predictions are not to be trusted, and what they become.

    Attributes:
        max_outliers: As in `PredictRequest`.
        threshold: As in `PredictRequest`.
        fallback: As in `PredictRequest`.
    """

    max_outliers: float | None = None
    threshold: float | None = None
    fallback: str | None = None

    def check(self) -> None:
        """Refuse limits that are no shares, and an empty label."""
        for name, value in (("max_outliers", self.max_outliers), ("threshold", self.threshold)):
            if value is not None and not 0 <= value <= 1:
                raise SettingsError(f"{name}={value} must lie between 0 and 1")
        if self.fallback is not None and not self.fallback.strip():
            raise SettingsError("the fallback label is empty; give it a name, or leave it out")

    def applied(self, prediction: Prediction) -> Prediction:
        """Return the prediction, with the fallback label if it is not to be trusted."""
        is_outlier = self.max_outliers is not None and prediction.outlier > 1 - self.max_outliers
        is_unsure = self.threshold is not None and prediction.probability < self.threshold
        if prediction.intent is not None and not is_outlier and not is_unsure:
            return prediction
        return replace(prediction, intent=self.fallback, known=False, status=None)


@dataclass(frozen=True, slots=True)
class LinePrediction:
    """A prediction, and the line of the file that it is for."""

    line: int
    prediction: Prediction


def predict(request: PredictRequest, *, reporter: Reporter | None = None) -> list[Prediction]:
    """Return one prediction for each utterance.

    Args:
        request: What to classify, and with which model.
        reporter: Is told what was odd in a file; by default nobody is.
    """
    batches = stream_predictions(request, reporter=reporter)
    return [answer.prediction for batch in batches for answer in batch]


def stream_predictions(request: PredictRequest, *, reporter: Reporter | None = None) -> Iterator[list[LinePrediction]]:
    """Yield predictions as utterances arrive, in batches: a slow pipe is answered line by line, a file in full ones."""
    reporter = reporter or Silent()
    limits = request.limits
    limits.check()
    if type(request.top) is not int or request.top < 0:
        raise SettingsError(f"top={request.top!r} must be a whole number from 0")
    check_device(request.device)
    check_precision(request.precision, request.device)
    if isinstance(request.texts, str | Path):
        name = "standard input" if str(request.texts) == "-" else str(request.texts)
        report = ReadReport(name)
        read = request.read
        rows = stream_rows(
            request.texts,
            text_column=read.text_column,
            format=read.format,
            encoding=read.encoding,
            delimiter=read.delimiter,
            header=read.header,
            report=report,
        )
    else:
        report = ReadReport("texts")
        rows = (Row(number, text, None) for number, text in enumerate(request.texts, 1))
        if len(request.texts) == 0:
            return
    first = next(rows, None)  # a wrong file is noticed before the model is loaded
    if first is None:
        raise DataError(f"{report.name}: no utterance in it; it needs one text a row")
    for note in report.notes:
        reporter.note(note)
    model = opened_predictor(request.model, request.encoder, request.device, request.precision, reporter)
    for batch in _ready_batches(chain([first], rows), MAX_TEXTS_AT_ONCE):
        answers = model.classify([row.text for row in batch], top=request.top)
        yield [LinePrediction(row.line, limits.applied(answer)) for row, answer in zip(batch, answers, strict=True)]
    for warning in report.warnings():
        reporter.warn(warning)


def _ready_batches(items: Iterator[Row], most: int) -> Iterator[list[Row]]:
    """Batches of whatever has arrived."""
    arrived: Queue[Row | Exception | None] = Queue(maxsize=4 * most)

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
            arrived.put(None)
        except Exception as error:
            arrived.put(error)

    Thread(target=read, daemon=True).start()
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
