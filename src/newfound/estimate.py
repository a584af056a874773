"""How many new intents are there?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_ROWS = 5_000  # a Ward tree needs memory quadratic in the rows


def estimate_n_new(
    known: npt.NDArray[np.float32],
    labels: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float32],
    *,
    seed: int = 0,
) -> int:
    """Cut a Ward tree of the logs at the height at which the known utterances fall into their true number.

    The known intents show how finely this corpus divides meaning into intents; the logs are divided as finely.
    """
    from scipy.cluster.hierarchy import linkage

    # Heights grow with the number of points in a cluster: both trees must see the same share of their data.
    share = min(1.0, MOST_ROWS / max(len(known), len(logs)))
    rng = np.random.default_rng(seed)
    known_sample = rng.permutation(len(known))[: max(2, round(share * len(known)))]
    logs_sample = rng.permutation(len(logs))[: max(1, round(share * len(logs)))]
    if len(logs_sample) < 2:
        return 1
    heights = linkage(known[known_sample], "ward")[:, 2]
    intents = len(np.unique(labels[known_sample]))
    cut = _height_for(heights, intents)
    return int(1 + np.sum(linkage(logs[logs_sample], "ward")[:, 2] > cut))


def _height_for(heights: npt.NDArray[np.float64], clusters: int) -> float:
    """A height between the merges that leave `clusters` clusters and one fewer; `heights` ascend."""
    at = len(heights) - clusters + 1
    below = heights[at - 1] if at >= 1 else 0.0
    above = heights[at] if at < len(heights) else heights[-1]
    return float((below + above) / 2)
