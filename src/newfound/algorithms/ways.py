"""Three ways from vectors and some labels to labels of all rows, and which of them fits the data at hand.

    divided   tell first which rows of the logs belong to known intents (by labelled neighbours); cluster the others
    around    the same, but known intents are told by clusterings that start at the labels
    joint     cluster all rows at once, half of the clusterings starting at the labels; labels name the clusters

With many labels, dividing by neighbours is better; with few, neighbours do not tell known from new. Clustering all rows
at once is best where clusterings that see no label agree with each other and with the labels. In a long tail or in
noisy logs they do not: known intents are told first then, by neighbours or, with very few labels, by clusterings around
them. The limits were chosen on the corpora of benchmarks/everyday. (Hiding some known intents and trying all ways was
too noisy to choose by.)

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label. Labels of all rows are known
intents, and new ones from n_known on.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from newfound.algorithms.assignment import one_hot_or_zero
from newfound.algorithms.ensembles import (
    Seeds,
    Sizes,
    consensus_clustering,
    consistency,
    is_more_consistent,
    label_around,
    label_freely,
    label_views,
    select_labellings,
    views,
)

Way = Literal["divided", "around", "joint"]

MAX_TRIAL_ROWS = 6_000
FEW_LABELS, MANY_LABELS = 8, 15  # of the typical known intent
MIN_SHARE_RECOVERED = 0.75  # of labelled rows, by clusterings that do not see the labels
MIN_CONSISTENCY_OF_FREE = 0.75  # adjusted Rand index of free clusterings that take part in the joint ensemble
MIN_CONSISTENCY_OF_JOINT = 0.8  # of free clusterings, for the joint way to be chosen


def cluster_ensemble(
    x: Tensor, k: int, runs: int, seeds: Seeds, *, neighbours: int = 10, sizes: Sizes = "estimated"
) -> list[Tensor]:
    """Return clusterings [n] of both views of x into k clusters, from several starts each."""
    both = views(x, neighbours=neighbours)
    return select_labellings(label_views(both, runs, seeds, partial(label_freely, k=k)), sizes)


def joint_ensemble(
    x: Tensor, y: Tensor, n_known: int, k: int, runs: int, seeds: Seeds, *, neighbours: int = 10
) -> list[Tensor]:
    """Return clusterings [n] of all rows, half of them around the labels.

    The other half starts freely if free clusterings agree with each other; otherwise, for instance in a long tail,
    where they cut large intents, all start at the labels.
    """
    both = views(x, neighbours=neighbours)
    free = label_views(both, runs, seeds, partial(label_freely, k=k))
    around = label_views(both, runs, partial(seeds, "around"), partial(label_around, y=y, n_known=n_known, k=k))
    refined = [labelling.refined for labelling in free]
    if not is_more_consistent(refined, [labelling.kmeans for labelling in free]):
        return [labelling.kmeans for labelling in around]
    chosen = [labelling.refined for labelling in around]
    return [*refined, *chosen] if consistency(refined) >= MIN_CONSISTENCY_OF_FREE else chosen


def choose_way(x: Tensor, y: Tensor, n_known: int, n_new: int, seeds: Seeds) -> tuple[Way, str]:
    """Return the way that fits the data, and the reason in words.

    Args:
        x: Vectors of all rows.
        y: Labels of all rows.
        n_known: How many known intents there are.
        n_new: How many new ones are looked for.
        seeds: Gives a seed for each purpose.
    """
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
    """Return whether clusterings that see no label agree with each other and with the labels, and how one sees it.

    Args:
        x: Vectors of all rows.
        y: Labels of all rows.
        n_known: How many known intents there are.
        n_new: How many new ones are looked for.
        seeds: Gives a seed for each purpose.
    """
    generator = torch.Generator().manual_seed(seeds("rows"))
    rows = torch.randperm(len(x), generator=generator)[:MAX_TRIAL_ROWS].to(x.device)
    k = min(n_known + n_new, len(rows))
    free = [label_freely(view, k, seed=seeds(i, run)) for i, view in enumerate(views(x[rows])) for run in range(2)]
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
