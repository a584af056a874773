"""Which utterances of mixed logs belong to known intents, and which way of finding out fits the data.

    divided   tell first which rows of the logs belong to known intents (by labelled neighbours); cluster the others
    around    the same, but known intents are told by clusterings that start at the labels
    joint     cluster all rows at once, half of the clusterings starting at the labels; labels name the clusters

Where the logs hold a known intent, labelled and unlabelled utterances mingle; a new intent has few labelled neighbours.
How many labelled neighbours a known intent's own utterances have says what to expect of its utterances in the logs. The
ratio of the two is near 1 for a known intent and near 0 for a new one.

That takes enough labelled rows to be neighbours. Clustering all rows at once is best where clusterings that see no
label agree with each other and with the labels. In a long tail or in noisy logs they do not: known intents are told
first then, by neighbours or, with very few labels, by clusterings around them. The limits were chosen on the corpora of
benchmarks/everyday. (Hiding some known intents and trying all ways was too noisy to choose by.)

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label. There are n_known known
intents and n_new new ones, k in all. `neighbours` is how many nearest rows of each row are looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from newfound.algorithms.assignment import one_hot_or_zero
from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import (
    Seeds,
    consensus_clustering,
    consistency,
    is_more_consistent,
    label_around,
    label_freely,
    label_views,
    views,
)
from newfound.algorithms.neighbours import nearest

Way = Literal["divided", "around", "joint"]

DRAWS = 4  # of logs that are larger than the labelled data, so that both have a say
MIN_RATIO_OF_A_ROW = 0.8  # from which on a single utterance belongs to a known intent
MIN_RATIO_OF_A_CLUSTER = 0.45  # from which on a cluster lies inside a known intent: its rows are less typical than 0.8
MIN_RATIO_OF_A_SMALL_CLUSTER = 0.3  # the same for clusters that are small beside the known intents
MAX_SIZE_OF_A_SMALL_CLUSTER = 0.25  # of the mean size of a known intent, labelled and recognised rows together
MAX_ABSORBING_PASSES = 5
MAX_TRIAL_ROWS = 6_000
FEW_LABELS, MANY_LABELS = 8, 15  # of the typical known intent
MIN_SHARE_RECOVERED = 0.75  # of labelled rows, by clusterings that do not see the labels
MIN_CONSISTENCY_OF_JOINT = 0.8  # of free clusterings, for the joint way to be chosen


def choose_way(x: Tensor, y: Tensor, n_known: int, n_new: int, seeds: Seeds) -> tuple[Way, str]:
    """Return the way that fits the data, and the reason in words."""
    labels = float(torch.bincount(y[y >= 0], minlength=n_known).float().median())
    few = f"there are only {labels:.0f} labels for the typical known intent"
    if labels >= MANY_LABELS:
        return "divided", f"there are {labels:.0f} labels for the typical known intent"
    if labels >= FEW_LABELS and n_known < n_new:
        return "joint", f"most intents are new, and {few}"
    fits, reason = joint_fits(x, y, n_known, n_new, seeds)
    if fits:
        return "joint", f"{few}, and {reason}"
    return "around" if labels < FEW_LABELS else "divided", f"{few}, and {reason}"


def joint_fits(x: Tensor, y: Tensor, n_known: int, n_new: int, seeds: Seeds) -> tuple[bool, str]:
    """Return whether clusterings that see no label agree with each other and with the labels, and how one sees it."""
    generator = torch.Generator().manual_seed(seeds("rows"))
    rows = torch.randperm(len(x), generator=generator)[:MAX_TRIAL_ROWS].to(x.device)
    k = min(n_known + n_new, len(rows))
    free = label_views(views(x[rows]), 2, seeds, partial(label_freely, k=k))
    refined = [labelling.refined for labelling in free]
    if not is_more_consistent(refined, [labelling.kmeans for labelling in free]):
        return False, "intents are of very different sizes"
    if consistency(refined) < MIN_CONSISTENCY_OF_JOINT:
        return False, "clusterings from different starts disagree"
    share = share_recovered(consensus_clustering(refined, k, seed=seeds("consensus")), y[rows], n_known)
    return share >= MIN_SHARE_RECOVERED, f"clusterings without labels find {share:.0%} of the labelled utterances"


def share_recovered(clusters: Tensor, y: Tensor, n_known: int) -> float:
    """Return the share of labelled rows in the cluster that matches their intent best, the mean over intents."""
    overlap = one_hot_or_zero(clusters, int(clusters.max()) + 1).T @ one_hot_or_zero(y, n_known)
    size = overlap.sum(0)
    share = (overlap / size.clamp(min=1)).cpu().numpy()  # [clusters, n_known]
    return float(share[linear_sum_assignment(-share)].sum() / max(1, int((size > 0).sum())))


def recognise_known(
    x: Tensor,
    y: Tensor,
    n_known: int,
    *,
    neighbours: int = 10,
    share: float = MIN_RATIO_OF_A_ROW,
    passes: int = 2,
    seed: int = 0,
) -> Tensor:
    """Return, for each row without a label, the known intent it belongs to, or -1.

    It has at least `share` of the labelled neighbours to expect. In the second pass, what was recognised in the first
    counts as labelled.
    """
    labels = y.clone()
    for number in range(passes):
        ratio, intent = known_ratio(x, labels, n_known, neighbours=neighbours, seed=seed + number)
        labels = torch.where((labels < 0) & (ratio >= share), intent, labels)
    return labels[y < 0]


def known_ratio(x: Tensor, y: Tensor, n_known: int, *, neighbours: int = 10, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return each row's labelled neighbours over those of the nearest known intent's own rows, and that intent."""
    labelled, logs = (y >= 0).nonzero().squeeze(1), (y < 0).nonzero().squeeze(1)
    generator = torch.Generator().manual_seed(seed)
    counts = torch.zeros(len(x), n_known, device=x.device)  # labelled neighbours by intent, in all draws
    for _ in range(DRAWS if len(logs) > len(labelled) else 1):
        drawn = logs[torch.randperm(len(logs), generator=generator)[: len(labelled)].to(x.device)]
        counts += _neighbours_by_intent(x, torch.cat([labelled, drawn]), y, n_known, neighbours)
    most, intent = counts.max(1)  # [n]
    near = counts.sum(1)
    own = torch.zeros(n_known, device=x.device).index_add_(0, y[labelled], near[labelled])
    expected = own / torch.bincount(y[labelled], minlength=n_known).clamp(min=1)
    ratio = torch.where(most > 0, near / expected[intent].clamp(min=1e-9), 0.0)
    return ratio, intent


def absorb_into_known(x: Tensor, y: Tensor, n_known: int, k: int, *, neighbours: int = 10, seed: int = 0) -> Tensor:
    """Return y in which clusters of unlabelled rows that lie inside a known intent have that intent.

    Utterances of known intents that were not recognised one by one form clusters of their own, of k, which would pass
    for new intents. What was absorbed counts as labelled in the next pass, until nothing more is.
    """
    y = y.clone()
    for number in range(MAX_ABSORBING_PASSES):
        left = (y < 0).nonzero().squeeze(1)
        if not len(left):
            break
        clusters = kmeans(x[left], min(k, len(left)), restarts=3, seed=seed + number).labels.to(x.device)
        ratio, intent = known_ratio(x, y, n_known, neighbours=neighbours, seed=seed + number)
        size = torch.bincount(clusters, minlength=k).clamp(min=1)
        mean = torch.zeros(len(size), device=x.device).index_add_(0, clusters, ratio[left]) / size
        is_small = size < MAX_SIZE_OF_A_SMALL_CLUSTER * (y >= 0).sum() / n_known
        limit = torch.where(is_small, MIN_RATIO_OF_A_SMALL_CLUSTER, MIN_RATIO_OF_A_CLUSTER)
        inside = (mean >= limit)[clusters]
        if not bool(inside.any()):
            break
        y[left[inside]] = intent[left[inside]]
    return y


def recognise_around(
    x: Tensor, y: Tensor, n_known: int, k: int, runs: int, seeds: Seeds, *, neighbours: int = 10
) -> Tensor:
    """Return y in which rows have the known intent that most clusterings around the labels put them into."""
    label = partial(label_around, y=y, n_known=n_known, k=k)
    labellings = label_views(views(x, neighbours=neighbours), runs, partial(seeds, "around"), label)
    votes = torch.zeros(len(x), n_known + 1, device=x.device)
    for labelling in labellings:
        votes += one_hot_or_zero(labelling.kmeans.clamp(max=n_known), n_known + 1)
    count, intent = votes[:, :n_known].max(1)
    return torch.where((y < 0) & (count > len(labellings) // 2), intent, y)


def _neighbours_by_intent(x: Tensor, among: Tensor, y: Tensor, n_known: int, neighbours: int) -> Tensor:
    """Return how many of each row's nearest among some rows have each known label, [n, n_known]."""
    label = torch.where(y >= 0, y, n_known)  # the last column: neighbours without a label
    near = nearest(x, neighbours, among=among)[1]
    counts = torch.zeros(len(x), n_known + 1, device=x.device)
    counts.scatter_add_(1, label[near], torch.ones_like(near, dtype=counts.dtype))
    return counts[:, :n_known]
