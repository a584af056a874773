"""Classify utterances. Review decisions are heeded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from queue import Queue
from threading import Thread

from newfound import defaults
from newfound.data.readers import Row
from newfound.data.validation import ReadReport, stream_rows
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError, SettingsError
from newfound.model.types import Prediction
from newfound.training.progress import Reporter, Silent
from newfound.workflows.models import ModelSource, opened
from newfound.workflows.sources import DEFAULT_READ_OPTIONS, ReadOptions

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
    """

    model: ModelSource
    texts: str | Path | Sequence[str]
    max_outliers: float | None = None
    encoder: str | Encoder | None = None
    device: str = defaults.DEVICE
    read: ReadOptions = DEFAULT_READ_OPTIONS


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
    check_share(request.max_outliers)
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
        if not request.texts:
            return
    first = next(rows, None)  # a wrong file is noticed before the model is loaded
    if first is None:
        raise DataError(f"{report.name}: no utterance in it; it needs one text a row")
    for note in report.notes:
        reporter.note(note)
    model = opened(request.model, request.encoder, request.device)
    for batch in _ready_batches(chain([first], rows), MAX_TEXTS_AT_ONCE):
        answers = model.classify([row.text for row in batch])
        yield [
            LinePrediction(row.line, without_outliers(answer, request.max_outliers))
            for row, answer in zip(batch, answers, strict=True)
        ]
    for warning in report.warnings():
        reporter.warn(warning)


def check_share(max_outliers: float | None) -> None:
    """Refuse what is not a share of the labelled data."""
    if max_outliers is not None and not 0 <= max_outliers <= 1:
        raise SettingsError(f"max_outliers={max_outliers} must lie between 0 and 1")


def without_outliers(prediction: Prediction, max_outliers: float | None) -> Prediction:
    """Return the prediction, with no intent if the text is less typical than `max_outliers` allows."""
    if max_outliers is None or prediction.outlier <= 1 - max_outliers:
        return prediction
    return replace(prediction, intent=None, known=False)


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
