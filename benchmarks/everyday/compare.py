"""Compare the version that always divided known and new (`before.jsonl`) with today's (`after.jsonl`).

python -m benchmarks.everyday.compare corpora
python -m benchmarks.everyday.compare accuracy
python -m benchmarks.everyday.compare number

Reads the files of `measure.py`. Only cases that both files have are compared; without labels there is nothing before.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from newfound.bench.studies import Row, read_rows

FOLDER = Path(__file__).parent
CASE = ("shape", "labels", "number", "seed")
LABELS = {"half": "half of its utterances", 10: "10", 5: "5", 0: "none"}
Rows = Sequence[Row]


def paired() -> tuple[list[Row], list[Row]]:
    """Return the rows before and after; of those with labels, the cases that both have."""
    before, after = read_rows(FOLDER / "before.jsonl"), read_rows(FOLDER / "after.jsonl")
    in_both = {tuple(r[name] for name in CASE) for r in before} & {tuple(r[name] for name in CASE) for r in after}
    return (
        [r for r in before if tuple(r[name] for name in CASE) in in_both],
        [r for r in after if not r["labels"] or tuple(r[name] for name in CASE) in in_both],
    )


def mean(rows: Rows, name: str) -> str:
    """Return the mean of a score, or a dash."""
    return f"{np.mean([r[name] for r in rows]):.1f}" if rows else "–"


def factor(rows: Rows) -> str:
    """Return by which factor the number is typically off."""
    off = np.log([max(r["found"], 0.5) / r["true"] for r in rows])
    return f"{math.exp(np.sqrt((off**2).mean())):.2f}" if rows else "–"


def near(rows: Rows) -> str:
    """Return how often the number is within 20 %, a fifth less or a quarter more."""
    return share(rows, lambda r: abs(math.log(max(r["found"], 0.5) / r["true"])) <= math.log(1.25))


def held(rows: Rows) -> str:
    """Return how often the interval held the truth."""
    return share(rows, lambda r: bool(r["low"] <= r["true"] <= r["high"]))


def share(rows: Rows, condition: Callable[[Row], bool]) -> str:
    """Return the share of rows of which a condition holds."""
    return f"{100 * np.mean([condition(r) for r in rows]):.0f} %" if rows else "–"


def line(cells: Sequence[str]) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def headed(first: Sequence[str], quantities: Sequence[str]) -> list[str]:
    """Return the head of a table with two columns for each quantity."""
    cells = [*first, *(f"{q}, before | now" for q in quantities)]
    return [line(cells), "|" + "---|" * (len(first) + 2 * len(quantities))]


def corpora() -> str:
    """Return a table of the corpora, ten labels for each known intent."""
    rows = [[r for r in version if r["labels"] == 10] for version in paired()]
    quantities = ["number found", "ALL ACC, number given", "ALL ACC, all automatic"]
    lines = headed(["corpus", "new intents"], quantities)
    for shape in dict.fromkeys(r["shape"] for r in rows[1]):
        cells = [shape, str(next(r["true"] for r in rows[1] if r["shape"] == shape))]
        auto, given = (
            [[r for r in v if r["shape"] == shape and r["number"] == n] for v in rows] for n in ("auto", "given")
        )
        cells += [", ".join(str(r["found"]) for r in version) or "–" for version in auto]
        cells += [mean(version, "all_acc") for version in (*given, *auto)]
        lines.append(line(cells))
    return "\n".join(lines)


def by_labels(quantities: dict[str, tuple[str, Callable[[Rows], str]]]) -> str:
    """Return a table over the numbers of labels; a quantity has the number `given` or `auto`, and a summary."""
    versions = paired()
    lines = headed(["labels for each known intent"], list(quantities))
    for labels, words in LABELS.items():
        cells = [words]
        for number, summary in quantities.values():
            cells += [summary([r for r in v if r["labels"] == labels and r["number"] == number]) for v in versions]
        lines.append(line(cells))
    return "\n".join(lines)


def accuracy() -> str:
    """Return a table of scores over the numbers of labels."""
    return by_labels(
        {
            "ALL ACC, number given": ("given", lambda rows: mean(rows, "all_acc")),
            "all automatic": ("auto", lambda rows: mean(rows, "all_acc")),
            "OOD ACC, all automatic": ("auto", lambda rows: mean(rows, "ood_acc")),
            "calibration error, number given": ("given", lambda rows: mean(rows, "ece")),
            "calibration error, all automatic": ("auto", lambda rows: mean(rows, "ece")),
        }
    )


def number() -> str:
    """Return a table of the estimated numbers over the numbers of labels."""
    return by_labels(
        {
            "typical factor of the number": ("auto", factor),
            "within 20 %": ("auto", near),
            "interval held the truth": ("auto", held),
        }
    )


if __name__ == "__main__":
    tables = {"corpora": corpora, "accuracy": accuracy, "number": number}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=tables)
    print(tables[parser.parse_args().table]())
