"""Probabilities that allow for wrong labels: a classifier is sure of what it was taught, also where that was wrong."""

from __future__ import annotations

from torch import Tensor

MAX_TEMPERATURE = 0.5  # at which hardly any row is sure
BISECTION_STEPS = 20
TRUST_IN_LABELS = 0.75  # weight of the estimated accuracy of labels beside the classifier's own probabilities


def reliability_of(
    probabilities: Tensor, is_new: Tensor, label_accuracy: float, *, trust: float = TRUST_IN_LABELS
) -> float:
    """Return the share of the probability of new intents that is to stay with them, so that its mean is right.

    What a classifier says of itself and the estimated accuracy of its labels are two opinions on how often it is right;
    a mean of both is better than either (docs/logs.md).

    Args:
        probabilities: Of every intent, [n, intents], as the classifier was taught.
        is_new: Which intents are new, [intents].
        label_accuracy: The share of the labels of new intents that is estimated to be right.
        trust: The weight of that estimate.
    """
    best, predicted = probabilities.max(1)
    confidences = best[is_new[predicted]]
    if not len(confidences):
        return 1.0
    confidence = float(confidences.mean())
    expected = trust * label_accuracy + (1 - trust) * confidence
    return min(1.0, expected / confidence)


def temperature_of(cosines: Tensor, accuracy: float, temperature: float) -> float:
    """Return a temperature of the softmax at which rows are as confident on average as they are right.

    Args:
        cosines: Of rows to the intents, [n, intents].
        accuracy: The share of the rows whose most similar intent is estimated to be theirs.
        temperature: The temperature that the classifier was taught with; the result is not below it.
    """
    low, high = temperature, MAX_TEMPERATURE
    if not len(cosines) or float((cosines / low).softmax(1).amax(1).mean()) <= accuracy:
        return temperature
    for _ in range(BISECTION_STEPS):
        middle = (low * high) ** 0.5
        is_too_sure = float((cosines / middle).softmax(1).amax(1).mean()) > accuracy
        low, high = (middle, high) if is_too_sure else (low, middle)
    return round(low, 6)
