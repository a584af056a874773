"""Thresholds that keep a promise: the least probability of each intent at which enough predictions are right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from newfound import defaults
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.errors import DataError, SettingsError
from newfound.files import THRESHOLDS_FILE
from newfound.model.beside import save_thresholds
from newfound.training.progress import LoggingReporter, Reporter
from newfound.workflows.auditing import LogAudit, open_audit
from newfound.workflows.evaluation import EvaluateRequest, evaluate
from newfound.workflows.sources import KnownSource

if TYPE_CHECKING:
    from newfound.algorithms.thresholds import Floats
    from newfound.encoders.encoder import Encoder


@dataclass(frozen=True, slots=True)
class ThresholdsRequest:
    """Which model, and the share of predictions above the thresholds that is to be right.

    Attributes:
        model: The model folder.
        precision: The wanted share, between 0 and 1; None takes the thresholds away.
        labelled: Labelled utterances that the model has not learned from, which correct its probabilities.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda; used with `labelled`.
        read: How a file of labelled utterances is read.
    """

    model: str | Path
    precision: float | None
    labelled: KnownSource | None = None
    encoder: str | Encoder | None = None
    device: str = defaults.DEVICE
    read: ReadOptions = DEFAULT_READ_OPTIONS


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


def thresholds(request: ThresholdsRequest, *, reporter: Reporter | None = None) -> ThresholdsResult:
    """Write one threshold per intent beside the model; its predictions then say whether they are above it.

    Args:
        request: Which model, and the promise.
        reporter: Is told what was odd in the labelled utterances; by default nobody is.

    Raises:
        SettingsError: The precision does not lie between 0 and 1, or there are no thresholds to take away.
        DataError: The model has learned from all of the labelled utterances.
    """
    path = Path(request.model) / THRESHOLDS_FILE
    if request.precision is None:
        if not path.exists():
            raise SettingsError(f"{request.model}: has no thresholds to take away")
        path.unlink()
        return ThresholdsResult(None, None, 0.0, 0, 0, ())
    if not 0 < request.precision < 1:
        raise SettingsError(f"precision={request.precision}: give a share between 0 and 1, such as 0.95")
    import numpy as np

    logs = open_audit(request.model, request.encoder)
    known, extra = logs.evidence(), _labelled_answers(request, logs, reporter)
    probability = [*known.certainty[known.rows], *(p for p, _ in extra)]
    right = [*known.right, *(yes for _, yes in extra)]
    from newfound.algorithms.audit import weights_of_sample
    from newfound.algorithms.thresholds import correction

    weight = np.concatenate([weights_of_sample(known.certainty, known.rows), np.ones(len(extra))])
    corrected = correction(np.array(probability), np.array(right, dtype=bool), weight)
    intents = _thresholds(logs, request.precision, corrected)
    total = sum(i.utterances for i in intents)
    above = [(i.coverage * i.utterances, i.precision) for i in intents if i.coverage and i.precision]
    kept = sum(count for count, _ in above)
    expected = sum(count * precision for count, precision in above) / kept if kept else None
    by_id = {i.id: math.inf if i.threshold is None else i.threshold for i in intents}
    save_thresholds(request.model, request.precision, by_id)
    return ThresholdsResult(request.precision, expected, kept / total, len(known.rows), len(extra), tuple(intents))


def _thresholds(logs: LogAudit, wanted: float, corrected: Callable[[Floats], Floats]) -> list[IntentThreshold]:
    import numpy as np

    from newfound.algorithms import thresholds as algorithm

    number = {name: i for i, name in enumerate(logs.ids)}
    intent = np.array([number[str(u.intent)] for u in logs.logs])
    certainty = np.array([u.probability for u in logs.logs])
    each = algorithm.thresholds(intent, certainty, corrected(certainty), len(number), precision=wanted)
    sure = algorithm.sure_probability(corrected, wanted)
    result = []
    for (name, id), count, own in zip(logs.ids.items(), np.bincount(intent, minlength=len(number)), each, strict=True):
        kept = (sure, None, None) if own.probability is None else (own.probability, own.precision, own.coverage)
        result.append(IntentThreshold(name, id, int(count), *kept))
    return result


def _labelled_answers(
    request: ThresholdsRequest, logs: LogAudit, reporter: Reporter | None
) -> list[tuple[float, bool]]:
    """Return the probability of each utterance that the model has not learned from, and whether it is right."""
    if request.labelled is None:
        return []
    done = evaluate(
        EvaluateRequest(
            request.model, request.labelled, encoder=request.encoder, device=request.device, read=request.read
        ),
        reporter=reporter,
    )
    unseen = [row for row in done.rows if row.intent is not None and row.text not in logs.learned]
    if not unseen:
        raise DataError("the model has learned from all of the labelled utterances; give others, which it has not seen")
    if len(unseen) < len(done.rows):
        count = len(done.rows) - len(unseen)
        (reporter or LoggingReporter()).note(
            f"{count:,} labelled utterances are left out: learned from, or of no intent"
        )
    return [(row.probability, row.correct) for row in unseen]
