"""Clusterings on the device: k-means with all restarts at once, and its balanced variant; deterministic for a seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from newfound.algorithms.assignment import class_means, one_hot_or_zero, sinkhorn

MAX_DISTANCES_IN_MEMORY = 2**28  # on a GPU: a gigabyte


@dataclass(frozen=True, slots=True)
class Clustering:
    labels: Tensor  # [n]
    centres: Tensor  # [k, d]
    inertia: float  # summed squared distance to the own centre


def lloyd(
    centres: Tensor,
    assign: Callable[[Tensor], tuple[Tensor, Tensor]],
    move: Callable[[Tensor, Tensor, Tensor], Tensor],
    *,
    rounds: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Lloyd's algorithm: assign rows to centres and move the centres to their rows, until no label changes.

    `assign` returns the label of each row and how far or near its centre is, `move` new centres for these two and the
    centres so far. The last centres are returned, after the labels and distances that `assign` returns for them.
    """
    labels, closeness = assign(centres)
    for _ in range(rounds):
        centres = move(labels, closeness, centres)
        before = labels
        labels, closeness = assign(centres)
        if torch.equal(labels, before):
            break
    return labels, closeness, centres


def kmeans(x: Tensor, k: int, *, restarts: int = 10, seed: int = 0, iterations: int = 100) -> Clustering:
    """Lloyd's algorithm from `restarts` k-means++ starts [R]; the one with the lowest inertia is returned.

    A restart ends when no label changes. x is [n, d], with n >= 1 and k >= 1. If k > n, at most n
    clusters have rows, and the centres of the others repeat rows.
    """
    x, n = x.float(), len(x)
    generator = torch.Generator(x.device).manual_seed(seed)
    starts = _plus_plus(x, min(k, n), restarts, generator)  # [R, k, d]
    labels, distance, centres = lloyd(starts, partial(_assign, x), partial(_means, x), rounds=iterations)
    inertia = distance.sum(1)  # [R]
    best = int(inertia.argmin())
    repeated = x[torch.arange(max(0, k - n), device=x.device) % n]
    return Clustering(labels[best], torch.cat([centres[best], repeated]), float(inertia[best]))


def _plus_plus(x: Tensor, k: int, restarts: int, generator: torch.Generator) -> Tensor:
    """Greedy k-means++ (Arthur and Vassilvitskii 2007): of a few candidates drawn by squared distance, the best."""
    trials = 2 + int(math.log(k))
    square = (x**2).sum(1)  # [n]
    first = torch.randint(len(x), (restarts,), device=x.device, generator=generator)
    chosen = [x[first]]
    nearest = _squared(x, square, x[first][:, None])[:, 0]  # [R, n] squared distance to the nearest centre
    for _ in range(1, k):
        # Where every point is a centre already (repeated texts), any point is as good as another.
        weight = torch.where(nearest.sum(1, keepdim=True) > 0, nearest, 1.0)
        candidates = torch.multinomial(weight, trials, replacement=True, generator=generator)  # [R, trials]
        closer = torch.minimum(nearest[:, None], _squared(x, square, x[candidates]))  # [R, trials, n]
        best = closer.sum(-1).argmin(1)  # [R]
        rows = torch.arange(restarts, device=x.device)
        chosen.append(x[candidates[rows, best]])
        nearest = closer[rows, best]
    return torch.stack(chosen, dim=1)


def _squared(x: Tensor, square: Tensor, points: Tensor) -> Tensor:
    """Squared distances [R, p, n] of points [R, p, d] to all x [n, d]."""
    return (square + (points**2).sum(-1, keepdim=True) - 2 * points @ x.T).clamp(min=0)


def _assign(x: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """Nearest centre and squared distance to it, [R, n] each."""
    parts = [
        ((c**2).sum(-1)[:, None] - 2 * x @ c.mT).min(dim=-1)
        for c in torch.split(centres, _restarts_at_once(x, centres))
    ]
    labels = torch.cat([part.indices for part in parts])
    distance = torch.cat([part.values for part in parts])
    return labels, (distance + (x**2).sum(1)).clamp(min=0)


def _means(x: Tensor, labels: Tensor, distance: Tensor, centres: Tensor) -> Tensor:
    """New centres [R, k, d]; an empty cluster moves to one of the points that are farthest from their own centre."""
    k, at_once = centres.shape[1], _restarts_at_once(x, centres)
    moved = []
    for label, far in zip(torch.split(labels, at_once), torch.split(distance, at_once), strict=True):
        total, count = _sums(x, label, k)
        empty = count == 0  # [r, k]
        farthest = far.topk(k, dim=-1).indices.gather(1, (empty.cumsum(1) - 1).clamp(min=0))
        moved.append(torch.where(empty[..., None], x[farthest], total / count.clamp(min=1)[..., None]))
    return torch.cat(moved)


def _sums(x: Tensor, label: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Sum [r, k, d] and size [r, k] of each cluster; label [r, n]."""
    if x.device.type == "cpu":
        total = torch.stack([torch.zeros(k, x.shape[1]).index_add_(0, one, x) for one in label])
        return total, torch.stack([torch.bincount(one, minlength=k) for one in label])
    member = one_hot_or_zero(label, k)  # on a GPU index_add_ sums in no fixed order; a matrix product does
    return member.mT @ x, member.sum(1)


def _restarts_at_once(x: Tensor, centres: Tensor) -> int:
    """One after another on a CPU, whose caches are small; on a GPU as many as fit."""
    return 1 if x.device.type == "cpu" else max(1, MAX_DISTANCES_IN_MEMORY // (len(x) * centres.shape[1]))


def spherical_lloyd(
    x: Tensor, centres: Tensor, *, fixed: Tensor | None = None, rounds: int = 30
) -> tuple[Tensor, float]:
    """Lloyd's algorithm on the sphere from given centres [k, d]; return labels [n] and the mean distance 1 - cosine.

    The distance is that of each row to the centre of its label. x [n, d] and the centres have unit length; an empty
    cluster keeps its centre. Rows keep their label in `fixed` [n] unless it is -1.
    """

    def assign(centres: Tensor) -> tuple[Tensor, Tensor]:
        similarity = x @ centres.T  # [n, k]
        nearest = similarity.max(1).indices
        labels = nearest if fixed is None else torch.where(fixed >= 0, fixed, nearest)
        return labels, similarity.gather(1, labels[:, None]).squeeze(1)

    def move(labels: Tensor, _: Tensor, centres: Tensor) -> Tensor:
        means, filled = class_means(x, labels, len(centres))
        return torch.where(filled[:, None], means, centres)

    labels, similarity, _ = lloyd(centres, assign, move, rounds=rounds)
    return labels, float(1 - similarity.mean())


def align_clusters(clustering: Clustering, reference: Tensor) -> Clustering:
    """The same clusters, numbered so that they keep their meaning: i is the one that matches reference centre i.

    Hungarian matching by squared distance between centres; clusters beyond the reference [r, d] come last.
    """
    cost = torch.cdist(reference.float(), clustering.centres).square().cpu().numpy()
    _, matched = linear_sum_assignment(cost)
    rest = sorted(set(range(len(clustering.centres))) - set(matched.tolist()))
    order = torch.tensor([*matched.tolist(), *rest], device=clustering.centres.device)  # old number of each new one
    return Clustering(order.argsort()[clustering.labels], clustering.centres[order], clustering.inertia)


def balance(x: Tensor, centres: Tensor, *, epsilon: float = 0.05, rounds: int = 30) -> Tensor:
    """Labels [n] of clusters of about equal size, grown from the given centres [k, d]; x [n, d] has unit length.

    Like Lloyd's algorithm on the sphere, with Sinkhorn assignments in place of the nearest centre.
    """
    centres = F.normalize(centres, dim=-1)
    every = torch.ones(len(x), dtype=torch.bool, device=x.device)
    for _ in range(rounds):
        q = sinkhorn(x @ centres.T, every, epsilon=epsilon, iterations=10)  # [n, k]
        centres = F.normalize(q.T @ x, dim=-1)
    return q.argmax(1)
