"""Measure the expected calibration error of the default recipe, with a frozen encoder.

python benchmarks/messy/calibration.py      prints a table

A prediction is correct as in the strict protocol: known intents exactly, new ones through their matching.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from newfound.algorithms.metrics import calibration_error
from newfound.bench.cells import Cell, task_of
from newfound.bench.running import fit_cell
from newfound.bench.scoring import strictly_correct
from newfound.bench.studies import study_encoder
from newfound.bench.tables import Line, as_markdown
from newfound.data.demo_corpus import load_demo
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder

DEMO = "demo"
HEADER = ("data", "accuracy", "mean probability", "calibration error", "of known", "of new")


def planned(benchmarks: list[str]) -> Iterator[tuple[Cell, DiscoveryTask]]:
    """Yield the cells of the study with their data: logs of new intents only, one split and seed each."""
    for benchmark in benchmarks:
        cell = Cell("consensus", benchmark, 40, 1, 0, "minilm", "heads")
        yield cell, load_demo() if benchmark == DEMO else task_of(cell)


def calibration_line(cell: Cell, task: DiscoveryTask, encoder: Encoder) -> Line:
    """Fit the recipe on a task and return a line of the table, in percent."""
    probabilities = fit_cell(cell, encoder, "cpu", task).predict_proba(task.test.texts)
    probability, predicted = probabilities.max(1), probabilities.argmax(1).astype(np.int64)
    gold = task.gold_ids(task.test)
    correct = strictly_correct(gold, predicted, len(task.known))
    is_new = gold >= len(task.known)
    errors = [calibration_error(probability[rows], correct[rows]) for rows in (is_new | ~is_new, ~is_new, is_new)]
    values = [100 * float(correct.mean()), 100 * float(probability.mean()), *errors]
    return (task.name, *(f"{value:.1f}" for value in values))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=f"{DEMO},GID-SD,GID-CD,GID-MD", help="the demo corpus, and benchmarks")
    options = parser.parse_args()
    encoder = study_encoder()
    lines = [calibration_line(cell, task, encoder) for cell, task in planned(options.data.split(","))]
    print(as_markdown(HEADER, lines))


if __name__ == "__main__":
    main()
