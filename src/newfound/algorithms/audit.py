"""What yes/no answers about a sample of utterances say of a model: how many of its answers are right, and from when on.

Utterances are divided into strata by how sure the model is, so that each stratum holds the same share of the expected
spread of right and wrong. Questions go to strata by their size and spread (Neyman allocation). Within a stratum, the
share that is right has a beta distribution, which begins as one answer at the model's own certainty. The interval is
that of the right ones among all utterances, where those that nobody was asked about follow these shares. The
utterances of one intent are looked at in the same way. How often intervals hold the truth is in docs/howto/audit.md.

The threshold of an intent is the least probability at which a wanted share of its predictions is right. Above it, the
mean probability of being right is the expected precision. Where answers are at hand, such as an audit's or labels of
rows that the model has not seen, probabilities are corrected by them first: a shift and a slope of the log-odds, held
near none and one, so that few answers move them little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
N_STRATA = 6
MIN_QUESTIONS_PER_STRATUM = 2
PRIOR_ANSWERS = 1.0  # what the model's certainty is worth beside the answers of a stratum
LEAST_DOUBT = 0.02  # nothing is certain before it was asked
COVERAGE = 0.9
N_DRAWS, N_DRAWS_OF_INTENT = 20_000, 2_000
SHIFT_SPREAD, SLOPE_SPREAD = 1.0, 0.5  # standard deviations of the correction that are expected before any answer
MIN_ROOM = 1e-3  # a probability is kept this far from 0 and 1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its interval, all from 0 to 1."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def strata_of(certainty: Floats) -> Ids:
    """Return the stratum of each utterance, [n]; each has about the same summed spread.

    Args:
        certainty: Probability that the answer is right, [n].
    """
    order = np.argsort(certainty, kind="stable")
    spread = _spread(certainty)[order].cumsum()
    strata = np.empty(len(certainty), dtype=np.int64)
    strata[order] = np.minimum(spread / spread[-1] * N_STRATA, N_STRATA - 1).astype(np.int64)
    return strata


def choose_questions(certainty: Floats, n: int, *, asked: Sequence[int] = (), seed: int = 0) -> list[int]:
    """Return the utterances to ask about, in random order; a longer list begins with the shorter one's strata.

    Args:
        certainty: Probability that the answer is right, [utterances].
        n: How many questions to ask in all.
        asked: The utterances that were asked about already; they count, and are not chosen again.
        seed: Chooses the utterances.
    """
    strata, done = strata_of(certainty), set(asked)
    wanted = _allocate(certainty, strata, min(n, len(certainty)))
    generator = np.random.default_rng(seed)
    chosen: list[int] = []
    for stratum, count in enumerate(wanted):
        rows = generator.permutation(np.flatnonzero(strata == stratum)).tolist()
        left = [row for row in rows if row not in done]
        chosen += left[: max(0, count - (len(rows) - len(left)))]
    return [int(i) for i in generator.permutation(chosen)]


def _allocate(certainty: Floats, strata: Ids, n: int) -> list[int]:
    size = np.bincount(strata, minlength=N_STRATA)
    weight = np.bincount(strata, _spread(certainty), minlength=N_STRATA)
    share = n * weight / weight.sum()
    count = np.minimum(np.maximum(share.astype(int), MIN_QUESTIONS_PER_STRATUM), size)
    while count.sum() < n and (count < size).any():
        count[np.argmax(np.where(count < size, share - count, -np.inf))] += 1
    while count.sum() > n:
        count[np.argmax(count - share)] -= 1
    return [int(c) for c in count]


def accuracy_of_sample(
    certainty: Floats, rows: Sequence[int] | Ids, right: Flags, *, settled: Flags | None = None, n_draws: int = N_DRAWS
) -> Estimate:
    """Return the share of all utterances whose answer is right.

    Args:
        certainty: Probability that the answer is right, [utterances].
        rows: The utterances that were asked about.
        right: Which of them are right, [rows].
        settled: Which of them a person has put right since, [rows]. Their answers still tell about the utterances that
            nobody was asked about.
        n_draws: The number of draws from which the interval is read.
    """
    strata = strata_of(certainty)
    size = np.bincount(strata, minlength=N_STRATA)
    prior = np.bincount(strata, _doubtful(certainty), minlength=N_STRATA) / size.clip(1)
    of_answers = strata[np.asarray(rows, dtype=np.int64)]
    yes = np.bincount(of_answers, np.asarray(right, dtype=np.float64), minlength=N_STRATA)
    asked = np.bincount(of_answers, minlength=N_STRATA)
    generator = np.random.default_rng(0)
    share = generator.beta(
        yes + PRIOR_ANSWERS * prior.clip(LEAST_DOUBT, 1 - LEAST_DOUBT),
        asked - yes + PRIOR_ANSWERS * (1 - prior).clip(LEAST_DOUBT, 1 - LEAST_DOUBT),
        size=(n_draws, N_STRATA),
    )
    seen = np.asarray(right, dtype=np.bool_) if settled is None else right | settled
    unseen = generator.binomial(size - asked, share).sum(1)
    draws = (seen.sum() + unseen) / len(certainty)
    low, high = np.quantile(draws, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return Estimate(float(draws.mean()), float(low), float(high))


def weights_of_sample(certainty: Floats, rows: Sequence[int] | Ids) -> Floats:
    """Return what each answer stands for, [rows], with mean 1: questions go to doubtful utterances more often."""
    strata = strata_of(certainty)
    asked = strata[np.asarray(rows, dtype=np.int64)]
    count = np.bincount(asked, minlength=N_STRATA).clip(1)
    weight: Floats = (np.bincount(strata, minlength=N_STRATA) / count)[asked]
    return weight / weight.mean() if len(weight) else weight


def more_questions(estimate: Estimate, asked: int, half_width: float) -> int:
    """Return how many more questions make the interval this narrow; its width falls with the root of their number."""
    return max(0, int(np.ceil(asked * (estimate.half_width / half_width) ** 2)) - asked)


def _doubtful(certainty: Floats) -> Floats:
    clipped: Floats = np.asarray(certainty, dtype=np.float64).clip(LEAST_DOUBT, 1 - LEAST_DOUBT)
    return clipped


def _spread(certainty: Floats) -> Floats:
    p = _doubtful(certainty)
    spread: Floats = np.sqrt(p * (1 - p))
    return spread


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
