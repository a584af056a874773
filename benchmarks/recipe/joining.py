"""Learned joining of pieces, taught by the known intents: does it add to the votes, and can a gate tell where?

python benchmarks/recipe/joining.py FRESH-BANKING77:1000 ... --out FILE       frozen vectors
python benchmarks/recipe/joining.py --vectors FOLDER --out FILE               vectors of `trained.py --vectors`
python benchmarks/recipe/joining.py --show FILE                               means, and what the gate would do

Labels of the logs are scored against the gold labels, with and without the joinings; no test row is read.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.consensus import SURER_JOININGS, agree, believed, diffuse, unanimity, vote
from newfound.algorithms.joining import FACTORS, NEIGHBOURS, join_pieces, learn_joining
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.neighbours import nearest
from newfound.bench.cells import load_partition
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from newfound.training.seeding import derive

JOININGS = 4  # for each factor


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
    joiner = learn_joining(diffuse(x[~logs], neighbours=10), y[~logs], k, seed=partial(derive, seed, "joining", 0))
    assert joiner is not None
    near = nearest(second, NEIGHBOURS)[1]
    joined = [
        join_pieces(second, k, factor, joiner, counted, near, seed=derive(seed, "joining", 0, "joined", factor, run))
        for factor in FACTORS
        for run in range(JOININGS)
    ]

    agreed = agree(counted, k, seed=derive(seed, "agree", 0))
    sizes = agreed.bincount(minlength=k).numpy()

    def score(labels: Tensor) -> float:
        return round(accuracy(truth, map_clusters(truth, labels.numpy())), 2)

    return {
        "k": k,
        "votes": score(agreed),
        "joined": score(agree(joined, k, seed=derive(seed, "agree", 0))),
        "both": score(agree([*counted, *joined], k, seed=derive(seed, "agree", 0))),
        "sizes vary by": round(float(np.std(sizes) / np.mean(sizes)), 3),
        "unanimity of votes": round(unanimity(counted), 4),
        "unanimity of joinings": round(unanimity(joined), 4),
    }


def show(rows: list[Row]) -> None:
    """Print the rows, and the gain of always and of gated joining."""
    for row in rows:
        gap = row["unanimity of joinings"] - row["unanimity of votes"]
        gain = row["both"] - row["votes"]
        scores = f"votes {row['votes']:5.1f}  both {row['both']:5.1f}  gain {gain:+5.2f}  gap {gap:+.3f}"
        print(f"{row['data']:34} seed {row['seed']}  {scores}")
    gains = [r["both"] - r["votes"] for r in rows]
    opened = [r["unanimity of joinings"] - r["unanimity of votes"] >= SURER_JOININGS for r in rows]
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
