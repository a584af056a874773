"""Which rows of the logs belong to no intent, and which are too unlike a known intent to be recognised as it.

A comparison with labelled rows tells both: they show how a measure (the similarity to the nearest rows, or to the
mean of the intent) is distributed where there is an intent. Rows of the logs that have an intent are distributed alike.

Rows of no intent lie among their like: an untypical row of an intent has typical ones beside it, and what most of the
nearest rows are (small talk, for instance) a row is, too.

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import nearest

MAX_SHARE_LOST = 0.03  # of the labelled rows below the limit, and a standard error: so many rows may be lost
STANDARD_ERRORS = 2  # by which the logs must hold more below it, or chance would put rows aside where there is no need
NEIGHBOURS = 5  # with more of them, utterances of intents that are about as small would look untypical
MIN_LOW_NEIGHBOURS = 2  # of an untypical row: with 1, up to 5 % of the rows with an intent were lost, with 3 hardly any
MAJORITY = 3  # of the neighbours
MAX_ROWS_COMPARED = 10_000
MAX_SHARE_BELOW = 0.5  # of the labelled rows, for a limit of recognition
MIN_LABELLED = 50  # rows to compare with; with fewer, chance decides how many rows are put aside
DEVIATIONS_WITHOUT_LABELS = 2.0  # below the median, where too few rows are labelled
DEVIATION_OVER_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def neighbourhoods(x: Tensor, *, neighbours: int = NEIGHBOURS, seed: int = 0) -> tuple[Floats, Ints]:
    """Return the mean similarity of each row to its nearest rows (its density), [n], and these rows, [n, neighbours].

    Among very many rows, a random part is looked at.
    """
    if len(x) < 2:
        return np.ones(len(x)), np.zeros((len(x), 0), dtype=np.int64)
    among = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:MAX_ROWS_COMPARED]
    value, row = nearest(x, neighbours, among=among.sort().values.to(x.device) if len(x) > MAX_ROWS_COMPARED else None)
    return value.mean(1).double().cpu().numpy(), row.cpu().numpy()


def rows_of_no_intent(values: Floats, is_labelled: Bools, share: float | None = None) -> Bools:
    """Return which rows [n] are less typical (`values` [n], for instance their density) than rows with an intent.

    Without the wanted `share` of the logs, they are as many as the comparison with labelled rows says, or what is far
    from everything where too few rows are labelled.
    """
    logs = values[~is_labelled]
    if not len(logs):
        return np.zeros(len(values), dtype=np.bool_)
    if share is None:
        few = is_labelled.sum() < MIN_LABELLED
        limit = outlier_limit(logs) if few else labelled_limit(logs, values[is_labelled])
        below: Bools = values < limit
        return below & ~is_labelled
    count = round(share * len(logs))
    order = np.flatnonzero(~is_labelled)[np.argsort(logs, kind="stable")][:count]
    chosen = np.zeros(len(values), dtype=np.bool_)
    chosen[order] = True
    return chosen


def outlier_limit(values: Floats) -> float:
    """Return a limit far below most values: some median absolute deviations below the median."""
    median = float(np.median(values))
    return median - DEVIATIONS_WITHOUT_LABELS * DEVIATION_OVER_MAD * float(np.median(np.abs(values - median)))


def labelled_limit(logs: Floats, labelled: Floats) -> float:
    """Return the limit below which hardly any labelled row lies; -inf if the logs do not clearly hold more there."""
    limits, of_logs, of_labelled = _shares_below(logs, labelled)
    error = np.sqrt(np.maximum(of_labelled * (1 - of_labelled), 1 / len(labelled)) / len(labelled))
    allowed = (of_labelled == 0) | (of_labelled + error <= MAX_SHARE_LOST)
    last = int(np.flatnonzero(allowed)[-1])
    return float(limits[last]) if of_logs[last] - of_labelled[last] > STANDARD_ERRORS * error[last] else -np.inf


def among_their_like(low: Bools, near: Ints) -> Bools:
    """Return which of the `low` rows [n] have such rows among their nearest ones, `near` [n, neighbours]."""
    found: Bools = low & (low[near].sum(1) >= MIN_LOW_NEIGHBOURS)
    return found


def spread(chosen: Bools, near: Ints, allowed: Bools) -> Bools:
    """Return the chosen rows [n], and again and again the allowed rows whose nearest ones are mostly chosen."""
    while (more := allowed & ~chosen & (chosen[near].sum(1) >= MAJORITY)).any():
        chosen = chosen | more
    return chosen


@dataclass(frozen=True, slots=True)
class Recognition:
    """How typical a row must be of a known intent to be recognised as it."""

    means: Tensor
    limits: Tensor
    precision: float
    accuracy: float

    def accepts(self, x: Tensor, intent: Tensor) -> Tensor:
        """Return whether rows [m, d] are typical enough of the known intents [m] they were recognised as."""
        return (x * self.means[intent]).sum(1) >= self.limits[intent]


def precise_recognition(x: Tensor, y: Tensor, recognised: Tensor, n_known: int, *, precision: float) -> Recognition:
    """Return limits at which the wanted share (`precision`) of the recognised rows is of a known intent.

    The similarity of every labelled row to the mean of the other rows of its intent says what to expect. Each intent
    has a limit of its own, all of them the same distance below the intent's expected similarity: single intents have
    too few labels to learn a distance. `recognised` [n] holds known intents, and anything else for other rows.
    """
    labelled = (y >= 0).nonzero().squeeze(1)
    points, own = x[labelled], y[labelled]
    count = torch.bincount(own, minlength=n_known)
    total = torch.zeros(n_known, x.shape[1], device=x.device).index_add_(0, own, points)
    means = F.normalize(total, dim=-1)
    held_out = (points * F.normalize(total[own] - points, dim=-1)).sum(1)
    others = (points @ means.T).scatter(1, own[:, None], -1.0).amax(1) if n_known > 1 else held_out - 1
    usable = count[own] > 1
    expected = torch.zeros(n_known, device=x.device).index_add_(0, own[usable], held_out[usable]) / count.clamp(min=1)
    expected[count < 2] = expected[count > 1].mean() if bool((count > 1).any()) else 0.0
    rows = ((y < 0) & (recognised >= 0) & (recognised < n_known)).nonzero().squeeze(1)
    right = usable & (held_out >= others)
    if int(right.sum()) < MIN_LABELLED or not len(rows):
        return Recognition(means, torch.full((n_known,), -1.0, device=x.device), 1.0, 1.0)
    intent = recognised[rows]
    margins = ((x[rows] * means[intent]).sum(1) - expected[intent]).double().cpu().numpy()
    reference = (held_out - expected[own])[right].double().cpu().numpy()
    limit, reached = precise_limit(margins, reference, precision)
    told_apart = float(right.sum()) / int(usable.sum())
    return Recognition(means, (expected + limit).clamp(min=-1.0), reached, reached * told_apart)


def precise_limit(logs: Floats, labelled: Floats, precision: float) -> tuple[float, float]:
    """Return the lowest limit above which the wanted share of the rows is like labelled ones, and the share reached."""
    limits, of_logs, of_labelled = _shares_below(logs, labelled)
    usable = (of_labelled < MAX_SHARE_BELOW) & (of_logs < 1)
    limits, above, above_labelled = limits[usable], 1 - of_logs[usable], 1 - of_labelled[usable]
    # The share of the rows that are like labelled ones. The least of many ratios is low by chance, so each may be off
    # by its standard error.
    noise = np.sqrt((1 - above) / (above * len(logs)) + (1 - above_labelled) / (above_labelled * len(labelled)))
    inside = min(1.0, float((above / above_labelled * (1 + noise)).min()))
    reached = inside * above_labelled / above
    best = int(np.flatnonzero(reached >= precision)[0])  # at the least of the ratios, all rows are like labelled ones
    return float(limits[best]), float(min(1.0, reached[best]))


def _shares_below(logs: Floats, labelled: Floats) -> tuple[Floats, Floats, Floats]:
    """Return limits, lowest first, and the shares of both kinds of rows that lie below each."""
    limits = np.concatenate([[-np.inf], np.sort(logs)])
    below = [np.searchsorted(np.sort(values), limits, side="left") / len(values) for values in (logs, labelled)]
    return limits, below[0], below[1]
