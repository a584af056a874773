"""What is said of an effort is what the results show."""

from __future__ import annotations

import statistics
from itertools import product
from pathlib import Path

from newfound.bench.cells import Cell, read_results
from newfound.workflows.fitting import DEFAULT_EFFORT_NOTES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def accuracy_on_new_intents(benchmark: str, tune: str, variant: str) -> float:
    """The mean over splits and seeds, by the paper's protocol."""
    runs = product((1, 2, 3), (0, 1, 2))
    cells = [Cell("consensus", benchmark, 40, split, seed, "minilm", tune, variant) for split, seed in runs]
    results = read_results(cells, RESULTS)
    assert len(results) == len(cells)
    return statistics.fmean(result["scores"]["paper"]["ood_acc"] for result in results.values())


def test_standard_is_better_on_as_many_benchmarks_as_is_said():
    gains = [
        accuracy_on_new_intents(benchmark, "layers", "standard")
        - accuracy_on_new_intents(benchmark, "heads", "default")
        for benchmark in ("GID-SD", "GID-CD", "GID-MD")
    ]
    assert sum(gain > 1 for gain in gains) == 2  # a point; less is within the spread over splits and seeds
    assert "better on two of three benchmarks, and not on the third" in DEFAULT_EFFORT_NOTES["quick"]
