"""Learned joining of pieces, taught by the known intents: does it add to the votes, and can a gate tell where?

python benchmarks/recipe/joining.py FRESH-BANKING77:1000 ... --out FILE
python benchmarks/recipe/joining.py --show FILE                            means, and what the gate would do

Labels of the logs, on frozen vectors, are scored against the gold labels, with and without the joinings; no test row is
read.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import consensus_clustering, consistency, diffuse, label_freely, select_labellings
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.neighbours import nearest
from newfound.bench.cells import load_partition
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from newfound.training.seeding import derive

GATE = 0.06  # how much more alike (adjusted Rand index) joinings must be than votes to count beside them
JOININGS = 4  # for each factor
FACTORS = (2, 3)  # pieces for each intent
TEACHING_SETS = 2  # subsets of the known intents that are learned from
TEACHING_VOTES = 3
NEIGHBOURS = 10

Seeds = Callable[..., int]
"""Returns a seed for a purpose, which is named by words and numbers."""


@dataclass(frozen=True, slots=True)
class Joiner:
    """A linear rule that says how likely two pieces belong to one intent.

    Attributes:
        weight: Of each feature of `pair_features`.
        bias: Added to the weighted sum.
    """

    weight: npt.NDArray[np.float64]
    bias: float

    def logits(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a logit for each pair, [P, P], of features [P, P, F]."""
        logits: npt.NDArray[np.float64] = features @ self.weight + self.bias
        return logits


def pair_features(x: Tensor, pieces: Tensor, votes: Sequence[Tensor], near: Tensor) -> npt.NDArray[np.float64]:
    """Describe every pair of pieces, [P, P, features], alike in both orders.

    Args:
        x: Unit vectors, [n, d].
        pieces: The piece of each row, [n].
        votes: Clusterings of the same rows, [n] each.
        near: The nearest neighbours of each row, [n, neighbours].
    """
    count = int(pieces.max()) + 1
    member = F.one_hot(pieces, count).float()  # [n, P]
    size = member.sum(0).clamp(min=1)
    mean = member.T @ x / size[:, None]
    centre = F.normalize(mean, dim=-1)
    cosine, between = centre @ centre.T, mean @ mean.T
    inside = between.diagonal()
    links = torch.zeros(count, count, device=x.device)  # neighbours of rows in a that lie in b
    links.index_put_((pieces[:, None].expand_as(near), pieces[near]), torch.ones((), device=x.device), accumulate=True)
    reached = links / size[:, None] / near.shape[1]
    together = torch.stack([shares @ shares.T for shares in (_shares(member, size, v) for v in votes)]).mean(0)
    rank = cosine.argsort(descending=True).argsort().float() / count
    log_size = (size / size.mean()).log()
    features = [
        cosine,
        (reached + reached.T) / 2,
        between - (inside[:, None] + inside[None]) / 2,
        torch.minimum(inside[:, None], inside[None]),
        together,
        torch.maximum(log_size[:, None], log_size[None]),
        torch.minimum(log_size[:, None], log_size[None]),
        torch.maximum(rank, rank.T),
        torch.minimum(rank, rank.T),
    ]
    described: npt.NDArray[np.float64] = torch.stack(features, -1).double().cpu().numpy()
    return described


def _shares(member: Tensor, size: Tensor, labels: Tensor) -> Tensor:
    """Return how the rows of each piece are divided among the clusters of a vote, [P, clusters]."""
    return member.T @ F.one_hot(labels).float() / size[:, None]


def learn_joining(x: Tensor, y: Tensor, k: int, *, seed: Seeds) -> Joiner | None:
    """Learn from known intents which pairs of pieces belong to one intent.

    Args:
        x: Unit vectors of labelled rows, [n, d].
        y: Their intents, [n].
        k: The number of intents to learn from at a time: as many as the logs hold, or all if there are fewer.
        seed: Gives seeds by name.

    Returns:
        The rule; None if the known intents fall into no pair that is one intent, or into nothing else.
    """
    from sklearn.linear_model import LogisticRegression

    known = y.bincount().nonzero().squeeze(1).cpu()
    features, same = [], []
    for number in range(TEACHING_SETS):
        generator = torch.Generator().manual_seed(seed("subset", number))
        chosen = known[torch.randperm(len(known), generator=generator)[: min(k, len(known))]]
        rows = torch.isin(y, chosen.to(y.device))
        points, intents = x[rows], y[rows]
        votes = [
            kmeans(points, len(chosen), restarts=1, seed=seed("vote", number, run)).labels
            for run in range(TEACHING_VOTES)
        ]
        near = nearest(points, NEIGHBOURS)[1]
        for factor in FACTORS:
            parts = min(factor * len(chosen), len(points))
            pieces = kmeans(points, parts, restarts=1, seed=seed("pieces", number, factor)).labels
            of_piece = _majority(pieces, intents)
            upper = np.triu_indices(len(of_piece), 1)
            features.append(pair_features(points, pieces, votes, near)[upper])
            same.append((of_piece[:, None] == of_piece[None])[upper])
    target = np.concatenate(same)
    if target.all() or not target.any():
        return None
    fitted = LogisticRegression(max_iter=500).fit(np.concatenate(features), target)
    return Joiner(fitted.coef_[0], float(fitted.intercept_[0]))


def _majority(pieces: Tensor, intents: Tensor) -> npt.NDArray[np.int64]:
    """Return the intent that most rows of each piece have, [P]."""
    counts = torch.zeros(int(pieces.max()) + 1, int(intents.max()) + 1, device=pieces.device)
    counts.index_put_((pieces, intents), torch.ones((), device=pieces.device), accumulate=True)
    most: npt.NDArray[np.int64] = counts.argmax(1).cpu().numpy()
    return most


def join_pieces(
    x: Tensor, k: int, factor: int, joiner: Joiner, votes: Sequence[Tensor], near: Tensor, *, seed: int
) -> Tensor:
    """Over-cluster, and join pieces by average linkage of the rule's logits until k clusters are left.

    Args:
        x: Unit vectors, [n, d].
        k: The number of clusters.
        factor: Pieces for each cluster.
        joiner: The learned rule.
        votes: Clusterings of the same rows, [n] each.
        near: The nearest neighbours of each row, [n, neighbours].
        seed: Of the over-clustering.

    Returns:
        Labels, [n].
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    pieces = kmeans(x, min(factor * k, len(x)), restarts=1, seed=seed).labels
    logits = joiner.logits(pair_features(x, pieces, votes, near))
    distance = logits.max() - (logits + logits.T) / 2
    np.fill_diagonal(distance, 0.0)
    joined = fcluster(linkage(squareform(distance, checks=False), "average"), k, "maxclust") - 1
    return torch.from_numpy(joined).long().to(x.device)[pieces]


def measure(x: Tensor, y: Tensor, gold: npt.NDArray[np.int64], seed: int) -> Row:
    """Return the accuracy of labels with and without joining, and what a gate may look at."""
    x = F.normalize(x.float(), dim=-1)
    logs = y < 0
    points, truth = x[logs], gold[logs.numpy()]
    k = len(np.unique(truth))
    second = diffuse(points, neighbours=10)
    votes = [
        label_freely(view, k, seed=derive(seed, "vote", 0, i, run))
        for i, view in enumerate((points, second))
        for run in range(6)
    ]
    counted = select_labellings(votes)
    joiner = learn_joining(diffuse(x[~logs], neighbours=10), y[~logs], k, seed=partial(derive, seed, "joining", 0))
    assert joiner is not None
    near = nearest(second, NEIGHBOURS)[1]
    joined = [
        join_pieces(second, k, factor, joiner, counted, near, seed=derive(seed, "joining", 0, "joined", factor, run))
        for factor in FACTORS
        for run in range(JOININGS)
    ]

    agreed = consensus_clustering(counted, k, seed=derive(seed, "agree", 0))
    sizes = agreed.bincount(minlength=k).numpy()

    def score(labels: Tensor) -> float:
        return round(accuracy(truth, map_clusters(truth, labels.numpy())), 2)

    return {
        "k": k,
        "votes": score(agreed),
        "joined": score(consensus_clustering(joined, k, seed=derive(seed, "agree", 0))),
        "both": score(consensus_clustering([*counted, *joined], k, seed=derive(seed, "agree", 0))),
        "sizes vary by": round(float(np.std(sizes) / np.mean(sizes)), 3),
        "unanimity of votes": round(consistency(counted), 4),
        "unanimity of joinings": round(consistency(joined), 4),
    }


def show(rows: list[Row]) -> None:
    """Print the rows, and the gain of always and of gated joining."""
    for row in rows:
        gap = row["unanimity of joinings"] - row["unanimity of votes"]
        gain = row["both"] - row["votes"]
        scores = f"votes {row['votes']:5.1f}  both {row['both']:5.1f}  gain {gain:+5.2f}  gap {gap:+.3f}"
        print(f"{row['data']:34} seed {row['seed']}  {scores}")
    gains = [r["both"] - r["votes"] for r in rows]
    opened = [r["unanimity of joinings"] - r["unanimity of votes"] >= GATE for r in rows]
    gated = [gain if is_open else 0.0 for gain, is_open in zip(gains, opened, strict=True)]
    print(f"always {np.mean(gains):+.2f}, gated {np.mean(gated):+.2f}, gate open in {sum(opened)} of {len(rows)}")


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="*")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is not None:
        show(read_rows(options.show))
        return
    encoder = study_encoder()
    for partition in options.partitions:
        benchmark, _, split = partition.partition(":")
        task = load_partition(benchmark, split=int(split))
        gold = task.gold_ids(task.train)
        y = torch.from_numpy(np.where(gold < len(task.known), gold, -1))
        x = frozen_vectors(encoder, task.train.texts)
        for seed in whole_numbers(options.seeds):
            row = {"data": f"frozen {partition}", "seed": seed, **measure(x, y, gold, seed)}
            append_row(options.out, row)
            show([row])


if __name__ == "__main__":
    main()
