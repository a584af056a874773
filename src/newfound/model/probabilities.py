"""Probabilities that allow for wrong labels: a classifier is sure of what it was taught, also where that was wrong."""

from __future__ import annotations

import torch
from torch import Tensor

TRUST_IN_LABELS = 0.75  # weight of the estimated accuracy of labels beside the classifier's own probabilities
KEPT_AHEAD = 1e-6  # by how much the most probable intent stays the most probable one


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
    """Return probabilities [n, intents] of which the new intents give up what their labels are not worth.

    The labels of new intents come from clusters, of which only a part is right. A share of the probability of a new
    intent stays with it; the rest is divided among all new intents. The most probable intent stays the most probable.

    Args:
        probabilities: Of every intent, [n, intents]; they sum to one.
        is_new: Which intents are new, [intents].
        reliability: The share that stays.
    """
    count = int(is_new.sum())
    if reliability >= 1 or count < 2:
        return probabilities
    new = torch.where(is_new, probabilities, 0.0)
    even = new.sum(1, keepdim=True) / count  # [n, 1]
    best, _ = new.max(1, keepdim=True)
    rival, _ = torch.where(is_new, 0.0, probabilities).max(1, keepdim=True)
    # Where a new intent leads by little, it gives up no more than its lead over the known ones.
    needed = (rival + KEPT_AHEAD - even) / (best - even).clamp(min=1e-12)
    kept = torch.where(best > rival, needed.clamp(reliability, 1.0), torch.full_like(needed, reliability))
    return torch.where(is_new, kept * probabilities + (1 - kept) * even, probabilities)
