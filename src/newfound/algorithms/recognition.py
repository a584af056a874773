"""Which utterances of mixed logs belong to known intents: single rows by their neighbours, and whole clusters.

Vectors x are [n, d] of unit length, y [n] are known intents, -1 for rows without a label.

Where the logs hold a known intent, labelled and unlabelled utterances mingle; a new intent has few labelled neighbours.
How many labelled neighbours a known intent's own utterances have says what to expect of its utterances in the logs. The
ratio of the two is near 1 for a known intent and near 0 for a new one.

That takes enough labelled rows to be neighbours. Where there are few, clusterings around the labels tell known
intents instead, or everything is clustered at once (`newfound.algorithms.ways`).
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from newfound.algorithms.assignment import one_hot_or_zero
from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import Seeds, label_around, label_views, views
from newfound.algorithms.neighbours import nearest

DRAWS = 4  # of logs that are larger than the labelled data, so that both have a say
MIN_RATIO_OF_A_ROW = 0.8  # from which on a single utterance belongs to a known intent
MIN_RATIO_OF_A_CLUSTER = 0.45  # from which on a cluster lies inside a known intent: its rows are less typical than 0.8
MIN_RATIO_OF_A_SMALL_CLUSTER = 0.3  # the same for clusters that are small beside the known intents
MAX_SIZE_OF_A_SMALL_CLUSTER = 0.25  # of the mean size of a known intent, labelled and recognised rows together
MAX_ABSORBING_PASSES = 5


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

    Args:
        x: Vectors of all rows.
        y: Labels of all rows.
        n_known: How many known intents there are.
        neighbours: How many nearest rows of each row are compared.
        share: Of the expected labelled neighbours that a row must have.
        passes: In the second pass, what was recognised in the first counts as labelled.
        seed: Chooses the rows of each draw.
    """
    labels = y.clone()
    for number in range(passes):
        ratio, intent = known_ratio(x, labels, n_known, neighbours=neighbours, seed=seed + number)
        labels = torch.where((labels < 0) & (ratio >= share), intent, labels)
    return labels[y < 0]


def known_ratio(x: Tensor, y: Tensor, n_known: int, *, neighbours: int = 10, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return each row's labelled neighbours over those of the nearest known intent's own rows, and that intent.

    Args:
        x: Vectors of all rows.
        y: Labels of all rows.
        n_known: How many known intents there are.
        neighbours: How many nearest rows of each row are compared.
        seed: Chooses the rows of each draw.
    """
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

    Utterances of known intents that were not recognised one by one form clusters of their own, which would pass for
    new intents. What was absorbed counts as labelled in the next pass, until nothing more is.

    Args:
        x: Vectors of all rows.
        y: Labels of all rows, recognised ones included.
        n_known: How many known intents there are.
        k: Into how many clusters the unlabelled rows fall.
        neighbours: How many nearest rows of each row are compared.
        seed: Chooses draws and the starts of clusterings.
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
    """Return y in which rows have the known intent that most clusterings around the labels put them into.

    Args:
        x: Vectors of all rows.
        y: Labels of all rows.
        n_known: How many known intents there are.
        k: How many intents there are, known and new.
        runs: Clusterings of each view.
        seeds: Gives a seed for each purpose.
        neighbours: Over which the second view averages.
    """
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
