"""The least probability of each intent at which a wanted share of its predictions is right.

Above a threshold, the mean probability of being right is the expected precision. Where answers are at hand, such as an
audit's or labels of rows that the model has not seen, probabilities are corrected by them first: a shift and a slope
of the log-odds, held near none and one, so that few answers move them little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SHIFT_SPREAD, SLOPE_SPREAD = 1.0, 0.5  # standard deviations of the correction that are expected before any answer
MIN_ROOM = 1e-3  # a probability is kept this far from 0 and 1


class Threshold(NamedTuple):
    """What an intent promises from a probability on: the expected precision, for a share of its utterances."""

    probability: float
    precision: float
    coverage: float


def correction(probability: Floats, right: Flags, weight: Floats | None = None) -> Callable[[Floats], Floats]:
    """Return what turns a probability into that of being right, learned from answers.

    Args:
        probability: What the model said, [answers].
        right: Whether it was right, [answers].
        weight: What each answer counts, [answers]; by default one.
    """
    from scipy.optimize import minimize

    if not len(probability):
        return lambda p: p
    odds, y = _log_odds(probability), np.asarray(right, dtype=np.float64)
    counts = np.ones(len(y)) if weight is None else weight

    def loss(w: Floats) -> float:
        score = w[0] + w[1] * odds
        prior = (w[0] / SHIFT_SPREAD) ** 2 / 2 + ((w[1] - 1) / SLOPE_SPREAD) ** 2 / 2
        return float((counts * (np.logaddexp(0, score) - y * score)).sum() + prior)

    shift, slope = minimize(loss, np.array([0.0, 1.0])).x
    return lambda p: 1 / (1 + np.exp(-(shift + slope * _log_odds(p))))


def threshold(probability: Floats, right: Floats, wanted: float) -> Threshold | None:
    """Return the threshold of an intent that leaves as many utterances above it as the promise allows; None without.

    Args:
        probability: What the model says of the utterances that it predicts the intent for, [n].
        right: The probability that it is right, [n].
        wanted: The wanted share of right predictions.
    """
    order = np.argsort(-probability, kind="stable")
    expected = right[order].cumsum() / np.arange(1, len(order) + 1)
    last_of_ties = np.append(np.diff(probability[order]) != 0, True)[: len(order)]
    keeps = np.flatnonzero((expected >= wanted) & last_of_ties)
    if not len(keeps):
        return None
    last = int(keeps[-1])
    return Threshold(float(probability[order[last]]), float(expected[last]), (last + 1) / len(order))


def sure_probability(corrected: Callable[[Floats], Floats], precision: float) -> float | None:
    """Return the probability from which on every single prediction keeps the promise, whatever its intent.

    It is for intents of which the logs have no utterance that does: nothing of theirs is above it so far.
    """
    grid = np.linspace(MIN_ROOM, 1 - MIN_ROOM, 1_000)
    keeps = np.flatnonzero(corrected(grid) >= precision)
    return float(grid[keeps[0]]) if len(keeps) else None


def _log_odds(probability: Floats) -> Floats:
    p = np.asarray(probability, dtype=np.float64).clip(MIN_ROOM, 1 - MIN_ROOM)
    odds: Floats = np.log(p / (1 - p))
    return odds
