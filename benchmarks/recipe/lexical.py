"""Words (TF-IDF) as a further view of the votes: does it gain, and can the agreement of the votes tell where?

python benchmarks/recipe/lexical.py demo FRESH-BANKING77:1000 ... --out FILE
python benchmarks/recipe/lexical.py --show FILE

Labels of the logs are scored against the gold labels, with the votes as they are and with those of vectors with words
beside them; no test row is read. `demo` is the demo corpus of this project.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ensembles import (
    consensus_clustering,
    consistency,
    diffuse,
    label_freely,
    select_labellings,
    with_words,
)
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.bench.cells import load_partition
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from newfound.data.demo_corpus import load_demo
from newfound.data.task import DiscoveryTask
from newfound.training.seeding import derive

RUNS = 6


def measure(x: Tensor, texts: Sequence[str], gold: npt.NDArray[np.int64], seed: int) -> Row:
    """Return the accuracy of labels with and without words, and how far the votes of each agree."""
    k = len(np.unique(gold))
    worded = with_words(x, texts, seed=derive(seed, "words"))
    views = {"plain": (x, diffuse(x, neighbours=10)), "words": (worded, diffuse(worded, neighbours=10))}
    counted = {
        name: select_labellings(
            [
                label_freely(v, k, seed=derive(seed, "vote", 0, i, run))
                for i, v in enumerate(pair)
                for run in range(RUNS)
            ]
        )
        for name, pair in views.items()
    }

    def score(labels: Sequence[Tensor]) -> float:
        found = consensus_clustering(labels, k, seed=derive(seed, "agree", 0)).numpy()
        return round(accuracy(gold, map_clusters(gold, found)), 2)

    return {
        "k": k,
        "votes": score(counted["plain"]),
        "words": score(counted["words"]),
        "both": score([*counted["plain"], *counted["words"]]),
        "unanimity of votes": round(consistency(counted["plain"]), 4),
        "unanimity with words": round(consistency(counted["words"]), 4),
    }


def show(rows: Sequence[Row]) -> None:
    """Print the rows."""
    for row in rows:
        gap = row["unanimity with words"] - row["unanimity of votes"]
        scores = f"votes {row['votes']:5.1f}  words {row['words']:5.1f}  both {row['both']:5.1f}  gap {gap:+.3f}"
        print(f"{row['data']:24} seed {row['seed']}  {scores}", flush=True)


def _task(name: str) -> DiscoveryTask:
    if name == "demo":
        return load_demo()
    benchmark, _, split = name.partition(":")
    return load_partition(benchmark, split=int(split))


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is not None:
        show(read_rows(options.show))
        return
    encoder = study_encoder()
    for name in options.data:
        task = _task(name)
        gold = task.gold_ids(task.train)
        logs = np.flatnonzero(gold >= len(task.known))
        texts = [task.train.texts[i] for i in logs]
        x = F.normalize(frozen_vectors(encoder, texts).float(), dim=-1)
        for seed in whole_numbers(options.seeds):
            row = {"data": name, "seed": seed, **measure(x, texts, gold[logs], seed)}
            append_row(options.out, row)
            show([row])


if __name__ == "__main__":
    main()
