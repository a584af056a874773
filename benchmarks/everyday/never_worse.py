"""Compare results that differ in what was known: labels, the number of new intents, an encoder that was fine-tuned.

python -m benchmarks.everyday.never_worse

Who knows more should not get less: with labels the result is not below that without them, with the right number not
below the estimated one, with effort `standard` not below `quick`. Reads the files of `measure.py`. A corpus is below if
the mean difference of ALL ACC over partitions is negative by more than two standard errors and by more than one point.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from newfound.bench.studies import Row, read_rows

FOLDER = Path(__file__).parent
MIN_DIFFERENCE = 1.0  # points of ALL ACC
AFTER, TUNED = "after.jsonl", "tuned.jsonl"
CELL = ("labels", "number", "effort")
Cell = tuple[int | str, str, str]

COMPARISONS: tuple[tuple[str, str, Cell, Cell], ...] = (
    ("10 labels, number estimated / no labels, number given", AFTER, (10, "auto", "quick"), (0, "given", "quick")),
    ("10 labels / no labels, number given", AFTER, (10, "given", "quick"), (0, "given", "quick")),
    ("half of the labels / 10 labels, number given", AFTER, ("half", "given", "quick"), (10, "given", "quick")),
    ("number given / estimated, 10 labels", AFTER, (10, "given", "quick"), (10, "auto", "quick")),
    ("number given / estimated, half of the labels", AFTER, ("half", "given", "quick"), ("half", "auto", "quick")),
    ("number given / estimated, no labels", AFTER, (0, "given", "quick"), (0, "auto", "quick")),
    ("standard / quick, 10 labels", TUNED, (10, "given", "standard"), (10, "given", "quick")),
    ("standard / quick, half of the labels", TUNED, ("half", "given", "standard"), ("half", "given", "quick")),
)


def by_case(rows: Iterable[Row]) -> dict[str, dict[int, float]]:
    """Return ALL ACC by corpus and partition."""
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        scores[row["shape"]][row["seed"]] = row["all_acc"]
    return scores


def differences(rows: list[Row], more: Cell, less: Cell) -> dict[str, np.ndarray]:
    """Return the differences of ALL ACC on the partitions that both have, by corpus."""
    one, other = (by_case(r for r in rows if tuple(r[name] for name in CELL) == cell) for cell in (more, less))
    shared = {shape: sorted(one[shape].keys() & other[shape].keys()) for shape in one if shape in other}
    return {s: np.array([one[s][seed] - other[s][seed] for seed in seeds]) for s, seeds in shared.items() if seeds}


def is_below(found: np.ndarray) -> bool:
    """Whether a corpus got less, by more than noise."""
    error = found.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else 0.0
    return bool(found.mean() + 2 * error < 0 and found.mean() < -MIN_DIFFERENCE)


def table() -> str:
    """Return the comparisons as a Markdown table."""
    lines = ["| knows more / knows less | corpora | mean difference | below by more than noise |", "|---|---|---|---|"]
    for name, file, more, less in COMPARISONS:
        found = differences(read_rows(FOLDER / file), more, less)
        if not found:
            continue
        mean = np.mean([values.mean() for values in found.values()])
        below = [f"{shape} ({values.mean():+.1f})" for shape, values in found.items() if is_below(values)]
        lines.append(f"| {name} | {len(found)} | {mean:+.1f} | {', '.join(below) or 'none'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
