"""How many new intents are there? Vectors come from a frozen encoder, [n, d]; three strategies give a number:

    tree         one Ward tree over all utterances; its cuts are scored by the labels and by how well they separate,
                 and the clusters without labels are counted (`newfound.algorithms.tree_cuts`)
    resolution   for logs of new intents only: how many clusters a Ward tree has in the logs and in the known
                 utterances, over a range of cuts from the one that finds the true number of known intents down to one
                 twice as fine
    mean         for mixed logs: the geometric mean of "tree" and of "resolution" for the utterances that are not
                 recognised as known intents, beside the labelled utterances alone and beside the recognised ones too;
                 the three are wrong on different corpora, so that their mean is nearer than any of them

For `resolution`: the heights of a Ward tree grow with the number of utterances per intent. The trees of known
utterances and of logs therefore see the same share of their data, as if intents were of one size in both, unless the
spread within clusters, which hardly depends on size, says that they are not. It may also say so because the logs are
from a domain with wider intents; a larger number is believed only where it makes the clusters clearly more compact
(silhouette).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.metrics import silhouette_of_sums
from newfound.algorithms.recognition import recognise_known
from newfound.algorithms.tree_cuts import count_new

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Strategy = Literal["auto", "mean", "tree", "resolution"]
Logs = Literal["novel", "mixed"]

MAX_ROWS_IN_TREE = 3_000  # it needs memory and time quadratic in the rows
MAX_SHARE_OF_A_DRAW = 0.8  # of the rows: draws must differ for their spread to say something
DRAWS, REHEARSALS = 5, 6
SHARE_HIDDEN = 0.4  # of the known intents, in a rehearsal
MAX_CLUSTERS_PER_INTENT, N_CUTS = 2.0, 7  # cuts go from one cluster per known intent to this many
MIN_RATIO_IF_LARGER, MIN_RATIO_IF_SMALLER = 1.6, 1.4  # of the numbers by spread and by heights, if sizes differ
MIN_SILHOUETTE_GAIN = 0.035
DEVIATIONS_FOR_NINETY_PERCENT = 1.645  # around the mean of a normal distribution
MIN_KNOWN_INTENTS, MIN_LABELS_PER_INTENT = 2, 8  # for "resolution": fewer do not show how finely a corpus is divided
TREE_ERROR, MEAN_ERROR = 0.4, 0.35  # root mean square of the logarithm of estimate over truth (benchmarks/everyday)
MAX_ROWS_IN_MEAN, DRAWS_IN_MEAN = 2_000, 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of new intents, and between which two it should lie in nine of ten cases.

    The interval joins how much the estimate moves between random draws of the data with how far the strategy is off:
    for "tree" where it was measured, otherwise when some of the known intents are hidden and counted. `curve` holds,
    for "tree", numbers of clusters and how well each fits; otherwise numbers of clusters in the known utterances and in
    the logs, at the same cuts.
    """

    n_new: int
    low: int
    high: int
    strategy: Strategy
    logs: Logs
    curve: dict[str, list[int]] | dict[str, list[float]]
    n_known: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def estimate_n_new(
    known: Vectors, labels: Ids, logs: Vectors, *, strategy: Strategy = "auto", logs_hold: Logs = "mixed", seed: int = 0
) -> Estimate:
    """Estimate the number of intents in `logs` [m, d] that `known` [n, d], with its `labels` [n], does not have.

    "auto" is "tree" with few labels, and otherwise "mean" in mixed logs and "resolution" in logs of new intents only;
    without two known intents all of them are "tree".
    """
    n_known = len(np.unique(labels))
    if n_known == 0:
        logs_hold = "novel"
    if strategy == "auto":
        few = len(labels) < MIN_LABELS_PER_INTENT * n_known
        strategy = "tree" if few else "mean" if logs_hold == "mixed" else "resolution"
    if strategy in ("mean", "resolution") and n_known < MIN_KNOWN_INTENTS:
        strategy = "tree"
    most = len(np.unique(logs, axis=0))
    if most < 2 and (logs_hold == "novel" or not len(logs)):
        return Estimate(most, most, most, strategy, logs_hold, {}, n_known)
    if strategy in ("tree", "mean"):
        x = F.normalize(torch.from_numpy(np.concatenate([known, logs])), dim=-1)
        ids = np.unique(labels, return_inverse=True)[1]
        y = torch.from_numpy(np.concatenate([ids, np.full(len(logs), -1)]))
        tree = _by_tree(x, y, n_known, logs_hold, most, seed)
        return tree if strategy == "tree" else _with_resolution(tree, x, y, known, logs, most, seed)
    rngs = [np.random.default_rng([seed, i]) for i in range(DRAWS + REHEARSALS)]
    drawn = np.log([_one_draw(known, labels, logs, rng) for rng in rngs[:DRAWS]])
    off = [_rehearse(known, labels, rng) for rng in rngs[DRAWS:]]
    width = math.sqrt(float(np.var(drawn)) + float(np.mean(np.square(off))))
    low, n_new, high = _interval(float(np.median(drawn)), width, 1, most)
    return Estimate(n_new, low, high, strategy, logs_hold, _curve(known, logs, rngs[0]), n_known)


def _by_tree(x: Tensor, y: Tensor, n_known: int, logs_hold: Logs, most: int, seed: int) -> Estimate:
    count = count_new(x, y, seed=seed)
    curve = {"clusters": count.clusters, "score": count.scores}
    fewest = {0: 2, 1: 1}.get(n_known, 0 if logs_hold == "mixed" else 1)
    if count.n_new == 0 and fewest == 0:
        return Estimate(0, 0, 0, "tree", logs_hold, curve, n_known)
    middle = math.log(max(count.n_new, 0.5))
    low, n_new, high = _interval(middle, math.hypot(count.spread, TREE_ERROR), fewest, most)
    return Estimate(n_new, low, high, "tree", logs_hold, curve, n_known)


def _with_resolution(
    tree: Estimate, x: Tensor, y: Tensor, known: Vectors, logs: Vectors, most: int, seed: int
) -> Estimate:
    """Return the mean of three estimates; none where the tree, which tells best that nothing is new, finds none."""
    recognised = recognise_known(x, y, tree.n_known, seed=seed).numpy()
    rest, is_known = logs[recognised < 0], recognised >= 0
    if not tree.n_new or len(rest) < 2:
        return tree
    ids = y[y >= 0].numpy()
    references = [(known, ids), (np.concatenate([known, logs[is_known]]), np.concatenate([ids, recognised[is_known]]))]
    rngs = [np.random.default_rng([seed, i]) for i in range(DRAWS_IN_MEAN)]
    drawn = np.log([[_one_draw(*each, rest, rng, MAX_ROWS_IN_MEAN) for rng in rngs] for each in references])
    middle = float(np.mean([math.log(tree.n_new), *drawn.mean(1)]))
    spread = math.sqrt(float(drawn.var(1).mean()) / len(rngs))
    fewest = 0 if tree.logs == "mixed" else 1
    low, n_new, high = _interval(middle, math.hypot(spread, MEAN_ERROR), fewest, most)
    return Estimate(n_new, low, high, "mean", tree.logs, tree.curve, tree.n_known)


def _interval(middle: float, deviation: float, fewest: int, most: int) -> tuple[int, int, int]:
    """Low, middle and high of a logarithm and its standard deviation."""
    width = DEVIATIONS_FOR_NINETY_PERCENT * deviation
    low, n_new, high = (min(max(fewest, round(math.exp(middle + side * width))), most) for side in (-1, 0, 1))
    return low, n_new, high


def _one_draw(
    known: Vectors, labels: Ids, logs: Vectors, rng: np.random.Generator, max_rows: int = MAX_ROWS_IN_TREE
) -> float:
    n_known = len(np.unique(labels))
    factors = np.geomspace(1.0, MAX_CLUSTERS_PER_INTENT, N_CUTS)
    known_order, logs_order = rng.permutation(len(known)), rng.permutation(len(logs))

    def trees(known_rows: float, log_rows: float) -> tuple[WardTree, int, WardTree]:
        rows = known_order[: max(2, round(known_rows))]
        tree = WardTree(logs[logs_order[: max(2, round(log_rows))]])
        return WardTree(known[rows]), len(np.unique(labels[rows])), tree

    share = min(MAX_SHARE_OF_A_DRAW, max_rows / max(len(known), len(logs)))
    known_tree, seen, log_tree = trees(share * len(known), share * len(logs))
    n_new = n_known * _mean_ratio(known_tree, seen, log_tree, factors)
    by_spread = n_known * _spread_ratio(known_tree, seen, log_tree)
    if not _sizes_differ(log_tree, n_new, by_spread):
        return n_new
    size = min(known_tree.rows / n_known, log_tree.rows / by_spread)  # utterances per intent, alike in both
    known_tree, seen, log_tree = trees(size * n_known, size * by_spread)
    return n_known * _mean_ratio(known_tree, seen, log_tree, factors)


def _sizes_differ(logs: WardTree, by_height: float, by_spread: float) -> bool:
    """Whether the logs' intents are not of the known ones' size: larger (by_spread is low) or smaller (high)."""
    if by_spread < by_height:
        return by_height / by_spread > MIN_RATIO_IF_LARGER
    gain = logs.silhouette(by_spread) - logs.silhouette(by_height)
    return by_spread / by_height > MIN_RATIO_IF_SMALLER and gain > MIN_SILHOUETTE_GAIN


def _rehearse(known: Vectors, labels: Ids, rng: np.random.Generator) -> float:
    """How far the logarithm of an estimate is off when some known intents are hidden and estimated from the rest."""
    intents = rng.permutation(np.unique(labels))
    n_hidden = round(SHARE_HIDDEN * len(intents))
    if n_hidden < 1 or len(intents) - n_hidden < 2:
        return math.log(2)  # nothing to rehearse with: the estimate may be off by a factor of two
    hidden = np.isin(labels, intents[:n_hidden])
    if hidden.sum() < 2:
        return math.log(2)
    estimate = _one_draw(known[~hidden], labels[~hidden], known[hidden], rng)
    return math.log(estimate / n_hidden)


class WardTree:
    """Ward's hierarchical clustering of vectors [n, d]: which clusters there are at any height of the cut."""

    def __init__(self, x: Vectors) -> None:
        from scipy.cluster.hierarchy import linkage

        self.x = x
        self.rows = len(x)
        self.merges = linkage(x, "ward")  # [n - 1, 4], by ascending height
        self.heights: npt.NDArray[np.float64] = self.merges[:, 2]

    def count(self, cut: float) -> int:
        return 1 + int(np.sum(self.heights > cut))

    def cut_for(self, clusters: int) -> float:
        """A height between the merges that leave this many clusters and one fewer."""
        done = max(self.rows - clusters, 0)  # merges below the cut
        below = self.heights[done - 1] if done else 0.0
        above = self.heights[done] if done < len(self.heights) else below
        return float(below + above) / 2

    def spread(self) -> npt.NDArray[np.float64]:
        """[n] variance within clusters after each number of merges; a merge adds half its squared height."""
        merges = np.arange(self.rows)
        return np.concatenate([[0.0], np.cumsum(self.heights**2 / 2)]) / np.maximum(1, merges)

    def silhouette(self, clusters: float) -> float:
        """Mean silhouette of the clusters at a cut, by cosine distance."""
        from scipy.cluster.hierarchy import fcluster

        wanted = min(max(2, round(clusters)), self.rows - 1)
        label = torch.from_numpy(fcluster(self.merges, wanted, "maxclust").astype(np.int64)) - 1
        unit = F.normalize(torch.from_numpy(self.x), dim=-1)
        member = F.one_hot(label).float()  # [n, k]
        distance = (1 - unit @ unit.T).clamp(min=0).fill_diagonal_(0)
        return float(silhouette_of_sums(distance @ member, member.sum(0), label))


def _mean_ratio(known: WardTree, intents: int, logs: WardTree, factors: npt.NDArray[np.float64]) -> float:
    """Clusters in the logs over clusters in the known utterances, geometric mean over cuts."""
    cuts = [known.cut_for(min(round(intents * factor), known.rows - 1)) for factor in factors]
    return math.exp(np.mean([math.log(logs.count(cut) / known.count(cut)) for cut in cuts]))


def _spread_ratio(known: WardTree, intents: int, logs: WardTree) -> float:
    """The same ratio, at which the variance within clusters is alike; from half to all of the known number."""
    known_spread, log_spread = known.spread(), logs.spread()
    ratios = []
    for factor in np.geomspace(0.5, 1.0, N_CUTS):
        clusters = max(1, round(intents * factor))
        merges = int(np.searchsorted(log_spread, known_spread[known.rows - clusters], side="right")) - 1
        ratios.append(math.log((logs.rows - merges) / clusters))
    return math.exp(np.mean(ratios))


def _curve(known: Vectors, logs: Vectors, rng: np.random.Generator) -> dict[str, list[int]]:
    share = min(1.0, MAX_ROWS_IN_TREE / max(len(known), len(logs)))
    known_tree, log_tree = (
        WardTree(x[rng.permutation(len(x))[: max(2, round(share * len(x)))]]) for x in (known, logs)
    )
    clusters = np.unique(np.geomspace(2, max(2, known_tree.rows // 3), 60).round().astype(int))
    return {
        "clusters in known": clusters.tolist(),
        "clusters in logs": [log_tree.count(known_tree.cut_for(int(k))) for k in clusters],
    }
