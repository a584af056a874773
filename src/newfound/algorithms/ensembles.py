"""Ensembles of clusterings: views of the same vectors, clusterings of each, and the consensus of all.

Vectors x are [n, d] of unit length. k-means finds another solution from every start: it merges two intents here and
splits one there. What most solutions have in common is better than the best of them.

Rows with a label can guide a clustering: y [n] is the known intent of a row, -1 for none. Clusters are then numbered so
that the first n_known of them are the known intents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from newfound.algorithms.assignment import class_means, one_hot_or_zero
from newfound.algorithms.clustering import balance, kmeans, spherical_lloyd
from newfound.algorithms.metrics import adjusted_rand_index
from newfound.algorithms.neighbours import ROWS_AT_ONCE, nearest

NEIGHBOUR_TEMPERATURE = 0.1  # of the softmax over neighbours
MIN_ARI_GAIN = 0.05  # how much more consistent (adjusted Rand index) labellings must be to be preferred
N_CANDIDATES = 4  # for each centre of a new intent; the best of them is taken

Sizes = Literal["estimated", "equal"]
Seeds = Callable[..., int]  # a seed for each purpose


def diffuse(x: Tensor, *, neighbours: int = 10, share: float = 0.5) -> Tensor:
    """Every vector moved towards the mean of its nearest neighbours: what is particular to an utterance fades."""
    if len(x) < 2:
        return x
    value, index = nearest(x, neighbours)  # [n, near] each
    weight = (value / NEIGHBOUR_TEMPERATURE).softmax(1)
    moved = torch.empty_like(x)
    for start in range(0, len(x), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        moved[part] = (1 - share) * x[part] + share * (weight[part, :, None] * x[index[part]]).sum(1)
    return F.normalize(moved, dim=-1)


def views(x: Tensor, *, neighbours: int = 10) -> tuple[Tensor, ...]:
    """Return the views that are clustered, [n, d] each: the vectors, and the vectors averaged over their neighbours."""
    return x, diffuse(x, neighbours=neighbours)


class Labelling(NamedTuple):
    """Three clusterings [n] from one start."""

    kmeans: Tensor
    balanced: Tensor  # of about equal sizes
    refined: Tensor  # balanced, then k-means again from there


def label_freely(x: Tensor, k: int, *, seed: int) -> Labelling:
    """k-means from one start, balanced, then refined.

    Balancing takes apart what was merged and joins what was split, since both show in the size. Refining lets clusters
    that are really small or large go back. Where that ends worse than it began, the beginning is kept.
    """
    first = kmeans(x, k, restarts=1, seed=seed)
    balanced = balance(x, first.centres, rounds=10)
    refined, inertia = spherical_lloyd(x, class_means(x, balanced, k)[0])
    is_better = inertia <= spherical_lloyd(x, F.normalize(first.centres, dim=-1))[1]
    return Labelling(first.labels, balanced, refined if is_better else first.labels)


def cluster_around(x: Tensor, y: Tensor, n_known: int, k: int, *, seed: int) -> Tensor:
    """k-means whose first centres start at the labelled rows, which keep their labels; return clusters [n].

    The centres of new intents start far from all others (k-means++).
    """
    centres = _further_centres(x[y < 0], class_means(x, y, n_known)[0], k - n_known, seed)
    return spherical_lloyd(x, centres, fixed=y)[0]


def _further_centres(x: Tensor, centres: Tensor, count: int, seed: int) -> Tensor:
    """Append rows of x that lie far from all centres so far: of a few candidates, the one that most rows are near."""
    generator = torch.Generator().manual_seed(seed)
    closest = (x @ centres.T).amax(1)
    for _ in range(min(count, len(x))):
        distance = (1 - closest).clamp(min=1e-6).cpu()
        chosen = x[torch.multinomial(distance, N_CANDIDATES, replacement=True, generator=generator).to(x.device)]
        closer = torch.maximum(closest[:, None], x @ chosen.T)  # [m, candidates]
        best = int(closer.sum(0).argmax())
        closest, centres = closer[:, best], torch.cat([centres, chosen[best : best + 1]])
    return centres


def select_labellings(ensemble: Sequence[Labelling], sizes: Sizes = "estimated") -> list[Tensor]:
    """Return the clusterings to count: the refined ones, or plain k-means where the logs have a long tail.

    Where intents are of one size, balancing leads different starts to the same clusters. In a long tail it cuts large
    intents wherever each start happens to, and the results are hardly more consistent than plain k-means. With "equal"
    sizes, the intents are known to be of one size, and the balanced clusterings count.
    """
    if sizes == "equal":
        return [labelling.balanced for labelling in ensemble]
    plain, refined = [v.kmeans for v in ensemble], [v.refined for v in ensemble]
    return refined if len(ensemble) < 2 or is_more_consistent(refined, plain) else plain


def cluster_ensemble(
    x: Tensor, k: int, runs: int, seeds: Seeds, *, neighbours: int = 10, sizes: Sizes = "estimated"
) -> list[Tensor]:
    """Return clusterings [n] of both views of x into k clusters, from several starts each."""
    both = enumerate(views(x, neighbours=neighbours))
    labellings = [label_freely(view, k, seed=seeds(i, run)) for i, view in both for run in range(runs)]
    return select_labellings(labellings, sizes)


def is_more_consistent(others: Sequence[Tensor], labellings: Sequence[Tensor], margin: float = MIN_ARI_GAIN) -> bool:
    """Whether other clusterings agree clearly more with each other (adjusted Rand index) than the given ones do."""
    return len(labellings) > 1 and len(others) > 1 and consistency(others) - consistency(labellings) >= margin


def consistency(labellings: Sequence[Tensor]) -> float:
    """Mean adjusted Rand index of all pairs: 1 if all say the same."""
    every = [labels.cpu().numpy() for labels in labellings]
    pairs = [adjusted_rand_index(a, b) for a, b in combinations(every, 2)]
    return sum(pairs) / len(pairs)


def consensus_clustering(labellings: Sequence[Tensor], k: int, *, seed: int) -> Tensor:
    """The consensus [n] of clusterings [n] each: utterances are close if many clusterings put them together.

    A spectral embedding of the co-association matrix, which itself, [n, n], is never made: its eigenvectors come from
    the clusters' overlaps [sum of k, sum of k]. Where the clusterings tell fewer than k groups apart, there are fewer
    clusters; they are numbered without gaps.
    """
    member = torch.cat([F.one_hot(labels).float() for labels in labellings], dim=1)
    member = member[:, member.any(0)]  # [n, sum of k]
    # Columns of unit length, so that a large cluster says no more than a small one.
    member /= (member.sum(0) * len(labellings)).sqrt()
    # Clusterings that agree have equal eigenvalues, with which torch fails to converge on a CPU.
    overlap, columns = (member.T @ member).double().cpu().numpy(), member.shape[1]
    value, vector = map(torch.from_numpy, eigh(overlap, subset_by_index=(max(0, columns - k), columns - 1)))
    embedding = member @ vector.to(member) / value.to(member).clamp(min=1e-8).sqrt()
    labels = kmeans(F.normalize(embedding, dim=-1), k, restarts=10, seed=seed).labels
    without_gaps: Tensor = torch.unique(labels, return_inverse=True)[1]
    return without_gaps


def name_by_labels(clusters: Tensor, y: Tensor, n_known: int) -> Tensor:
    """Renumber clusters [n]: each known intent takes the cluster that holds most of its labelled rows.

    The matching is one to one and optimal (Hungarian). A cluster is matched only with an intent whose labels it holds;
    all others are new intents, numbered from n_known on. Rows with a label keep it, and an intent without a cluster has
    no other rows. There are then more new intents than clusters beyond n_known.
    """
    k = int(clusters.max()) + 1 if len(clusters) else 0
    overlap = (one_hot_or_zero(clusters, k).T @ one_hot_or_zero(y, n_known)).cpu().numpy()  # [k, n_known]
    pairs = zip(*linear_sum_assignment(-overlap), strict=True)
    matched = {int(cluster): int(intent) for cluster, intent in pairs if overlap[cluster, intent] > 0}
    free = iter(range(n_known, n_known + k))
    numbers = [matched[c] if c in matched else next(free) for c in range(k)]
    return torch.where(y >= 0, y, torch.tensor(numbers, device=clusters.device)[clusters])


def extend(labels: Tensor, x: Tensor, others: Tensor) -> Tensor:
    """Return the labels [m] of other rows [m, d]: each that of the nearest mean of the labelled rows x [n, d]."""
    means, filled = class_means(x, labels, int(labels.max()) + 1)
    return (others @ means.T).masked_fill(~filled, -torch.inf).argmax(1)


def extend_consensus(labels: Tensor, labellings: Sequence[Tensor], x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return labels [n] of all rows x where some [m] were clustered, and the share of the clusterings that agree.

    All rows follow the nearest mean, in the consensus as in each clustering; those that were clustered keep the label
    of the consensus.
    """
    followed = extend(labels, x[rows], x)
    shares = share_agreeing([extend(clusters, x[rows], x) for clusters in labellings], followed)
    followed[rows] = labels
    return followed, shares


def share_agreeing(labellings: Sequence[Tensor], labels: Tensor) -> Tensor:
    """Return the share [n] of clusterings that put a row where the consensus, labels [n], does.

    A cluster of a clustering stands for the consensus cluster that most of its rows belong to.
    """
    shares = torch.zeros(len(labels), device=labels.device)
    k = int(labels.max()) + 1 if len(labels) else 0
    for clusters in labellings:
        n_clusters = int(clusters.max()) + 1 if len(clusters) else 0
        counts = torch.zeros(n_clusters, k, device=labels.device)
        counts.index_put_((clusters, labels), torch.ones(len(labels), device=labels.device), accumulate=True)
        shares += (counts.argmax(1)[clusters] == labels).float()
    return shares / max(1, len(labellings))
