"""Long-tailed logs of several sizes: how many new intents are estimated, and what the consensus gains over k-means.

python benchmarks/subsets/tails.py [--seeds 2000,2001,2002] [--out FOLDER]   adds to tails.jsonl
python benchmarks/subsets/tails.py --table                                    prints the means by shape

Intents are drawn from the training rows of BANKING77 and CLINC150, encoded by frozen MiniLM. The largest new intent has
twelve times as many utterances as the smallest, in a geometric series; the known intents are of one size.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from sklearn.metrics import f1_score
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import cluster_ensemble, consensus_clustering
from newfound.algorithms.estimation import estimate_n_new
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.bench.studies import append_row, frozen_vectors, group_rows, read_rows, study_encoder, whole_numbers
from newfound.bench.tables import as_markdown
from newfound.data.benchmarks import read_part
from newfound.training.seeding import derive

FILE = "tails.jsonl"
FACTOR, RUNS = 12, 6
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is drawn: so many known and new intents, and so many utterances of the largest of them."""

    data: str
    known: int
    new: int
    utterances: int


SHAPES = (
    Shape("clinc150", 20, 8, 100),
    Shape("clinc150", 60, 26, 100),
    Shape("clinc150", 90, 60, 100),
    Shape("banking77", 30, 8, 100),
    Shape("banking77", 40, 26, 100),
)


def draw(x: Tensor, labels: npt.NDArray[np.str_], shape: Shape, seed: int) -> tuple[Tensor, Ids, Tensor, Ids]:
    """Return vectors and intents of the known data, and of the logs."""
    rng = np.random.default_rng(seed)
    intents = rng.permutation(np.unique(labels))[: shape.known + shape.new]
    sizes = np.geomspace(shape.utterances, shape.utterances / FACTOR, shape.new).round().astype(int)
    parts: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for number, intent in enumerate(intents):
        is_new = number >= shape.known
        size = sizes[number - shape.known] if is_new else shape.utterances
        parts[is_new] += [(row, number) for row in rng.permutation(np.flatnonzero(labels == intent))[:size]]
    known, logs = (np.array(parts[is_new]) for is_new in (False, True))
    return x[known[:, 0]], known[:, 1], x[logs[:, 0]], logs[:, 1]


def measure(known: Tensor, y: Ids, logs: Tensor, gold: Ids, seed: int) -> dict[str, Any]:
    """Return the estimate, and accuracy and macro-F1 of labels by k-means and by the consensus, for a given number."""
    k = len(np.unique(gold))
    labels = torch.cat([torch.from_numpy(y), torch.full((len(logs),), -1)])
    estimate = estimate_n_new(torch.cat([known, logs]), labels, partial(derive, seed, "number"), logs_hold="novel")
    ensemble = cluster_ensemble(logs, k, RUNS, partial(derive, seed, "vote"))
    found = {
        "k-means": kmeans(logs, k, restarts=10, seed=derive(seed, "k-means")).labels,
        "consensus": consensus_clustering(ensemble, k, seed=derive(seed, "agree")),
    }
    row: dict[str, Any] = {"estimate": estimate.n_new, "low": estimate.low, "high": estimate.high}
    for name, clusters in found.items():
        matched = map_clusters(gold, clusters.numpy())
        row[f"{name}, accuracy"] = round(accuracy(gold, matched), 1)
        row[f"{name}, F1"] = round(100 * float(f1_score(gold, matched, labels=np.unique(gold), average="macro")), 1)
    return row


def run(folder: Path, seeds: list[int]) -> None:
    """Measure what the file does not have yet."""
    path = folder / FILE
    done = {(*(row[key] for key in asdict(SHAPES[0])), row["seed"]) for row in read_rows(path)}
    encoder = study_encoder()
    for shape in SHAPES:
        corpus = read_part(shape.data, "train")
        x = F.normalize(frozen_vectors(encoder, corpus.texts), dim=-1)
        labels = np.array(corpus.labels, dtype=np.str_)
        for seed in seeds:
            if (*asdict(shape).values(), seed) not in done:
                row = {**asdict(shape), "seed": seed, **measure(*draw(x, labels, shape, seed), seed)}
                append_row(path, row)
                print(row, flush=True)


def table(folder: Path) -> None:
    """Print the means by shape."""
    lines = []
    scores = ("k-means, accuracy", "consensus, accuracy", "k-means, F1", "consensus, F1")
    for key, rows in group_rows(read_rows(folder / FILE), ("data", "known", "new", "utterances")).items():
        means = [f"{np.mean([row[score] for row in rows]):.1f}" for score in scores]
        lines.append((*map(str, key), ", ".join(str(row["estimate"]) for row in rows), *means))
    print(as_markdown(("data", "known", "new", "largest", "estimates", *scores), lines))


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="2000,2001,2002")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(options.out)
    else:
        run(options.out, whole_numbers(options.seeds))


if __name__ == "__main__":
    main()
