"""Groups of intents: a tree over their means, cut at a few levels.

Ward's method on the intents' mean directions, less the mean of all. Linkages over neighbours, random walks and
co-occurrence in clusterings were tried on the ten domains of CLINC150 and are not better (benchmarks/analysts).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
MIN_MEMBERS = 2


def group_levels(means: npt.NDArray[np.floating], levels: Sequence[int]) -> list[Ids]:
    """Return the group of each intent at each level, [intents] each, coarsest first.

    Every group of a level lies in one group of the level before and has at least two intents, so that there may be
    fewer groups than asked for.

    Args:
        means: A vector for each intent, [intents, d].
        levels: Numbers of groups.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage

    centred = np.asarray(means, dtype=np.float64) - np.mean(means, axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True).clip(1e-12)
    tree, most = linkage(centred, "ward"), len(means) // MIN_MEMBERS
    groups: list[Ids] = []
    for level in sorted(set(levels)):
        cut = cut_tree(tree, n_clusters=[min(level, most)])[:, 0].astype(np.int64)
        parent = groups[-1] if groups else np.zeros(len(means), dtype=np.int64)
        groups.append(_without_singles(np.unique(parent * len(means) + cut, return_inverse=True)[1], parent, centred))
    return groups


def _without_singles(group: Ids, parent: Ids, x: npt.NDArray[np.float64]) -> Ids:
    """Move each intent that is alone in its group to the most similar group with the same parent; number from 0."""
    while True:
        sizes = np.bincount(group)
        alone = np.flatnonzero(sizes[group] < MIN_MEMBERS)
        movable = [i for i in alone if ((parent == parent[i]) & (group != group[i])).any()]
        if not movable:
            return np.unique(group, return_inverse=True)[1].astype(np.int64)
        first = movable[0]
        others = [g for g in np.unique(group[parent == parent[first]]) if g != group[first]]
        group[first] = max(others, key=lambda g: float(x[first] @ x[group == g].mean(0)))
