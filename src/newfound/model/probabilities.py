"""Probabilities that allow for wrong labels: a classifier is sure of what it was taught, also where that was wrong."""

from __future__ import annotations

import torch
from torch import Tensor

from newfound.model import arrays

TRUST_IN_LABELS = 0.75  # weight of the estimated accuracy of labels beside the classifier's own probabilities


def reliability_of(probabilities: Tensor, is_new: Tensor, label_accuracy: float) -> float:
    """Return the share of the probability of new intents that is to stay with them, so that its mean is right.

    What a classifier says of itself and the estimated accuracy of its labels are two opinions on how often it is right;
    a mean of both is better than either (docs/logs.md).

    Args:
        probabilities: Of every intent, [n, intents], as the classifier was taught.
        is_new: Which intents are new, [intents].
        label_accuracy: The share of the labels of new intents that is estimated to be right.
    """
    best, predicted = probabilities.max(1)
    found = best[is_new[predicted]]
    if not len(found):
        return 1.0
    confidence = float(found.mean())
    expected = TRUST_IN_LABELS * label_accuracy + (1 - TRUST_IN_LABELS) * confidence
    return min(1.0, expected / confidence)


def with_reliability(probabilities: Tensor, is_new: Tensor, reliability: float) -> Tensor:
    """Return `newfound.model.arrays.with_reliability` of tensors.

    Args:
        probabilities: Of every intent, [n, intents]; they sum to one.
        is_new: Which intents are new, [intents].
        reliability: The share that stays.
    """
    found = arrays.with_reliability(probabilities.cpu().float().numpy(), is_new.cpu().numpy(), reliability)
    return torch.from_numpy(found).to(probabilities.device)
