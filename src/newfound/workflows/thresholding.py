"""Thresholds that keep a promise: the least probability of each intent at which enough predictions are right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from newfound import defaults
from newfound.algorithms.audit import weights_of_sample
from newfound.algorithms.thresholds import Floats, correction, sure_probability, threshold
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.errors import DataError, SettingsError
from newfound.files import THRESHOLDS_FILE
from newfound.model.hub import model_folder
from newfound.model.sidecars import save_thresholds
from newfound.training.progress import LoggingReporter, Reporter
from newfound.workflows.auditing import LogAudit, open_audit
from newfound.workflows.evaluation import EvaluatedUtterance, EvaluateRequest, evaluate
from newfound.workflows.sources import KnownSource

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder


@dataclass(frozen=True, slots=True)
class IntentThreshold:
    """What one intent promises, or all of them together.

    Attributes:
        name: The name of the intent.
        id: Its id.
        utterances: How many utterances of the logs it is computed from; an intent without any has the threshold of all.
        threshold: The least probability; None if none keeps the promise.
        precision: The expected precision above it; None if no utterance of its logs is.
        coverage: The share of its utterances above it; None if no utterance of its logs is.
    """

    name: str
    id: str
    utterances: int
    threshold: float | None
    precision: float | None
    coverage: float | None


@dataclass(frozen=True, slots=True)
class ThresholdsResult:
    """The thresholds that were written.

    Attributes:
        precision: What was promised; None if the thresholds were taken away.
        expected: The expected precision of all that is above its threshold; None if nothing is.
        coverage: The share of the logs' utterances that is.
        answers: How many answers of an audit corrected the probabilities.
        labelled: How many labelled utterances did.
        intents: The threshold of each intent.
    """

    precision: float | None
    expected: float | None
    coverage: float
    answers: int
    labelled: int
    intents: tuple[IntentThreshold, ...]


def thresholds(
    model: str | Path,
    precision: float | None,
    labelled: KnownSource | None = None,
    *,
    encoder: str | Encoder | None = None,
    device: str = defaults.DEVICE,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    reporter: Reporter | None = None,
) -> ThresholdsResult:
    """Write one threshold per intent beside the model; its predictions then say whether they are above it.

    Args:
        model: The model folder.
        precision: The share of predictions above the thresholds to be right, between 0 and 1; None takes them away.
        labelled: Labelled utterances that the model has not learned from, which correct its probabilities.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda; used with `labelled`.
        read: How a file of labelled utterances is read.
        reporter: Is told what was odd in the labelled utterances; by default nobody is.

    Raises:
        SettingsError: The precision does not lie between 0 and 1, or there are no thresholds to take away.
        DataError: The model has learned from all of the labelled utterances.
    """
    folder = model_folder(model)
    if precision is None:
        if not (folder / THRESHOLDS_FILE).exists():
            raise SettingsError(f"{model}: has no thresholds to take away")
        (folder / THRESHOLDS_FILE).unlink()
        return ThresholdsResult(None, None, 0.0, 0, 0, ())
    if not 0 < precision < 1:
        raise SettingsError(f"precision={precision}: give a share between 0 and 1, such as 0.95")
    logs = open_audit(folder, encoder)
    known, rows = logs.evidence(), list[EvaluatedUtterance]()
    if labelled is not None:
        request = EvaluateRequest(folder, labelled, encoder=encoder, device=device, read=read)
        rows = _unseen(evaluate(request, reporter=reporter).rows, logs, reporter or LoggingReporter())
    corrected = correction(
        np.append(known.certainty[known.rows], [row.probability for row in rows]),
        np.append(known.right, [row.correct for row in rows]).astype(np.bool_),
        np.append(weights_of_sample(known.certainty, known.rows), np.ones(len(rows))),
    )
    intents = _thresholds(logs, precision, corrected)
    above = [(i.coverage * i.utterances, i.precision) for i in intents if i.coverage and i.precision]
    kept = sum(count for count, _ in above)
    expected = sum(count * share for count, share in above) / kept if kept else None
    save_thresholds(folder, precision, {i.id: math.inf if i.threshold is None else i.threshold for i in intents})
    return ThresholdsResult(precision, expected, kept / len(logs.logs), len(known.rows), len(rows), tuple(intents))


def _thresholds(logs: LogAudit, wanted: float, corrected: Callable[[Floats], Floats]) -> list[IntentThreshold]:
    intent, certainty = np.array(logs.intents), np.array([u.probability for u in logs.logs])
    right, sure = corrected(certainty), sure_probability(corrected, wanted)
    result = []
    for name, id in logs.ids.items():
        own = intent == id
        least = threshold(certainty[own], right[own], wanted) or (sure, None, None)
        result.append(IntentThreshold(name, id, int(own.sum()), *least))
    return result


def _unseen(rows: Sequence[EvaluatedUtterance], logs: LogAudit, reporter: Reporter) -> list[EvaluatedUtterance]:
    """Return the labelled utterances that have an intent and that the model has not learned from."""
    unseen = [row for row in rows if row.intent is not None and row.text not in logs.learned]
    if not unseen:
        raise DataError("the model has learned from all of the labelled utterances; give others, which it has not seen")
    if count := len(rows) - len(unseen):
        reporter.note(f"{count:,} labelled utterances are left out: learned from, or of no intent")
    return unseen
