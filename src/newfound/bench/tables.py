"""Tables from result files. A row whose cells are not all there shows blanks, never a mean over some of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from newfound.bench.cells import Cell, read_results

COLUMNS = {
    "ind_acc": "IND ACC",
    "ood_acc": "OOD ACC",
    "ood_f1": "OOD F1",
    "all_acc": "ALL ACC",
    "all_f1": "ALL F1",
}
Row = tuple[str, ...]


def main_rows(cells: Sequence[Cell], root: Path) -> tuple[Row, list[Row]]:
    """Header and rows: benchmark, method, protocol, five scores as mean ± std, and how many runs there are."""
    results = read_results(cells, root)
    header = ("benchmark", "method", "protocol", *COLUMNS.values(), "runs")
    rows = []
    groups = dict.fromkeys((cell.benchmark, cell.ratio, cell.method) for cell in cells)
    for benchmark, ratio, method in groups:
        wanted = [c for c in cells if (c.benchmark, c.ratio, c.method) == (benchmark, ratio, method)]
        there = [results[c] for c in wanted if c in results]
        runs = f"{len(there)}/{len(wanted)}"
        for protocol in ("paper", "strict"):
            scores = [_mean_std(there, protocol, c) if len(there) == len(wanted) else "" for c in COLUMNS]
            rows.append((f"{benchmark} {ratio}%", method, protocol, *scores, runs))
    return header, rows


def _mean_std(results: list[dict[str, Any]], protocol: str, column: str) -> str:
    values = [result["scores"][protocol][column] for result in results]
    if any(value is None for value in values):
        return ""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.1f} ± {spread:.1f}"


def as_markdown(header: Row, rows: list[Row]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
