"""Learned joining of pieces, taught by the known intents: does it add to the votes, and can a gate tell where?

python benchmarks/recipe/joining.py FRESH-BANKING77:1000 ... --out FILE             frozen vectors
python benchmarks/recipe/joining.py --vectors FOLDER --out FILE                     vectors that `trained.py --vectors` wrote
python benchmarks/recipe/joining.py --show FILE                                     means, and what the gate would do

The known intents are over-clustered, and a logistic regression learns from pairs of pieces which belong to one intent. On the
logs it joins pieces until as many are left as there are new intents. Everything is measured on the logs; no test row is read.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.consensus import agree, believed, diffuse, unanimity, vote
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.neighbours import nearest
from newfound.bench.cells import load_partition
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from newfound.training.seeding import derive

Array = npt.NDArray[np.float64]
FACTORS = (2, 3)
JOININGS = 8  # for each factor
TEACHING_SETS = 4
GATE = 0.03  # how much more alike (adjusted Rand index) joinings must be than votes


def pair_features(x: Tensor, pieces: Tensor, votes: Sequence[Tensor], near: Tensor) -> Array:
    """Return what is known of each pair of pieces, [P, P, features], alike for both orders."""
    count = int(pieces.max()) + 1
    member = F.one_hot(pieces, count).float()  # [n, P]
    size = member.sum(0).clamp(min=1)
    mean = member.T @ x / size[:, None]
    centre = F.normalize(mean, dim=-1)
    cosine = centre @ centre.T
    between = mean @ mean.T
    inside = between.diagonal()
    links = member.T @ member[near.flatten()].view(*near.shape, count).sum(1)  # neighbours of a that lie in b
    shared = (links / size[:, None] + (links / size[:, None]).T) / (2 * near.shape[1])
    together = torch.stack([p @ p.T for p in (_shares(member, size, v) for v in votes)]).mean(0)
    rank = cosine.argsort(descending=True).argsort().float() / count
    log_size = (size / size.mean()).log()
    features = [
        cosine,
        shared,
        between - (inside[:, None] + inside[None]) / 2,
        torch.minimum(inside[:, None].expand_as(cosine), inside[None].expand_as(cosine)),
        together,
        torch.maximum(log_size[:, None].expand_as(cosine), log_size[None].expand_as(cosine)),
        torch.minimum(log_size[:, None].expand_as(cosine), log_size[None].expand_as(cosine)),
        torch.maximum(rank, rank.T),
        torch.minimum(rank, rank.T),
    ]
    return torch.stack(features, -1).double().cpu().numpy()


def _shares(member: Tensor, size: Tensor, labels: Tensor) -> Tensor:
    """How the rows of each piece are divided among the clusters of a vote, [P, clusters]."""
    return member.T @ F.one_hot(labels).float() / size[:, None]


def teach(x: Tensor, y: Tensor, subset: int, seed: int) -> LogisticRegression:
    """Learn from the known intents which pairs of pieces belong to one intent."""
    rng = np.random.default_rng(seed)
    features, same = [], []
    known = np.unique(y.numpy())
    for number in range(TEACHING_SETS):
        chosen = torch.from_numpy(rng.choice(known, min(subset, len(known)), replace=False))
        rows = torch.isin(y, chosen)
        points, labels = x[rows], y[rows]
        k = len(chosen)
        votes = [kmeans(points, k, restarts=1, seed=derive(seed, number, run)).labels for run in range(4)]
        near = nearest(points, 10)[1]
        for factor in FACTORS:
            pieces = kmeans(points, factor * k, restarts=1, seed=derive(seed, number, "pieces", factor)).labels
            count = int(pieces.max()) + 1
            majority = np.array([_most_common(labels[pieces == p]) for p in range(count)])
            upper = np.triu_indices(count, 1)
            features.append(pair_features(points, pieces, votes, near)[upper])
            same.append((majority[:, None] == majority[None])[upper])
    model = LogisticRegression(max_iter=500, class_weight=None)
    model.fit(np.concatenate(features), np.concatenate(same))
    return model


def _most_common(labels: Tensor) -> int:
    return int(labels.bincount().argmax()) if len(labels) else -1


def join(
    x: Tensor, k: int, factor: int, model: LogisticRegression, votes: Sequence[Tensor], near: Tensor, seed: int
) -> Tensor:
    """Over-cluster, and join pieces by average linkage on what the model says until k are left."""
    pieces = kmeans(x, factor * k, restarts=1, seed=seed).labels
    features = pair_features(x, pieces, votes, near)
    count = len(features)
    logits = model.decision_function(features.reshape(-1, features.shape[-1])).reshape(count, count)
    distance = logits.max() - (logits + logits.T) / 2
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    joined = fcluster(tree, k, "maxclust") - 1
    return torch.from_numpy(joined)[pieces].long()


def measure(x: Tensor, y: Tensor, gold: npt.NDArray[np.int64], seed: int) -> Row:
    """Return the accuracy of labels with and without joining, and what a gate may look at."""
    x = F.normalize(x.float(), dim=-1)
    logs = y < 0
    points, truth = x[logs], gold[logs.numpy()]
    k = len(np.unique(truth))
    second = diffuse(points, neighbours=10)
    votes = [
        vote(view, k, seed=derive(seed, "vote", 0, i, run))
        for i, view in enumerate((points, second))
        for run in range(6)
    ]
    counted = believed(votes)
    model = teach(diffuse(x[~logs], neighbours=10), y[~logs], k, derive(seed, "teach"))
    near = nearest(second, 10)[1]
    joined = [
        join(second, k, factor, model, counted, near, derive(seed, "join", factor, run))
        for factor in FACTORS
        for run in range(JOININGS)
    ]

    def score(labels: Tensor) -> float:
        return round(accuracy(truth, map_clusters(truth, labels.numpy())), 2)

    return {
        "k": k,
        "votes": score(agree(counted, k, seed=derive(seed, "agree", 0))),
        "joined": score(agree(joined, k, seed=derive(seed, "agree", 0))),
        "both": score(agree([*counted, *joined], k, seed=derive(seed, "agree", 0))),
        "unanimity of votes": round(unanimity(counted), 4),
        "unanimity of joinings": round(unanimity(joined), 4),
    }


def show(rows: list[Row]) -> None:
    """Print the rows, and the gain of always and of gated joining."""
    for row in rows:
        gap = row["unanimity of joinings"] - row["unanimity of votes"]
        gain = row["both"] - row["votes"]
        print(
            f"{row['data']:34} seed {row['seed']}  votes {row['votes']:5.1f}  both {row['both']:5.1f}  gain {gain:+5.2f}  gap {gap:+.3f}"
        )
    gains = [r["both"] - r["votes"] for r in rows]
    opened = [r["unanimity of joinings"] - r["unanimity of votes"] >= GATE for r in rows]
    gated = [gain if is_open else 0.0 for gain, is_open in zip(gains, opened, strict=True)]
    print(f"always {np.mean(gains):+.2f}, gated {np.mean(gated):+.2f}, gate open in {sum(opened)} of {len(rows)}")


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="*")
    parser.add_argument("--vectors", type=Path, help="a folder of files with x, y and gold")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is not None:
        show(read_rows(options.show))
        return
    encoder = study_encoder() if options.partitions else None
    sources: list[tuple[str, Tensor, Tensor, npt.NDArray[np.int64]]] = []
    for partition in options.partitions:
        benchmark, _, split = partition.partition(":")
        task = load_partition(benchmark, split=int(split))
        assert encoder is not None
        gold = task.gold_ids(task.train)
        y = torch.from_numpy(np.where(gold < len(task.known), gold, -1))
        sources.append((f"frozen {partition}", frozen_vectors(encoder, task.train.texts), y, gold))
    for path in sorted(options.vectors.glob("*.npz")) if options.vectors is not None else ():
        stored = np.load(path)
        sources.append(
            (f"tuned {path.stem}", torch.from_numpy(stored["x"]), torch.from_numpy(stored["y"]), stored["gold"])
        )
    for name, x, y, gold in sources:
        for seed in whole_numbers(options.seeds):
            row = {"data": name, "seed": seed, **measure(x, y, gold, seed)}
            append_row(options.out, row)
            show([row])


if __name__ == "__main__":
    main()
