"""The README's table: one protocol, three benchmarks, ALL ACC and OOD F1 of every method, the best of a column bold.

python -m benchmarks.reproduction.summary
"""

from __future__ import annotations

import statistics
from itertools import product
from pathlib import Path

from benchmarks.harness.cells import Cell, read_results
from benchmarks.harness.experiments import ALL_BENCHMARKS
from benchmarks.harness.partitions import facts
from benchmarks.harness.tables import as_markdown, mean_std

ROOT = Path(__file__).parent.parent / "results"
ROWS = (  # what the table says, and the method, what trains and the variant of the result files
    ("k-means", "kmeans", "last", "default"),
    ("DeepAligned", "deepaligned", "last", "default"),
    ("E2E", "e2e", "last", "default"),
    ("DPL", "dpl", "last", "default"),
    ("**consensus**, encoder frozen (`quick`)", "consensus", "heads", "default"),
    ("**consensus**, all layers fine-tuned (GPU)", "consensus", "layers", "standard"),
)
SCORES = ("ood_f1", "all_acc")


def values_of(method: str, tune: str, variant: str, benchmark: str) -> dict[str, list[float]]:
    """Return the scores of all runs of a row on a benchmark with 40 % new intents, by the paper's protocol."""
    runs = product((1, 2, 3), (0, 1, 2))
    cells = [Cell(method, benchmark, 40, split, seed, "minilm", tune, variant) for split, seed in runs]
    results = read_results(cells, ROOT).values()
    return {score: [result["scores"]["paper"][score] for result in results] for score in SCORES}


def lines() -> list[tuple[str, ...]]:
    """Return the lines of the table: measured ones with the best of a column bold, then the published one."""
    means, shown = [], []
    for title, method, tune, variant in ROWS:
        cells = [values_of(method, tune, variant, benchmark)[score] for benchmark in ALL_BENCHMARKS for score in SCORES]
        means.append([round(statistics.fmean(cell), 1) for cell in cells])
        shown.append([title, *map(mean_std, cells)])
    best = [max(column) for column in zip(*means, strict=True)]
    for line, mean in zip(shown, means, strict=True):
        line[1:] = [f"**{text}**" if m == b else text for text, m, b in zip(line[1:], mean, best, strict=True)]
    published = facts("published")["scores"]
    printed = [f"{published[benchmark]['dpl'][score]:.1f}" for benchmark in ALL_BENCHMARKS for score in SCORES]
    return [*map(tuple, shown), ("DPL as the paper prints it (BERT-base)", *printed)]


if __name__ == "__main__":
    names = {"ood_f1": "F1 of new intents", "all_acc": "accuracy, all"}
    header = ("method", *(f"{benchmark}: {names[score]}" for benchmark in ALL_BENCHMARKS for score in SCORES))
    print(as_markdown(header, lines()))
