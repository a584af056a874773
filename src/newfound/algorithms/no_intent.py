"""Which rows of the logs belong to no intent.

A comparison with labelled rows tells: they show how a measure, the similarity to the nearest rows, is distributed where
there is an intent. Rows of the logs that have an intent are distributed alike;
what the logs hold in excess among the low values has none.

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from newfound.algorithms.neighbours import nearest

COST_OF_A_MISTAKE = 2.0  # a row with an intent that is put aside, measured in rows of no intent put aside rightly
STANDARD_ERRORS = 2  # by which the logs must hold more: with one, chance put 70 % of a corpus aside once
MAX_SHARE_LOST = 0.5  # of the labelled rows below a limit
NEIGHBOURS = 5  # with more of them, utterances of intents that are about as small would look untypical
MAX_ROWS_COMPARED = 10_000
MIN_LABELLED = 50  # rows to compare with; with fewer, chance decides how many rows are put aside
DEVIATIONS_WITHOUT_LABELS = 2.5  # below the median, where too few rows are labelled: only what is far from everything
DEVIATION_OVER_MAD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def density(x: Tensor, *, neighbours: int = NEIGHBOURS, seed: int = 0) -> Floats:
    """Return the mean similarity of each row to its nearest rows, [n]; among very many, a random part is looked at."""
    if len(x) < 2:
        return np.ones(len(x))
    among = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:MAX_ROWS_COMPARED]
    value, _ = nearest(x, neighbours, among=among.sort().values.to(x.device) if len(x) > MAX_ROWS_COMPARED else None)
    return value.mean(1).double().cpu().numpy()


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
        limit = outlier_limit(logs) if few else excess_limit(logs, values[is_labelled])
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


def excess_limit(logs: Floats, labelled: Floats) -> float:
    """Return the limit below which logs exceed what labelled rows lead one to expect; -inf if they nowhere do."""
    limits, of_logs, of_labelled = _shares_below(logs, labelled)
    error = np.sqrt(np.maximum(of_labelled * (1 - of_labelled), 1 / len(labelled)) / len(labelled))
    noise = STANDARD_ERRORS * error
    usable = of_labelled < MAX_SHARE_LOST
    outside = max(0.0, float(((of_logs - of_labelled - noise)[usable] / (1 - of_labelled[usable])).max()))
    mistakes = (1 - outside) * of_labelled
    gain = np.where(usable, of_logs - mistakes - COST_OF_A_MISTAKE * mistakes - noise, -np.inf)
    best = int(gain.argmax())
    return float(limits[best]) if gain[best] > 0 else -np.inf


def _shares_below(logs: Floats, labelled: Floats) -> tuple[Floats, Floats, Floats]:
    """Return limits, lowest first, and the shares of both kinds of rows that lie below each."""
    limits = np.concatenate([[-np.inf], np.sort(logs)])
    below = [np.searchsorted(np.sort(values), limits, side="left") / len(values) for values in (logs, labelled)]
    return limits, below[0], below[1]
