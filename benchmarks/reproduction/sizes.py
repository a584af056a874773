"""The paper's tables 5 and 6 from the data: sizes of data sets and benchmarks. Brackets: printed otherwise."""

from __future__ import annotations

import statistics

from benchmarks.harness.datasets import PARTS, SETS, read_part
from benchmarks.harness.experiments import ALL_BENCHMARKS
from benchmarks.harness.partitions import facts, load_benchmark
from benchmarks.harness.tables import Line


def size_of_data_set(name: str) -> list[str]:
    """Return a line of table 5; words are what white space separates, in all parts."""
    parts = [read_part(name, part) for part in PARTS]
    words = [text.split() for part in parts for text in part.texts]
    lengths = [len(text) for text in words]
    vocabulary = len({word for text in words for word in text})
    length = f"{max(lengths)} / {statistics.fmean(lengths):.2f}"
    return [*map(str, (len(parts[0].intents), *map(len, parts), vocabulary)), length]


def size_of_benchmark(name: str) -> list[str]:
    """Return a line of table 6: known / new intents, and their rows in each part; means of the three splits."""
    tasks = [load_benchmark(name, split=split) for split in (1, 2, 3)]
    line = [f"{len(tasks[0].known)} / {len(tasks[0].new)}"]
    for part in PARTS:
        rows = [(task, getattr(task, part).labels) for task in tasks]
        known, new = ([sum((label in t.known) is side for label in y) for t, y in rows] for side in (True, False))
        line.append(f"{statistics.fmean(known):.0f} / {statistics.fmean(new):.0f}")
    return line


def table_of_sizes(name: str) -> tuple[Line, list[Line]]:
    """Return `table-5` or `table-6`."""
    size, names = {"table-5": (size_of_data_set, tuple(SETS)), "table-6": (size_of_benchmark, ALL_BENCHMARKS)}[name]
    printed = facts("published")["sizes"][name]
    lines = []
    for row in names:
        pairs = zip(size(row), printed["lines"][row], strict=True)
        lines.append((row, *(own if own == other else f"{own} ({other})" for own, other in pairs)))
    return tuple(printed["header"]), lines
