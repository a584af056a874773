"""How many new intents are there?

`log_count` counts the intents among vectors without looking at any label. One Ward tree over vectors that are
averaged with their nearest neighbours gives clusterings of every size; two scores say which of them fit:

    separation   the silhouette of the clusters, times a power of the share of nearest neighbours that stay together
                 (the silhouette alone favours clusters of repeated phrasings)
    surprise     how much more often nearest neighbours share a cluster than two random rows do: the Kullback-Leibler
                 divergence between the two shares; about half as many neighbours are looked at as an intent has rows

The count is a weighted geometric mean of both, and of all cuts with nearly the best score: the single best cut moves
too much from draw to draw. Only clusters of a few rows count as intents.

`estimate_n_new` uses labels where there are any. In mixed logs, rows of known intents are recognised first, and the
others counted. The known intents are counted as well, as if they had no labels; since their number is known, this shows
whether the labels divide the corpus more finely or more coarsely than the scores suggest. Where more coarsely, the
whole difference is made up for, otherwise half of it. In mixed logs, the number is also moved towards new intents as
large as known ones are on average, the more so the less these differ in size. Small corpora are counted several times,
in parts of their rows: a single count moves too much with a few of them.

Vectors x are [n, d] of unit length, of the pretrained encoder: fine-tuned ones were taught how many known intents there
are (docs/estimate.md). y [n] are known intents, -1 for a row without a label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ensembles import Seeds
from newfound.algorithms.metrics import silhouette_of_sums
from newfound.algorithms.neighbours import nearest
from newfound.algorithms.recognition import MIN_LABELS_FOR_NEIGHBOURS, known_ratio, recognise_known, typical_labels

Logs = Literal["novel", "mixed"]
Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

MAX_ROWS_IN_TREE = 2_500  # it needs memory and time quadratic in the rows
MAX_CLUSTERS, N_CUTS = 400, 48
MIN_MEAN_CLUSTER_SIZE = 3  # rows of a cluster at the finest cut
MIN_SIZE, MIN_SHARE_OF_ROWS = 5, 0.05  # rows of a cluster that counts as an intent; of few rows this share suffices
NEIGHBOURS = 10
MAX_NEIGHBOURS = 200  # for the surprise
TOGETHER_POWER = 1.5
TEMPERATURE_OF_SEPARATION, TEMPERATURE_OF_SURPRISE = 0.1, 0.01  # of the weights of cuts, in shares of the best score
NEIGHBOURS_PER_ROW = (0.40, 0.45, 0.50, 0.55)  # neighbours over rows of an intent, for the surprise; a mean over these
WEIGHT_OF_SEPARATION = 2 / 3  # beside the surprise, which utterances of no intent and of known intents raise
SHARE_OF_TOO_FEW = 0.5  # of the error on known intents, where they are counted too low
# How far the logarithm of a count is off, and that of the size of new intents beside known ones if all known ones are
# equally large: what is less certain weighs less.
ERROR_OF_COUNT, ERROR_OF_SIZE = 0.3, 0.25
MAX_FACTOR_OF_SIZE = 2.0  # new intents may really be rarer or more frequent: more of a difference does not count
MAX_COUNTS, ROWS_COUNTED, SHARE_COUNTED = 4, 12_000, 0.9  # a corpus of 3,000 rows is counted four times
MIN_ROWS_TO_COUNT = 12
MIN_SHARE_OF_NEW = 0.01  # of mixed logs: fewer rows in groups that are not recognised are no new intent
# Without a new intent in the logs, up to 15 % of them were not recognised, with 0.61 to 0.75 of the labelled neighbours
# to expect; with two fifths of the intents new, more than 20 % on nine of ten corpora.
MAX_SHARE_LEFT_OVER, MIN_RATIO_LEFT_OVER = 0.2, 0.5
RUNS_OF_RECOGNITION = 4
# The error of the logarithm of the number that nine of ten cases stayed below in trials on eight corpora: without
# labels, and with labels for many known intents. With fewer than eight known intents it was 1.
ERROR_WITHOUT_LABELS, ERROR_WITH_LABELS = 0.7, 0.3
ERROR_OF_ONE_KNOWN_INTENT = 3.5  # divided by their number
MAX_USEFUL_RATIO = 6.0  # of the ends of an interval: a wider one says nothing


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of new intents, and between which two it should lie in nine of ten cases.

    Attributes:
        n_new: The estimated number of new intents.
        low: The lower end of the interval.
        high: The upper end of the interval.
        logs: What the logs were taken for.
        n_known: The number of known intents.
    """

    n_new: int
    low: int
    high: int
    logs: Logs
    n_known: int = 0

    @property
    def is_vague(self) -> bool:
        """Whether the interval is too wide to say anything."""
        return self.high > MAX_USEFUL_RATIO * max(1, self.low)


def estimate_n_new(
    x: Tensor, y: Tensor, seeds: Seeds, *, logs_hold: Logs = "mixed", tuned: Tensor | None = None
) -> Estimate:
    """Estimate how many intents the rows without a label have beside the known ones.

    `tuned` [n, m] are vectors after a fine-tuning on the labels; every other count is on them.
    """
    n_known = int(y.max()) + 1 if len(y) else 0
    logs_hold = logs_hold if n_known else "novel"
    most = len(torch.unique(x[y < 0], dim=0))
    if most < 2 and (logs_hold == "novel" or not most):
        return Estimate(most, most, most, logs_hold, n_known)
    vectors = [x] if tuned is None else [x, tuned]
    recognises = logs_hold == "mixed" and n_known > 1
    parts = _parts(y, len(vectors), seeds("parts")) if recognises else [torch.arange(len(y), device=y.device)]
    counts = [
        _log_number(vectors[part % len(vectors)][rows], y[rows], partial(seeds, part), logs_hold, x[rows])
        for part, rows in enumerate(parts)
    ]
    found = [count for count in counts if count is not None]
    if 2 * len(found) < len(counts):
        return Estimate(0, 0, 0, logs_hold, n_known)
    error = ERROR_WITHOUT_LABELS if n_known < 2 else ERROR_WITH_LABELS + ERROR_OF_ONE_KNOWN_INTENT / n_known
    fewest = {0: 2, 1: 1}.get(n_known, 0 if logs_hold == "mixed" else 1)
    middle = sum(found) / len(found)
    low, n_new, high = (min(max(fewest, round(math.exp(middle + side * error))), most) for side in (-1, 0, 1))
    return Estimate(n_new, low, high, logs_hold, n_known)


def _parts(y: Tensor, least: int, seed: int) -> list[Tensor]:
    """Return the rows of each count: all of a large corpus, parts of a small one, with a row of each known intent."""
    counts = min(MAX_COUNTS, ROWS_COUNTED // max(1, len(y)))
    if counts < 2:
        return [torch.arange(len(y), device=y.device)] * least
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randperm(len(y), generator=generator)[: round(SHARE_COUNTED * len(y))] for _ in range(counts)]
    first = torch.tensor([int((y == intent).int().argmax()) for intent in range(int(y.max()) + 1)], dtype=torch.int64)
    return [torch.unique(torch.cat([first, rows])).to(y.device) for rows in drawn]


def _log_number(x: Tensor, y: Tensor, seeds: Seeds, logs_hold: Logs, pretrained: Tensor) -> float | None:
    """Return the logarithm of the number of new intents; None if the logs seem to hold none."""
    seed, n_known, logs, recognised = seeds("rows of the tree"), int(y.max()) + 1 if len(y) else 0, y < 0, y
    if logs_hold == "mixed" and n_known > 1:  # new intents are taken to be at least as many as known ones
        n_new = max(n_known, round(math.exp(log_count(x[logs], seed=seed))) - n_known)
        recognised = recognise_known(x, y, n_known, n_new, RUNS_OF_RECOGNITION, seeds, pretrained=pretrained)
    rest = recognised < 0
    if recognised is not y and _are_left_over(x, y, rest, n_known, seed):
        return None
    count = log_count(x[rest], seed=seed)
    if n_known == 1:
        return math.log(max(1.0, math.exp(count) - 1))  # one of the counted intents is the known one
    if not n_known:
        return count
    count -= made_up_for(log_count(pretrained[~rest], seed=seed) - math.log(n_known))
    if logs_hold == "novel":
        return count
    sizes = torch.bincount(recognised[~rest], minlength=n_known).double().cpu().numpy()
    return moved_by_size(count, int(rest.sum()), sizes)


def made_up_for(error: float) -> float:
    """Return which part of the error on known intents, a logarithm, is taken off: all of it where they are too many."""
    return max(error, SHARE_OF_TOO_FEW * error)


def moved_by_size(count: float, rows: int, sizes: Floats) -> float:
    """Move the logarithm of a number of new intents with some rows towards intents as large as known ones are.

    `sizes` are the rows of each known intent. The more they vary, the less the mean of a few says about that of others.
    """
    mean, most = float(sizes.mean()), math.log(MAX_FACTOR_OF_SIZE)
    relative = max(0.0, float(sizes.var(ddof=1)) / mean**2 - 1 / mean)  # without what counting rows adds by chance
    error = relative * (1 / len(sizes) + 1 / max(1.0, math.exp(count))) + ERROR_OF_SIZE**2
    weight = ERROR_OF_COUNT**2 / (ERROR_OF_COUNT**2 + error)
    return count + weight * min(max(math.log(rows / mean) - count, -most), most)


def _are_left_over(x: Tensor, y: Tensor, rest: Tensor, n_known: int, seed: int) -> bool:
    """Return whether rows that were not recognised, a mask [n], are of known intents all the same.

    Such rows lie scattered among those that were recognised, whereas new intents lie together; or they are few, and
    have nearly as many labelled neighbours as known intents have.
    """
    count, logs = int(rest.sum()), int((y < 0).sum())
    if not count:
        return True
    near = nearest(x, NEIGHBOURS)[1]
    together = int((rest & (rest[near].float().mean(1) > 0.5)).sum())
    if together < max(MIN_SIZE, MIN_SHARE_OF_NEW * logs):
        return True
    if count > MAX_SHARE_LEFT_OVER * logs or typical_labels(y, n_known) < MIN_LABELS_FOR_NEIGHBOURS:
        return False
    ratio = known_ratio(x, y, n_known, seed=seed).clamp(max=1)
    return float(ratio[rest].mean()) > MIN_RATIO_LEFT_OVER


def log_count(x: Tensor, *, seed: int = 0) -> float:
    """Return the logarithm of how many intents rows have, without labels; of many rows, a random part is looked at."""
    if len(x) > MAX_ROWS_IN_TREE:
        chosen = np.random.default_rng(seed).permutation(len(x))[:MAX_ROWS_IN_TREE]
        x = x[torch.from_numpy(chosen).to(x.device)]
    if len(x) < MIN_ROWS_TO_COUNT:
        return math.log(max(1.0, len(x) / MIN_SIZE))
    x = x.float()
    near = nearest(x, min(MAX_NEIGHBOURS, max(NEIGHBOURS, len(x) // 4)))[1]  # [n, near]
    averaged = F.normalize(x + x[near[:, :NEIGHBOURS]].sum(1), dim=-1)
    distance = (1 - averaged @ averaged.T).clamp(min=0).fill_diagonal_(0).cpu()  # [n, n]
    cuts = ward_cuts(distance)
    same = torch.stack([_together(torch.from_numpy(cut), near.cpu()) for cut in cuts]).double().numpy()  # [cuts, near]
    separation = smooth(silhouettes(distance, cuts)).clip(1e-3) * smooth(same[:, NEIGHBOURS - 1]) ** TOGETHER_POWER
    smallest = min(MIN_SIZE, max(1, round(MIN_SHARE_OF_ROWS * len(x))))  # of the clusters that count as intents
    counts = np.log([max(1, int((np.bincount(cut) >= smallest).sum())) for cut in cuts])
    by_separation = float(weights(separation, TEMPERATURE_OF_SEPARATION) @ counts)
    by_surprise = _by_surprise(cuts, same, counts)
    return WEIGHT_OF_SEPARATION * by_separation + (1 - WEIGHT_OF_SEPARATION) * by_surprise


def _by_surprise(cuts: list[Ids], same: Floats, counts: Floats) -> float:
    """Return the logarithm of the number of intents at the cuts where neighbours share clusters most surprisingly."""
    rows = len(cuts[0])
    p = np.array([_share_of_pairs(cut) for cut in cuts])[:, None].clip(1e-12, 1 - 1e-9)
    q = same.clip(1e-9, 1 - 1e-9)
    surprise = np.apply_along_axis(smooth, 0, q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))).clip(1e-9)
    weight = np.stack([weights(surprise[:, j], TEMPERATURE_OF_SURPRISE) for j in range(surprise.shape[1])], axis=1)
    clusters = np.log([int(cut.max()) + 1 for cut in cuts]) @ weight  # [near] logarithm, by number of neighbours
    neighbours = np.arange(1, surprise.shape[1] + 1)
    found = []
    for share in NEIGHBOURS_PER_ROW:
        fits = np.flatnonzero(neighbours <= share * rows / np.exp(clusters))
        found.append(float(weight[:, max(int(fits[-1]) if len(fits) else 0, 2)] @ counts))
    return float(np.mean(found))


def _together(cut: Tensor, near: Tensor) -> Tensor:
    """Return the share of the first 1, 2, ... nearest neighbours of all rows that are in the row's own cluster."""
    share = (cut[near] == cut[:, None]).float().mean(0)
    return share.cumsum(0) / torch.arange(1, len(share) + 1)


def _share_of_pairs(cut: Ids) -> float:
    """Return the share of all pairs of rows that are in one cluster."""
    size = np.bincount(cut).astype(np.float64)
    return float((size * (size - 1)).sum() / (len(cut) * (len(cut) - 1)))


def weights(score: Floats, temperature: float) -> Floats:
    """Return weights that sum to 1; nearly the best scores have nearly the greatest weight."""
    weight = np.exp((score / score.max() - 1) / temperature)
    share: Floats = weight / weight.sum()
    return share


def smooth(values: Floats) -> Floats:
    """Return each value averaged with its neighbours."""
    return np.convolve(np.pad(values, 1, mode="edge"), [0.25, 0.5, 0.25], "valid")


def ward_cuts(distance: Tensor) -> list[Ids]:
    """Return clusterings [n] of a Ward tree over cosine distances [n, n], coarsest first."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform((2 * distance).sqrt().double().numpy(), checks=False), "ward")
    finest = max(3, min(MAX_CLUSTERS, len(distance) // MIN_MEAN_CLUSTER_SIZE))
    levels = np.unique(np.geomspace(2, finest, N_CUTS).round().astype(int))
    return list(cut_tree(tree, n_clusters=levels).T.astype(np.int64))


def silhouettes(distance: Tensor, cuts: list[Ids]) -> Floats:
    """Return the mean silhouette of each of some nested clusterings; 0 for rows that are alone in their cluster."""
    finest = torch.from_numpy(cuts[-1])
    to_finest = distance @ F.one_hot(finest).float()  # [n, finest]: summed distances
    values = []
    for cut in cuts:
        label = torch.from_numpy(cut)
        k = int(label.max()) + 1
        parent = torch.zeros(to_finest.shape[1], dtype=torch.int64).index_put_((finest,), label)
        summed = torch.zeros(len(label), k).index_add_(1, parent, to_finest)
        values.append(float(silhouette_of_sums(summed, torch.bincount(label, minlength=k).float(), label)))
    return np.array(values)
