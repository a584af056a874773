"""Print the results of `measure.py` on everyday corpora as tables.

python -m benchmarks.everyday.summary corpora        each corpus, ten labels for each known intent
python -m benchmarks.everyday.summary accuracy       means over the corpora, by the number of labels
python -m benchmarks.everyday.summary number         how good the estimated numbers are
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.harness.studies import Row, read_rows
from benchmarks.harness.tables import Line, as_markdown

FOLDER = Path(__file__).parent
LABELS = {"half": "half of its utterances", 10: "10", 5: "5", 0: "none"}
HEADER_OF_LABELS = "labels for each known intent"
Rows = Sequence[Row]


def select(rows: Rows, **values: object) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def mean(rows: Rows, name: str) -> str:
    """Return the mean of a score."""
    return f"{np.mean([r[name] for r in rows]):.1f}"


def factor(rows: Rows) -> str:
    """Return by which factor the number is typically off."""
    off = np.log([max(r["found"], 0.5) / r["true"] for r in rows])
    return f"{math.exp(np.sqrt((off**2).mean())):.2f}"


def near(rows: Rows) -> str:
    """Return how often the number is within 20 %, a fifth less or a quarter more."""
    return share(rows, lambda r: abs(math.log(max(r["found"], 0.5) / r["true"])) <= math.log(1.25))


def held(rows: Rows) -> str:
    """Return how often the interval held the truth."""
    return share(rows, lambda r: bool(r["low"] <= r["true"] <= r["high"]))


def share(rows: Rows, condition: Callable[[Row], bool]) -> str:
    """Return the share of rows of which a condition holds."""
    return f"{100 * np.mean([condition(r) for r in rows]):.0f} %"


def corpora() -> tuple[Line, list[Line]]:
    """Return a table of the corpora, ten labels for each known intent."""
    rows = select(read_rows(FOLDER / "after.jsonl"), labels=10)
    lines: list[Line] = []
    for shape in dict.fromkeys(r["shape"] for r in rows):
        given, auto = (select(rows, shape=shape, number=number) for number in ("given", "auto"))
        found = ", ".join(str(r["found"]) for r in auto)
        scores = [mean(version, name) for version in (given, auto) for name in ("ood_acc", "all_acc")]
        lines.append((shape, str(given[0]["true"]), found, *scores))
    scored = ("OOD ACC, number given", "ALL ACC", "OOD ACC, number estimated", "ALL ACC")
    return ("corpus", "new intents", "estimates", *scored), lines


def accuracy() -> tuple[Line, list[Line]]:
    """Return a table of scores over the numbers of labels."""
    rows = read_rows(FOLDER / "after.jsonl")
    lines: list[Line] = []
    for labels, words in LABELS.items():
        versions = [select(rows, labels=labels, number=number) for number in ("given", "auto")]
        lines.append((words, *(mean(v, name) for name in ("ood_acc", "all_acc", "ece") for v in versions)))
    scores = ("OOD ACC", "ALL ACC", "calibration error")
    return (HEADER_OF_LABELS, *(f"{score}, number {n}" for score in scores for n in ("given", "estimated"))), lines


def number() -> tuple[Line, list[Line]]:
    """Return a table of the estimated numbers over the numbers of labels."""
    rows = select(read_rows(FOLDER / "after.jsonl"), number="auto")
    lines: list[Line] = []
    for labels, words in LABELS.items():
        own = select(rows, labels=labels)
        lines.append((words, factor(own), near(own), held(own)))
    return (HEADER_OF_LABELS, "typically off by a factor of", "within 20 %", "interval held the truth"), lines


if __name__ == "__main__":
    tables = {"corpora": corpora, "accuracy": accuracy, "number": number}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=tables)
    print(as_markdown(*tables[parser.parse_args().table]()))
