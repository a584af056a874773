"""Many clusterings, one answer: views of the same vectors, clusterings of each, and what they agree on.

Vectors x are [n, d] of unit length. k-means finds another solution from every start: it merges two intents here and
splits one there. What most solutions have in common is better than the best of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.clustering import balance, kmeans
from newfound.algorithms.neighbours import ROWS_AT_ONCE, nearest

SHARPNESS = 0.1  # temperature of the softmax over neighbours
SURER = 0.05  # how much more alike (adjusted Rand index) votes for even sizes must be to be believed


def diffuse(x: Tensor, *, neighbours: int = 10, share: float = 0.5) -> Tensor:
    """Every vector moved towards the mean of its nearest neighbours: what is particular to an utterance fades."""
    if len(x) < 2:
        return x
    value, index = nearest(x, neighbours)  # [n, near] each
    weight = (value / SHARPNESS).softmax(1)
    moved = torch.empty_like(x)
    for start in range(0, len(x), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        moved[part] = (1 - share) * x[part] + share * (weight[part, :, None] * x[index[part]]).sum(1)
    return F.normalize(moved, dim=-1)


class Vote(NamedTuple):
    """One start, three labellings [n]."""

    free: Tensor  # k-means
    even: Tensor  # of about equal sizes
    freed: Tensor  # evened out, then free again


def vote(x: Tensor, k: int, *, seed: int) -> Vote:
    """k-means from one start, evened out, then free again.

    Evening out takes apart what was merged and joins what was split, since both show in the size. Freed, clusters
    that are really small or large go back. Where that ends worse than it began, the beginning is kept.
    """
    first = kmeans(x, k, restarts=1, seed=seed)
    even = balance(x, first.centres, rounds=10)
    freed, inertia = _lloyd(x, class_means(x, even, k)[0])
    kept = inertia <= _lloyd(x, F.normalize(first.centres, dim=-1))[1]
    return Vote(first.labels, even, freed if kept else first.labels)


def believed(votes: Sequence[Vote]) -> list[Tensor]:
    """The labellings to count: those that began with even sizes, unless the logs have a long tail.

    Where intents are of one size, evening out leads different starts to the same clusters. In a long tail it cuts
    large intents wherever each start happens to, and the votes agree hardly more than plain k-means does.
    """
    free, freed = [v.free for v in votes], [v.freed for v in votes]
    return freed if len(votes) < 2 or unanimity(freed) - unanimity(free) >= SURER else free


def surer(others: Sequence[Tensor], votes: Sequence[Tensor], margin: float = SURER) -> bool:
    """Whether other labellings agree so much more with each other than the votes do that they count beside them.

    Args:
        others: Labellings of another kind, [n] each.
        votes: The votes, [n] each.
        margin: How much more alike they must be, in points of the adjusted Rand index.
    """
    return len(votes) > 1 and len(others) > 1 and unanimity(others) - unanimity(votes) >= margin


def unanimity(labellings: Sequence[Tensor]) -> float:
    """Mean adjusted Rand index of all pairs: 1 if all say the same."""
    from sklearn.metrics import adjusted_rand_score

    every = [labels.cpu().numpy() for labels in labellings]
    pairs = [float(adjusted_rand_score(a, b)) for a, b in combinations(every, 2)]
    return sum(pairs) / len(pairs)


def _lloyd(x: Tensor, centres: Tensor, rounds: int = 30) -> tuple[Tensor, float]:
    """k-means on the sphere from given centres [k, d]: labels, and the mean distance 1 - cosine to the own centre."""
    labels = torch.full((len(x),), -1, device=x.device)
    for _ in range(rounds):
        similarity, nearest = (x @ centres.T).max(1)
        if torch.equal(nearest, labels):
            break
        labels = nearest
        moved, filled = class_means(x, labels, len(centres))
        centres = torch.where(filled[:, None], moved, centres)
    return labels, float(1 - similarity.mean())


def agree(clusterings: Sequence[Tensor], k: int, *, seed: int) -> Tensor:
    """The consensus [n] of clusterings [n] each: utterances are close if many clusterings put them together.

    A spectral embedding of the co-association matrix, which itself, [n, n], is never made: its eigenvectors come from
    the clusters' overlaps [sum of k, sum of k].
    """
    member = torch.cat([_scaled_membership(labels) for labels in clusterings], dim=1)  # [n, sum of k]
    member /= len(clusterings) ** 0.5
    value, vector = torch.linalg.eigh(member.T @ member)
    embedding = member @ vector[:, -k:] / value[-k:].clamp(min=1e-8).sqrt()
    return kmeans(F.normalize(embedding, dim=-1), k, restarts=10, seed=seed).labels


def agreement(clusterings: Sequence[Tensor], labels: Tensor) -> Tensor:
    """Return the share [n] of clusterings that put a row where the consensus does.

    A cluster of a clustering stands for the consensus cluster that most of its rows belong to.

    Args:
        clusterings: Labels [n] each.
        labels: The consensus [n].
    """
    shares = torch.zeros(len(labels), device=labels.device)
    k = int(labels.max()) + 1 if len(labels) else 0
    for clusters in clusterings:
        n_clusters = int(clusters.max()) + 1 if len(clusters) else 0
        counts = torch.zeros(n_clusters, k, device=labels.device)
        counts.index_put_((clusters, labels), torch.ones(len(labels), device=labels.device), accumulate=True)
        shares += (counts.argmax(1)[clusters] == labels).float()
    return shares / max(1, len(clusterings))


def expected_accuracy(on_logs: float, on_known: float, right_on_known: float, *, trained: bool) -> float:
    """Estimate the share of labels that are right, without gold labels, from how far votes agree with their consensus.

    Known intents whose labels are put aside show how accuracy relates to agreement, and errors to disagreement; both
    readings are averaged. An encoder that was trained on the known intents needs about half of that correction
    (benchmarks/messy/reliability.py).

    Args:
        on_logs: Mean agreement with the consensus on the logs.
        on_known: The same on known intents.
        right_on_known: The share of labels that are right there.
        trained: Whether the encoder was fine-tuned.
    """
    by_agreement = min(1.0, on_logs * right_on_known / max(on_known, 1e-9))
    by_disagreement = max(0.0, 1 - (1 - on_logs) * (1 - right_on_known) / max(1 - on_known, 1e-3))
    corrected = (by_agreement + by_disagreement) / 2
    estimate = (corrected + on_logs) / 2 if trained else corrected
    return min(max(estimate, 0.05), 1.0)


def _scaled_membership(labels: Tensor) -> Tensor:
    """[n, clusters]: columns of unit length, so that a large cluster says no more than a small one."""
    member = F.one_hot(labels).float()
    return member / member.sum(0).clamp(min=1).sqrt()
