"""Which rows of the logs belong to no intent.

A comparison with labelled rows tells: they show how a measure, the similarity to the nearest rows, is distributed where
there is an intent. Rows of the logs that have an intent are distributed alike.

Rows of no intent lie among their like: an untypical row of an intent has typical ones beside it, and what most of the
nearest rows are (small talk, for instance) a row is, too.

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from newfound.algorithms.neighbours import nearest

MAX_SHARE_LOST = 0.03  # of the labelled rows below the limit, and a standard error: so many rows may be lost
STANDARD_ERRORS = 2  # by which the logs must hold more below it, or chance would put rows aside where there is no need
NEIGHBOURS = 5  # with more of them, utterances of intents that are about as small would look untypical
MIN_LOW_NEIGHBOURS = 2  # of an untypical row: with 1, up to 5 % of the rows with an intent were lost, with 3 hardly any
MAJORITY = 3  # of the neighbours
MAX_ROWS_COMPARED = 10_000
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
    limits = np.concatenate([[-np.inf], np.sort(logs)])
    of_logs, of_labelled = (np.searchsorted(np.sort(v), limits) / len(v) for v in (logs, labelled))  # shares below
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
