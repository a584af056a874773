"""How many new intents are there?

The known intents show how finely this corpus divides meaning into intents; the logs are divided as finely. Vectors
come from a frozen encoder, [n, d]; four strategies turn them into a number:

    resolution   compare how many clusters a Ward tree has in the logs and in the known utterances, over a range of
                 cuts from the one that finds the true number of known intents down to one twice as fine
    height       the same at the first of these cuts alone
    drop         the published rule (Zhang et al., AAAI 2021): over-cluster with k-means, and drop clusters that are
                 smaller than the mean; it needs an expected number to start from
    separation   the cut of a Ward tree of the logs whose clusters are compact and keep nearest neighbours together;
                 it needs no known intents, and takes the place of the first two where there are too few of them

The heights of a Ward tree grow with the number of utterances per intent. The trees of known utterances and of logs
therefore see the same share of their data, as if intents were of one size in both, unless the spread within clusters,
which hardly depends on size, says that they are not. It may also say so because the logs are from a domain with wider
intents; a larger number is believed only where it makes the clusters clearly more compact (silhouette).

Without known intents, the silhouette alone is no guide: it rises up to about the true number and then stays where it
is, because repeated phrasings make compact clusters of their own. Cutting those out separates nearest neighbours,
though. Silhouette and the share of neighbours that stay together, multiplied, have their maximum near the true number
(docs/cold-start.md has the measurements).
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

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.consensus import diffuse
from newfound.algorithms.neighbours import nearest
from newfound.algorithms.recognition import (
    absorb_into_known,
    labels_are_scarce,
    recognise_around_labels,
    recognise_known,
)

Vectors = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Strategy = Literal["resolution", "height", "drop", "separation"]
Logs = Literal["novel", "mixed"]

MOST_ROWS = 3_000  # in a tree, which needs memory and time quadratic in the rows
SHARE = 0.8  # of the rows at most: draws must differ for their spread to say something
DRAWS, REHEARSALS = 5, 6
HIDDEN = 0.4  # of the known intents, in a rehearsal
FINEST, CUTS = 2.0, 7  # from the known number of intents to this many times as many clusters
LARGER, SMALLER = 1.6, 1.4  # factors between the numbers by spread and by heights that speak for other sizes
MORE_COMPACT = 0.035  # gain in silhouette
NINETY_PERCENT = 1.645  # standard deviations around the mean that hold nine tenths of a normal distribution
MAX_ABSORBING_ROUNDS = 4
FEWEST_TO_COMPARE = 2  # known intents; fewer do not show how finely a corpus is divided
SEPARATION_DRAWS = 3
SEPARATION_CUTS = 40  # numbers of clusters that are tried
NEAREST = 10  # neighbours looked at
MOST_CLUSTERS = 400
FEWEST_ROWS_OF_A_CLUSTER = 3  # on average
SEPARATION_ERROR = 0.48  # root mean square of the logarithm of estimate over truth, where it was measured
OVERCLUSTER = 2  # times the expected number: where "drop" starts


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of new intents, and between which two it should lie in nine of ten cases.

    The interval joins how much the estimate moves between random draws of the data and how far the strategy is off
    when some of the known intents are hidden and counted; for "separation" it is how far that was off where it was
    measured. `curve` holds numbers of clusters in the known utterances and in the logs, at the same cuts; for
    "separation", numbers of clusters in the logs and how well they are separated, from 0 to 1.
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
    known: Vectors,
    labels: Ids,
    logs: Vectors,
    *,
    strategy: Strategy = "resolution",
    logs_hold: Logs = "mixed",
    expected: int | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate the number of intents in `logs` that `known`, with its `labels`, does not have.

    logs_hold  "novel": every utterance belongs to a new intent; "mixed": some belong to known ones
    expected   where "drop" starts; by default new intents are taken to be as large as known ones
    """
    n_known = len(np.unique(labels))
    if n_known == 0:
        logs_hold = "novel"
    is_scarce = labels_are_scarce(len(labels), n_known, len(logs))
    if strategy != "drop" and (n_known < FEWEST_TO_COMPARE or is_scarce):
        strategy = "separation"
    if logs_hold == "mixed":
        logs = _new_rows(known, labels, logs, strategy, seed)
        if not len(logs):
            return Estimate(0, 0, 0, strategy, logs_hold, {}, n_known)
    most = len(np.unique(logs, axis=0))
    if most < 2:
        return Estimate(1, 1, 1, strategy, logs_hold, {}, n_known)
    if strategy == "separation":
        return _by_separation(logs, n_known, most, logs_hold, seed)
    rngs = [np.random.default_rng([seed, i]) for i in range(DRAWS + REHEARSALS)]
    drawn = np.log([_one_draw(known, labels, logs, strategy, expected, rng) for rng in rngs[:DRAWS]])
    off = [_rehearse(known, labels, strategy, rng) for rng in rngs[DRAWS:]]
    middle = float(np.median(drawn))
    width = NINETY_PERCENT * math.sqrt(float(np.var(drawn)) + float(np.mean(np.square(off))))
    low, n_new, high = (int(min(max(1, round(math.exp(middle + side * width))), most)) for side in (-1, 0, 1))
    curve = _curve(known, logs, rngs[0]) if n_known else {}
    return Estimate(n_new, low, high, strategy, logs_hold, curve, n_known)


def _by_separation(logs: Vectors, n_known: int, most: int, logs_hold: Logs, seed: int) -> Estimate:
    clusters, separation = separation_curve(logs, seed)
    best = math.log(clusters[int(np.argmax(separation))])
    width = NINETY_PERCENT * SEPARATION_ERROR
    fewest = 2 if n_known == 0 else 1
    low, n_new, high = (int(min(max(fewest, round(math.exp(best + side * width))), most)) for side in (-1, 0, 1))
    curve: dict[str, list[float]] = {"clusters in logs": clusters, "separation": separation}
    return Estimate(n_new, low, high, "separation", logs_hold, curve, n_known)


def _best_separated(x: Vectors, seed: int) -> float:
    clusters, separation = separation_curve(x, seed)
    return clusters[int(np.argmax(separation))]


def separation_curve(x: Vectors, seed: int = 0) -> tuple[list[float], list[float]]:
    """Return numbers of clusters, ascending, and how well a Ward tree of x [n, d] separates each, mean of draws.

    Vectors are averaged over neighbours first (`diffuse`). The separation is their mean silhouette (cosine) times the
    share of nearest neighbours that are in one cluster.
    """
    rows = min(MOST_ROWS, max(2, round(SHARE * len(x))) if len(x) > 50 else len(x))
    top = max(2, min(MOST_CLUSTERS, rows // FEWEST_ROWS_OF_A_CLUSTER))
    counts = np.unique(np.geomspace(2, top, SEPARATION_CUTS).round().astype(int))
    total = np.zeros(len(counts))
    for draw in range(SEPARATION_DRAWS):
        rng = np.random.default_rng([seed, draw])
        total += _separation(x[rng.permutation(len(x))[:rows]], counts)
    mean = np.convolve(np.pad(total / SEPARATION_DRAWS, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")
    return [float(k) for k in counts], [round(float(value), 4) for value in mean]


def _separation(x: Vectors, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The separation at each number of clusters."""
    from scipy.cluster.hierarchy import fcluster

    unit = F.normalize(torch.from_numpy(x), dim=-1)
    averaged = diffuse(unit, neighbours=NEAREST)
    tree = WardTree(averaged.numpy())
    distance = (1 - averaged @ averaged.T).clamp(min=0).fill_diagonal_(0)
    near = nearest(unit, NEAREST)[1]  # [n, NEAREST]
    found = []
    for k in counts.tolist():
        label = torch.from_numpy(fcluster(tree.merges, k, "maxclust").astype(np.int64) - 1)
        together = float((label[near] == label[:, None]).float().mean())
        found.append(max(0.0, _silhouette(distance, label)) * together)
    return np.array(found)


def _silhouette(distance: Tensor, label: Tensor) -> float:
    """Mean silhouette of labels [n] from distances [n, n]; 0 for rows that are alone in their cluster."""
    member = F.one_hot(label).to(distance.dtype)  # [n, k]
    size = member.sum(0)
    if len(size) < 2:
        return 0.0
    summed = distance @ member
    own = size[label]
    inside = summed.gather(1, label[:, None]).squeeze(1) / (own - 1).clamp(min=1)
    outside = torch.where(member > 0, torch.inf, summed / size).amin(1)
    score = (outside - inside) / torch.maximum(inside, outside).clamp(min=1e-12)
    return float(torch.where(own > 1, score, 0.0).mean())


def _new_rows(known: Vectors, labels: Ids, logs: Vectors, strategy: Strategy, seed: int) -> Vectors:
    """The rows of mixed logs that belong to no known intent: neither by themselves nor as a cluster."""
    names, y = np.unique(labels, return_inverse=True)
    x = F.normalize(torch.from_numpy(np.concatenate([known, logs])), dim=-1)
    ids = torch.from_numpy(np.concatenate([y, np.full(len(logs), -1)]))
    in_logs = ids < 0
    if labels_are_scarce(len(labels), len(names), len(logs)):
        in_all = _best_separated(np.concatenate([known, logs]), seed)
        ids[in_logs] = recognise_around_labels(x, ids, len(names), max(1, round(in_all) - len(names)), seed=seed)
        unrecognised: Vectors = logs[(ids[in_logs] < 0).numpy()]
        return unrecognised
    ids[in_logs] = recognise_known(x, ids, len(names), seed=seed)
    for number in range(MAX_ABSORBING_ROUNDS):
        left: Vectors = logs[(ids[in_logs] < 0).numpy()]
        if len(np.unique(left, axis=0)) < 2:
            return left
        # Fewer rows are left than before, and so perhaps fewer clusters: coarser ones are judged anew.
        k = round(_one_draw(known, labels, left, strategy, None, np.random.default_rng([seed, number])))
        absorbed = absorb_into_known(x, ids, len(names), max(1, k), seed=seed)
        if torch.equal(absorbed, ids):
            break
        ids = absorbed
    remaining: Vectors = logs[(ids[in_logs] < 0).numpy()]
    return remaining


def _one_draw(
    known: Vectors,
    labels: Ids,
    logs: Vectors,
    strategy: Strategy,
    expected: int | None,
    rng: np.random.Generator,
) -> float:
    n_known = len(np.unique(labels))
    if strategy == "separation":
        return _best_separated(logs, int(rng.integers(2**31)))
    if strategy == "drop":
        return _drop(logs, expected or max(1, round(len(logs) * n_known / len(known))), rng)
    factors = np.geomspace(1.0, FINEST, CUTS) if strategy == "resolution" else np.ones(1)
    known_order, logs_order = rng.permutation(len(known)), rng.permutation(len(logs))

    def trees(known_rows: float, log_rows: float) -> tuple[WardTree, int, WardTree]:
        rows = known_order[: max(2, round(known_rows))]
        tree = WardTree(logs[logs_order[: max(2, round(log_rows))]])
        return WardTree(known[rows]), len(np.unique(labels[rows])), tree

    share = min(SHARE, MOST_ROWS / max(len(known), len(logs)))
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
        return by_height / by_spread > LARGER
    gain = logs.silhouette(by_spread) - logs.silhouette(by_height)
    return by_spread / by_height > SMALLER and gain > MORE_COMPACT


def _rehearse(known: Vectors, labels: Ids, strategy: Strategy, rng: np.random.Generator) -> float:
    """How far the logarithm of an estimate is off when some known intents are hidden and estimated from the rest."""
    intents = rng.permutation(np.unique(labels))
    n_hidden = round(HIDDEN * len(intents))
    if n_hidden < 1 or len(intents) - n_hidden < 2:
        return math.log(2)  # nothing to rehearse with: the estimate may be off by a factor of two
    hidden = np.isin(labels, intents[:n_hidden])
    if hidden.sum() < 2:
        return math.log(2)
    found = _one_draw(known[~hidden], labels[~hidden], known[hidden], strategy, None, rng)
    return math.log(found / n_hidden)


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
        from scipy.cluster.hierarchy import fcluster
        from sklearn.metrics import silhouette_score

        wanted = min(max(2, round(clusters)), self.rows - 1)
        labels = fcluster(self.merges, wanted, "maxclust")
        return float(silhouette_score(self.x, labels, metric="cosine")) if len(np.unique(labels)) > 1 else 0.0


def _mean_ratio(known: WardTree, intents: int, logs: WardTree, factors: npt.NDArray[np.float64]) -> float:
    """Clusters in the logs over clusters in the known utterances, geometric mean over cuts."""
    cuts = [known.cut_for(min(round(intents * factor), known.rows - 1)) for factor in factors]
    return math.exp(np.mean([math.log(logs.count(cut) / known.count(cut)) for cut in cuts]))


def _spread_ratio(known: WardTree, intents: int, logs: WardTree) -> float:
    """The same ratio, at which the variance within clusters is alike; from half to all of the known number."""
    known_spread, log_spread = known.spread(), logs.spread()
    ratios = []
    for factor in np.geomspace(0.5, 1.0, CUTS):
        clusters = max(1, round(intents * factor))
        merges = int(np.searchsorted(log_spread, known_spread[known.rows - clusters], side="right")) - 1
        ratios.append(math.log((logs.rows - merges) / clusters))
    return math.exp(np.mean(ratios))


def _drop(logs: Vectors, expected: int, rng: np.random.Generator) -> float:
    rows = logs[rng.permutation(len(logs))[: max(2, round(SHARE * len(logs)))]]
    start = min(OVERCLUSTER * expected, len(rows))
    found = kmeans(torch.from_numpy(rows), start, restarts=3, seed=int(rng.integers(2**31)))
    sizes = np.bincount(found.labels.numpy(), minlength=start)
    return float(max(1, (sizes >= len(rows) / start).sum()))


def _curve(known: Vectors, logs: Vectors, rng: np.random.Generator) -> dict[str, list[int]]:
    share = min(1.0, MOST_ROWS / max(len(known), len(logs)))
    known_tree, log_tree = (
        WardTree(x[rng.permutation(len(x))[: max(2, round(share * len(x)))]]) for x in (known, logs)
    )
    clusters = np.unique(np.geomspace(2, max(2, known_tree.rows // 3), 60).round().astype(int))
    return {
        "clusters in known": clusters.tolist(),
        "clusters in logs": [log_tree.count(known_tree.cut_for(int(k))) for k in clusters],
    }
