"""Measure how well the certainty of a new intent follows its purity, on class partitions that nobody published.

python -m benchmarks.certainty.measure [--partitions 1000,1001] [--mixed 0.3]     appends to certainty.jsonl
python -m benchmarks.certainty.measure --table correlations | bands               prints a table

A row is one new intent that was found. Its purity is the share of its utterances from the logs that have its most
frequent gold label. The first table has Spearman's rank correlation of purity and each measure over the intents of a
run, averaged over the runs; 1 means that the measure ranks the intents as their purity does. `neighbours` is the share
of the nearest utterances that have the same intent. The second table has the purity of intents by their certainty.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from benchmarks.harness.cells import with_condition
from benchmarks.harness.conditions import Condition
from benchmarks.harness.datasets import SETS
from benchmarks.harness.partitions import fresh_task
from benchmarks.harness.studies import Row, append_row, group_rows, read_rows, study_encoder, whole_numbers
from benchmarks.harness.tables import Line, as_markdown
from scipy.stats import spearmanr

from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.intents.description import IntentDescriber
from newfound.methods.consensus import Consensus

RESULTS = Path(__file__).parent / "certainty.jsonl"
OOD_RATIO = 0.4
IMPURE = 0.7  # purity below which a person would split an intent
BANDS = (0.0, 0.7, 0.8, 0.9, 0.95, 1.01)  # of certainty
MEASURES = ("certainty", "neighbours", "certainty x neighbours", "size")


def rows_of(task: DiscoveryTask, encoder: Encoder, mixed: float) -> Iterator[Row]:
    """Fit the default method and yield a row for each new intent."""
    corpus = task.observed_train
    model = Consensus(encoder=encoder, tune="heads", device="cpu").fit(corpus.texts, corpus.labels).model_
    statuses = {intent.name: intent.status for intent in model.intents}
    describer = IntentDescriber(statuses, model.utterances, model.utterance_vectors, lambda: torch.empty(0))
    for number, intent in enumerate(model.intents):
        rows = [i for i in describer.rows(number) if not model.utterances[i].labelled]
        if intent.known or not rows:
            continue
        gold = Counter(task.train.labels[i] for i in rows)
        neighbours = float(describer.overlap[number, number])
        certainty = describer.summary(number).certainty or 0.0
        yield {
            "task": task.name,
            "mixed": mixed,
            "intent": intent.name,
            "size": len(rows),
            "purity": round(max(gold.values()) / len(rows), 4),
            "certainty": certainty,
            "neighbours": round(neighbours, 4),
        }


def values(rows: list[Row], measure: str) -> list[float]:
    """Return a measure of each row; a product of two measures has a cross in its name."""
    parts = measure.split(" x ")
    return [float(np.prod([row[part] for part in parts])) for row in rows]


def correlation(rows: list[Row], measure: str) -> float:
    """Return Spearman's rank correlation of a measure with purity."""
    return float(spearmanr(values(rows, measure), values(rows, "purity")).statistic)


def table(rows: list[Row]) -> list[Line]:
    """Return a line for each data set and condition."""
    for row in rows:
        row["data"] = row["task"].partition("/")[0]
    lines = []
    for (data, mixed), group in group_rows(rows, ("data", "mixed")).items():
        runs = list(group_rows(group, ("task",)).values())
        means = [f"{np.mean([correlation(run, measure) for run in runs]):.2f}" for measure in MEASURES]
        lines.append((data, f"{mixed:g}", str(len(runs)), str(len(group)), *means))
    return lines


def bands(rows: list[Row]) -> list[Line]:
    """Return a line for each range of certainty: how many intents are in it, and how pure they are."""
    lines: list[Line] = []
    for low, high in pairwise(BANDS):
        inside = [row["purity"] for row in rows if low <= row["certainty"] < high]
        if inside:
            name = f"below {100 * high:.0f} %" if not low else f"{100 * low:.0f} to {100 * min(high, 1):.0f} %"
            impure = sum(purity < IMPURE for purity in inside)
            mean, share = f"{100 * np.mean(inside):.0f} %", f"{impure} ({100 * impure / len(inside):.0f} %)"
            lines.append((name, str(len(inside)), mean, share))
    return lines


def main() -> None:
    """Fit on every partition, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--partitions", type=whole_numbers, default=list(range(1000, 1005)), help="seeds of the partitions"
    )
    parser.add_argument("--mixed", type=float, default=0.3, help="share of the logs that belongs to known intents")
    parser.add_argument("--table", choices=["correlations", "bands"], help="print one table and fit nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the result file")
    options = parser.parse_args()
    finished = {(row["task"], row["mixed"]) for row in read_rows(options.out)}
    if not options.table:
        encoder = study_encoder()
        for dataset in SETS:
            for seed in options.partitions:
                task = fresh_task(dataset, ood_ratio=OOD_RATIO, seed=seed)
                task = with_condition(task, Condition(mixed=options.mixed), seed=seed)
                if (task.name, options.mixed) in finished:
                    continue
                for row in list(rows_of(task, encoder, options.mixed)):
                    append_row(options.out, row)
                print(task.name, flush=True)
    rows = read_rows(options.out)
    if options.table != "bands":
        print(as_markdown(("data", "known in the logs", "runs", "new intents", *MEASURES), table(rows)))
    if options.table != "correlations":
        print(as_markdown(("certainty", "new intents", "mean purity", f"of purity below {IMPURE:.0%}"), bands(rows)))


if __name__ == "__main__":
    main()
