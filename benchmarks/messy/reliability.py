"""How many labels of new intents are right, estimated without gold labels.

python benchmarks/messy/reliability.py FRESH-BANKING77:1000 ... --out FILE [--vectors FOLDER]

The same votes are taken on the logs and on known intents whose labels are put aside. On known intents it is seen how
accuracy relates to the share of votes that agree with the consensus; that turns the agreement on the logs into an
accuracy. `--vectors` takes fine-tuned vectors for the logs (`trained.py --vectors`), and frozen ones for the ratio.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ensembles import (
    consensus_clustering,
    diffuse,
    expected_accuracy,
    label_freely,
    select_labellings,
    share_agreeing,
)
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.bench.cells import load_partition
from newfound.bench.studies import append_row, frozen_vectors, study_encoder
from newfound.training.seeding import derive

RUNS = 2


def labelled(x: Tensor, k: int, seed: int) -> tuple[Tensor, float]:
    """Return the consensus labels, and the mean share of votes that agree with them."""
    views = (x, diffuse(x, neighbours=10))
    counted = select_labellings(
        [label_freely(v, k, seed=derive(seed, i, run)) for i, v in enumerate(views) for run in range(RUNS)]
    )
    labels = consensus_clustering(counted, k, seed=seed)
    return labels, float(share_agreeing(counted, labels).mean())


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="+")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    encoder = study_encoder()
    for name in options.partitions:
        benchmark, _, split = name.partition(":")
        task = load_partition(benchmark, split=int(split))
        gold = task.gold_ids(task.train)
        x = F.normalize(frozen_vectors(encoder, task.train.texts).float(), dim=-1)
        is_log = gold >= len(task.known)
        k = len(task.new)
        points = x[torch.from_numpy(is_log)]
        if options.vectors is not None:
            stored = np.load(options.vectors / f"{task.name.replace('/', '-')}.npz")
            points = F.normalize(torch.from_numpy(stored["x"]).float(), dim=-1)[torch.from_numpy(is_log)]
        labels, agreed = labelled(points, k, derive(0, "logs"))
        true = accuracy(gold[is_log], map_clusters(gold[is_log], labels.numpy()))
        chosen = np.random.default_rng(0).permutation(len(task.known))[:k]
        rows = np.isin(gold, chosen)
        found, share = labelled(x[torch.from_numpy(rows)], len(chosen), derive(0, "known", 0))
        right = accuracy(gold[rows], map_clusters(gold[rows], found.numpy()))
        estimated = expected_accuracy(agreed, share, right / 100, trained=options.vectors is not None)
        row = {
            "data": name,
            "vectors": "frozen" if options.vectors is None else "tuned",
            "true": round(true, 1),
            "agreement": round(100 * agreed, 1),
            "known accuracy": round(right, 1),
            "known agreement": round(100 * share, 1),
            "estimated": round(100 * estimated, 1),
        }
        append_row(options.out, row)
        print(row, flush=True)


if __name__ == "__main__":
    main()
