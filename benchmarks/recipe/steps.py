"""Measure what each step of the recipe adds: its labels of the new intents, and a linear head trained on them.

python -m benchmarks.recipe.steps            adds to steps.json beside this file, skips what is there
python -m benchmarks.recipe.steps --table    prints the means

The data are fresh class partitions (seeds 1000 and 1001), the vectors those of the frozen encoder.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from benchmarks.harness.partitions import FRESH_PARTITIONS, load_partition
from benchmarks.harness.scoring import score_ids
from benchmarks.harness.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from benchmarks.harness.tables import as_markdown
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.clustering import balance, kmeans, spherical_lloyd
from newfound.algorithms.ensembles import consensus_clustering, diffuse, label_freely
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder

HERE = Path(__file__).parent
FILE_NAME = "steps.json"
DATA = {"BANKING77": "banking77/fresh", "CLINC150": "clinc150/fresh", "domains": "clinc150/domains"}
LABELLINGS = 12
HEAD_TEMPERATURE, HEAD_STEPS, HEAD_LR = 0.05, 60, 0.01
Label = Callable[[Tensor, int, int], Tensor]
"""Vectors [n, d], a number of clusters and a seed -> labels [n]."""


def ten_restarts(x: Tensor, k: int, seed: int) -> Tensor:
    """Return the best of ten runs of k-means."""
    return kmeans(x, k, restarts=10, seed=seed).labels


def balanced(x: Tensor, k: int, seed: int) -> Tensor:
    """Return clusters of about equal size, grown from the best of ten runs of k-means."""
    return balance(x, kmeans(x, k, restarts=10, seed=seed).centres, rounds=20)


def balanced_and_refined(x: Tensor, k: int, seed: int) -> Tensor:
    """Return balanced clusters, refined by k-means without regard to their sizes."""
    return spherical_lloyd(x, class_means(x, balanced(x, k, seed), k)[0])[0]


def one_start(x: Tensor, k: int, seed: int) -> Tensor:
    """Return a single run of k-means."""
    return kmeans(x, k, restarts=1, seed=seed).labels


def consensus(labelling: Label, *, two_views: bool) -> Label:
    """Return how labels come from twelve labellings, either all on the vectors or half of them on a second view."""

    def label(x: Tensor, k: int, seed: int) -> Tensor:
        views = (x, diffuse(x)) if two_views else (x,)
        labellings = [
            labelling(view, k, 1000 * seed + 100 * i + run)
            for i, view in enumerate(views)
            for run in range(LABELLINGS // len(views))
        ]
        return consensus_clustering(labellings, k, seed=seed)

    return label


STEPS: dict[str, Label] = {
    "k-means, 10 restarts": ten_restarts,
    "balanced clusters": balanced,
    "balanced, then refined by k-means": balanced_and_refined,
    "consensus of 12 k-means": consensus(one_start, two_views=False),
    "consensus of 12 k-means over two views": consensus(one_start, two_views=True),
    "consensus of 12 balanced and refined over two views": consensus(
        lambda x, k, seed: label_freely(x, k, seed=seed).refined, two_views=True
    ),
}


def linear_head(x: Tensor, y: Tensor, columns: int) -> Tensor:
    """Train a cosine classifier [columns, d] on vectors [n, d] and labels [n], from the class means on."""
    weight = class_means(x, y, columns)[0].clone().requires_grad_()
    optimizer = torch.optim.Adam([weight], lr=HEAD_LR)
    for _ in range(HEAD_STEPS):
        loss = F.cross_entropy(x @ F.normalize(weight, dim=-1).T / HEAD_TEMPERATURE, y)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return F.normalize(weight.detach(), dim=-1)


def step_row(task: DiscoveryTask, encoder: Encoder, step: str, seed: int) -> Row:
    """Label the new intents' training utterances by a step, train the head, and score it on the test part."""
    x, test = (frozen_vectors(encoder, part.texts) for part in (task.train, task.test))
    n_known, n_new = len(task.known), len(task.new)
    y = torch.from_numpy(task.gold_ids(task.train))
    logs = y >= n_known
    y[logs] = n_known + STEPS[step](F.normalize(x[logs], dim=-1), n_new, seed)
    predicted = (test @ linear_head(x, y, n_known + n_new).T).argmax(1).numpy()
    accuracy = score_ids(task, predicted)["scores"]["strict"]["ood_acc"]
    return {"task": task.name, "step": step, "seed": seed, "strict_ood_acc": round(accuracy, 2)}


def measure(path: Path, partitions: list[int], seeds: list[int]) -> None:
    """Run every step on every partition and seed that the result file does not have yet."""
    encoder = study_encoder()
    finished = {(row["task"], row["step"], row["seed"]) for row in read_rows(path)}
    for partition, benchmark in product(partitions, FRESH_PARTITIONS):
        task = load_partition(benchmark, ratio=40, split=partition)
        for step, seed in product(STEPS, seeds):
            if (task.name, step, seed) not in finished:
                row = step_row(task, encoder, step, seed)
                append_row(path, row)
                print(*row.values(), flush=True)


def print_table(path: Path) -> None:
    """Print the mean strict OOD accuracy of each step on each kind of data."""
    rows = read_rows(path)
    lines = []
    for step in STEPS:
        by_data = (
            [row["strict_ood_acc"] for row in rows if row["step"] == step and row["task"].startswith(prefix)]
            for prefix in DATA.values()
        )
        lines.append((step, *(f"{statistics.fmean(values):.1f}" if values else "" for values in by_data)))
    print(as_markdown(("labels for the new intents", *DATA), lines))


def main() -> None:
    """Run the study and print its table, or print the table alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=whole_numbers, default=[0, 1])
    parser.add_argument("--partitions", type=whole_numbers, default=[1000, 1001], help="seeds of the partitions")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    path = options.out / FILE_NAME
    if not options.table:
        measure(path, options.partitions, options.seeds)
    print_table(path)


if __name__ == "__main__":
    main()
