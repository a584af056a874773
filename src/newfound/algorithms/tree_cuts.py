"""How many intents are new: one Ward tree over labelled and unlabelled rows, and the cuts that fit the labels.

Every cut of the tree is a clustering. Two things say how well it fits:

    agreement    with the labels that there are: the adjusted Rand index, in which every known intent has the same
                 weight, so that large intents do not decide alone how fine all are
    separation   the silhouette of its clusters times the cube of the share of nearest neighbours that stay together;
                 the silhouette alone favours clusters of repeated phrasings

A cut's score is its agreement times the fourth root of its separation; without labels it is the latter alone. New
intents are the clusters with hardly any labelled row. Their number is a mean over all cuts on a logarithmic scale, in
which cuts with nearly the best score weigh most: the single best cut moves too much from draw to draw. The better the
best cut fits, the more it decides. The powers and the weights were chosen on the corpora of
benchmarks/everyday (docs/estimate.md).

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from newfound.algorithms.ensembles import diffuse
from newfound.algorithms.metrics import silhouette_of_sums
from newfound.algorithms.neighbours import nearest

MAX_ROWS_IN_TREE = 4_000  # it needs memory and time quadratic in the rows
MAX_SHARE_OF_A_DRAW = 0.9  # of the rows: draws must differ for their spread to say something
MIN_ROWS_TO_DRAW = 200
N_DRAWS = 2
N_CUTS = 60
MAX_CLUSTERS = 400
MIN_MEAN_CLUSTER_SIZE = 3  # rows of a cluster at the finest cut
MIN_SIZE, MIN_SHARE_OF_ROWS = 5, 0.05  # rows of a cluster that counts as an intent; of few rows this share suffices
NEIGHBOURS = 10
TOGETHER_POWER, SEPARATION_POWER = 3.0, 0.25
TEMPERATURE_OF_MISFIT = {"labels": 0.3, "separation": 0.1}  # of the weights of cuts, for each point of misfit
MIN_TEMPERATURE = 0.01
MAX_LABELLED_RATIO = 0.25  # labelled rows of a new intent's cluster, as a share of what a known intent's would have
MAX_FOR_NONE = 0.6  # cuts without a new intent count as half of one; a mean this low says that there is none
MIN_SCORE = 1e-3

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TreeCount:
    """A number of new intents, read off the cuts of trees."""

    n_new: float
    spread: float
    clusters: list[float]
    scores: list[float]


def count_new(x: Tensor, y: Tensor, *, seed: int = 0) -> TreeCount:
    """Count the new intents among the rows without a label; the seed chooses the rows of each draw."""
    rows = len(x) if len(x) < MIN_ROWS_TO_DRAW else min(MAX_ROWS_IN_TREE, round(MAX_SHARE_OF_A_DRAW * len(x)))
    means, variances = [], []
    for draw in range(N_DRAWS if rows < len(x) else 1):
        chosen = torch.from_numpy(np.random.default_rng([seed, draw]).permutation(len(x))[:rows])
        cuts, scores, temperature = score_cuts(x[chosen], y[chosen].numpy())
        counts = np.array([_new_clusters(cut, y[chosen].numpy()) for cut in cuts])
        weight = np.exp((scores / scores.max() - 1) / temperature)
        weight /= weight.sum()
        logs = np.log(np.maximum(counts, 0.5))
        means.append(float(weight @ logs))
        variances.append(float(weight @ (logs - means[-1]) ** 2))
    n_new = math.exp(float(np.mean(means)))
    spread = math.sqrt(float(np.mean(variances)) + float(np.var(means)))
    clusters = [float(cut.max() + 1) for cut in cuts]
    return TreeCount(n_new if n_new > MAX_FOR_NONE else 0.0, spread, clusters, [round(float(s), 4) for s in scores])


def score_cuts(x: Tensor, y: Ids) -> tuple[list[Ids], Floats, float]:
    """Return clusterings [n] of all rows, coarsest first, the score of each, and the temperature of their weights."""
    averaged = diffuse(x, neighbours=NEIGHBOURS)
    distance = (1 - averaged @ averaged.T).clamp(min=0).fill_diagonal_(0)  # [n, n]
    cuts = _cuts(distance)
    near = nearest(x, NEIGHBOURS)[1].numpy()  # [n, NEIGHBOURS]
    together = np.array([(cut[near] == cut[:, None]).mean() for cut in cuts])
    separation = (_smooth(_silhouettes(distance, cuts)) * _smooth(together) ** TOGETHER_POWER).clip(MIN_SCORE)
    agreement = agreement_with_labels(cuts, y)
    has_labels = len(np.unique(y[y >= 0])) > 1
    misfit = 1 - float((agreement if has_labels else separation).max())
    temperature = MIN_TEMPERATURE + TEMPERATURE_OF_MISFIT["labels" if has_labels else "separation"] * misfit
    return cuts, agreement * separation**SEPARATION_POWER, temperature


def _cuts(distance: Tensor) -> list[Ids]:
    """Clusterings of a Ward tree; squared distances of unit vectors are twice their cosine distances."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    n = len(distance)
    if n < 2:
        return [np.zeros(n, dtype=np.int64)]
    tree = linkage(squareform((2 * distance).sqrt().double().numpy(), checks=False), "ward")
    finest = max(2, min(MAX_CLUSTERS, n // MIN_MEAN_CLUSTER_SIZE))
    levels = np.unique(np.geomspace(2, finest, N_CUTS).round().astype(int))
    return list(cut_tree(tree, n_clusters=levels).T.astype(np.int64))


def _silhouettes(distance: Tensor, cuts: list[Ids]) -> Floats:
    """Mean silhouette of each of some nested clusterings; 0 for rows that are alone in their cluster."""
    finest = torch.from_numpy(cuts[-1])
    to_finest = distance @ torch.nn.functional.one_hot(finest).float()  # [n, finest]: summed distances
    values = []
    for cut in cuts:
        label = torch.from_numpy(cut)
        k = int(label.max()) + 1
        parent = torch.zeros(to_finest.shape[1], dtype=torch.int64).index_put_((finest,), label)
        summed = torch.zeros(len(label), k).index_add_(1, parent, to_finest)
        values.append(float(silhouette_of_sums(summed, torch.bincount(label, minlength=k).float(), label)))
    return np.array(values)


def agreement_with_labels(cuts: list[Ids], y: Ids) -> Floats:
    """Return the adjusted Rand index of each cut with the labels; every intent has the same weight.

    1 for every cut without two known intents. If no intent has two labelled rows, it is the share of labelled pairs
    that the cut keeps apart: labels then say what differs, and not what belongs together.
    """
    rows = np.flatnonzero(y >= 0)
    names, intent, count = np.unique(y[rows], return_inverse=True, return_counts=True)
    if len(names) < 2:
        return np.ones(len(cuts))
    weight = 1 / count[intent]
    index = [_weighted_ari(intent, cut[rows], weight, singles=bool(count.max() == 1)) for cut in cuts]
    return np.array(index).clip(MIN_SCORE)


def _weighted_ari(intent: Ids, cluster: Ids, weight: Floats, *, singles: bool) -> float:
    k = int(cluster.max()) + 1

    def pairs(group: Ids) -> float:
        total, squares = np.bincount(group, weight), np.bincount(group, weight**2)
        return float((total**2 - squares).sum())

    in_cluster, every = pairs(cluster), pairs(np.zeros_like(cluster))
    if singles:
        return 1 - in_cluster / every
    both, in_intent = pairs(intent * k + cluster), pairs(intent)
    expected, most = in_intent * in_cluster / every, (in_intent + in_cluster) / 2
    return (both - expected) / max(most - expected, 1e-12)


def _new_clusters(cut: Ids, y: Ids) -> int:
    """How many clusters are large enough for an intent and have hardly any labelled row."""
    size = np.bincount(cut)
    labelled = np.bincount(cut[y >= 0], minlength=len(size))
    smallest = min(MIN_SIZE, max(1, round(MIN_SHARE_OF_ROWS * len(cut))))
    is_new = labelled <= MAX_LABELLED_RATIO * (y >= 0).mean() * size
    return int((is_new & (size >= smallest)).sum())


def _smooth(values: Floats) -> Floats:
    return np.convolve(np.pad(values, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
