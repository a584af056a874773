"""Compare estimated with true numbers of new intents, for every strategy, and by the published rule.

python benchmarks/estimates/measure.py splits    the benchmark's splits 1-3 at ratios 20, 40 and 60
python benchmarks/estimates/measure.py fresh     class partitions that no setting was chosen on (seeds from 2000)
python benchmarks/estimates/measure.py domains   CLINC150 with whole domains hidden (seeds from 2000)
python benchmarks/estimates/measure.py mixed     as fresh, with 30 % known utterances in the logs
python benchmarks/estimates/measure.py summary   the mean absolute relative errors, from the files

Each of the first four writes one JSON file beside this one and skips what is in it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
import torch

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.estimation import DRAWS, MAX_SHARE_OF_A_DRAW, Logs, Strategy, Vectors, estimate_n_new
from newfound.algorithms.metrics import Ids
from newfound.bench.cells import load_partition
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder
from newfound.bench.tables import as_markdown
from newfound.data.benchmarks import facts
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder

HERE = Path(__file__).parent
RATIOS = (20, 40, 60)
PARTITION_SEEDS = (2000, 2001, 2002)
KNOWN_SHARE_OF_MIXED_LOGS = 0.3
PARTITIONS = {
    "splits": ("GID-SD", "GID-CD", "GID-MD"),
    "fresh": ("FRESH-BANKING77", "FRESH-CLINC150"),
    "domains": ("FRESH-DOMAINS",),
    "mixed": ("FRESH-BANKING77", "FRESH-CLINC150"),
}

SUMMARISED = {"splits": "published splits", "fresh": "fresh", "domains": "fresh, whole domains are new"}


class EstimateSettings(TypedDict):
    """The settings of `estimate_n_new` that the study compares."""

    strategy: Strategy
    logs_hold: Logs


ON_NEW_LOGS: dict[str, EstimateSettings] = {"resolution": {"strategy": "resolution", "logs_hold": "novel"}}
ON_MIXED_LOGS: dict[str, EstimateSettings] = {
    "mixed": {"strategy": "tree", "logs_hold": "mixed"},
    "taken as novel": {"strategy": "resolution", "logs_hold": "novel"},
}


def partitions(study: str) -> Iterator[tuple[DiscoveryTask, int]]:
    """Yield the tasks of a study, each with its ratio of new intents in percent."""
    for benchmark in PARTITIONS[study]:
        for ratio in RATIOS:
            for split in _splits(benchmark, ratio) if study == "splits" else PARTITION_SEEDS:
                yield load_partition(benchmark, ratio=ratio, split=split), ratio


def _splits(benchmark: str, ratio: int) -> list[int]:
    """The published splits; GID-CD has only one at ratio 60."""
    return [int(split) for split in facts("splits")["ood_classes"][benchmark][str(ratio)]]


def estimate_row(study: str, task: DiscoveryTask, ratio: int, encoder: Encoder) -> Row:
    """Return the true number of new intents of a task beside the estimates of all strategies."""
    corpus = task.observed_train
    x = frozen_vectors(encoder, corpus.texts).numpy()
    y = np.array([-1 if label is None else task.known.index(label) for label in corpus.labels], dtype=np.int64)
    known, logs = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    if study == "mixed":
        known, logs = _moved_to_logs(known, logs)
    row: Row = {"task": task.name, "ratio": ratio, "truth": len(task.new)}
    for name, settings in (ON_MIXED_LOGS if study == "mixed" else ON_NEW_LOGS).items():
        started = time.perf_counter()
        estimate = estimate_n_new(x[known], y[known], x[logs], **settings)
        seconds = round(time.perf_counter() - started, 1)
        row[name] = {"n_new": estimate.n_new, "low": estimate.low, "high": estimate.high, "seconds": seconds}
    if study != "mixed":
        row["drop"] = published_estimate(x[logs], round(len(logs) * len(task.known) / len(known)))
    return row


def published_estimate(logs: Vectors, expected: int) -> Row:
    """Return the estimate by the published rule (Zhang et al., AAAI 2021), and its range over draws.

    Over-cluster with k-means, and drop the clusters that are smaller than the mean.

    Args:
        logs: Vectors of the logs, [n, d].
        expected: How many new intents there would be if they were as large as known ones.
    """
    counts = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([0, draw])
        rows = logs[rng.permutation(len(logs))[: max(2, round(MAX_SHARE_OF_A_DRAW * len(logs)))]]
        start = min(2 * max(1, expected), len(rows))
        labels = kmeans(torch.from_numpy(rows), start, restarts=3, seed=int(rng.integers(2**31))).labels
        sizes = np.bincount(labels.numpy(), minlength=start)
        counts.append(float(max(1, (sizes >= len(rows) / start).sum())))
    return {"n_new": round(float(np.exp(np.median(np.log(counts))))), "low": min(counts), "high": max(counts)}


def _moved_to_logs(known: Ids, logs: Ids) -> tuple[Ids, Ids]:
    """Move labelled rows into the logs until these hold 30 % known utterances, but at most half of the labelled."""
    wanted = int(len(logs) * KNOWN_SHARE_OF_MIXED_LOGS / (1 - KNOWN_SHARE_OF_MIXED_LOGS))
    moved = np.random.default_rng(0).permutation(known)[: min(wanted, len(known) // 2)]
    return np.setdiff1d(known, moved), np.concatenate([logs, moved])


def measure(study: str, folder: Path) -> None:
    """Estimate on every task of a study that its file does not have yet."""
    encoder = study_encoder()
    path = folder / f"{study}-minilm.json"
    finished = {row["task"] for row in read_rows(path)}
    for task, ratio in partitions(study):
        if task.name in finished:
            continue
        row = estimate_row(study, task, ratio, encoder)
        append_row(path, row)
        estimates = {name: value["n_new"] for name, value in row.items() if isinstance(value, dict)}
        print(row["task"], row["truth"], estimates, flush=True)


def print_summary(folder: Path) -> None:
    """Print the mean absolute relative error of two strategies, and how often the interval has the truth."""
    lines = []
    for study, what in SUMMARISED.items():
        rows = read_rows(folder / f"{study}-minilm.json")
        for data, group in {**group_by_data(rows), "all": rows}.items():
            errors = [_mean_error(group, strategy) for strategy in ("resolution", "drop")]
            held = [row["resolution"]["low"] <= row["truth"] <= row["resolution"]["high"] for row in group]
            lines.append((what, data, *errors, f"{100 * statistics.fmean(held):.0f} %", str(len(group))))
    header = ("partitions", "data", "`resolution`", "published rule", "interval held the truth", "cases")
    print(as_markdown(header, lines))


def group_by_data(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each benchmark or data set; nothing if there is but one."""
    names = dict.fromkeys(row["task"].split("/")[0] for row in rows)
    return {n: [r for r in rows if r["task"].split("/")[0] == n] for n in names} if len(names) > 1 else {}


def _mean_error(rows: Sequence[Row], strategy: str) -> str:
    return f"{100 * statistics.fmean(abs(row[strategy]['n_new'] / row['truth'] - 1) for row in rows):.1f} %"


def main() -> None:
    """Run one of the studies, or print the summary of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=[*PARTITIONS, "summary"])
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result files")
    options = parser.parse_args()
    if options.study == "summary":
        print_summary(options.out)
    else:
        measure(options.study, options.out)


if __name__ == "__main__":
    main()
