"""Tables from result files. A row whose cells are not all there shows blanks, never a mean over some of them."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from newfound.bench.cells import Cell, read_results
from newfound.bench.experiments import Column, Experiment, row_label
from newfound.bench.studies import Row, group_rows

Results = dict[Cell, dict[str, Any]]
Line = tuple[str, ...]
Format = Literal["terminal", "markdown", "latex", "csv"]


@dataclass(frozen=True, slots=True)
class Group:
    """The cells of one row of a table: one method and variant on one benchmark, over splits and seeds."""

    benchmark: str
    ratio: int
    method: str
    variant: str
    cells: tuple[Cell, ...]

    @property
    def data(self) -> str:
        return f"{self.benchmark} {self.ratio}%"

    @property
    def label(self) -> str:
        return row_label(self.method, self.variant)

    def values(self, results: Results, column: Column, protocol: str = "strict") -> list[float] | None:
        """One value per cell in their order; None unless every cell has one."""
        found = [_at(results.get(cell, {}), column, protocol) for cell in self.cells]
        return None if not found or any(value is None for value in found) else [float(v) for v in found]  # type: ignore[arg-type]


def groups_of(cells: Iterable[Cell]) -> list[Group]:
    by_row: dict[tuple[str, int, str, str], list[Cell]] = {}
    for cell in cells:
        by_row.setdefault((cell.benchmark, cell.ratio, cell.method, cell.variant), []).append(cell)
    return [Group(*key, tuple(members)) for key, members in by_row.items()]


def table(experiment: Experiment, cells: Sequence[Cell], root: Path) -> tuple[Line, list[Line]]:
    """Header and lines: benchmark, method, protocol where it matters, mean ± std of each column, number of runs."""
    results = read_results(cells, root)
    protocols = protocols_of(experiment)
    header = ("benchmark", "method", *(("protocol",) if protocols[0] else ()), *(c.header for c in experiment.columns))
    lines = []
    for group in groups_of(cells):
        runs = f"{sum(cell in results for cell in group.cells)}/{len(group.cells)}"
        for protocol in protocols:
            scores = [mean_std(group.values(results, column, protocol), column.digits) for column in experiment.columns]
            lines.append((group.data, group.label, *((protocol,) if protocol else ()), *scores, runs))
    return (*header, "runs"), lines


def table_of_rows(rows: Iterable[Row], by: Sequence[str], columns: Sequence[Column]) -> tuple[Line, list[Line]]:
    """Make a table of a study's rows: mean ± std of each column, blank unless every row of the group has a value.

    Args:
        rows: One per run.
        by: The fields whose values make a line of the table.
        columns: The numbers to show.
    """
    lines = []
    for key, group in group_rows(rows, by).items():
        means = []
        for column in columns:
            values = [value for row in group if (value := _at(row, column, "strict")) is not None]
            means.append(mean_std(values if len(values) == len(group) else None, column.digits))
        lines.append((*map(str, key), *means, str(len(group))))
    return (*by, *(column.header for column in columns), "runs"), lines


def protocols_of(experiment: Experiment) -> tuple[str, ...]:
    depends = any("{protocol}" in column.path for column in experiment.columns)
    return ("paper", "strict") if depends else ("",)


def comparisons(experiment: Experiment, cells: Sequence[Cell], root: Path) -> list[str]:
    """On each benchmark the best method against the second, by a paired test over the same splits and seeds."""
    from scipy.stats import wilcoxon

    if not experiment.compares:
        return []
    results = read_results(cells, root)
    said = []
    for data in dict.fromkeys(group.data for group in groups_of(cells)):
        scored = [(g.label, g.values(results, experiment.shown)) for g in groups_of(cells) if g.data == data]
        whole = sorted(((statistics.fmean(v), label, v) for label, v in scored if v), reverse=True)[:2]
        if len(whole) < 2 or len(whole[0][2]) < 2:
            continue
        (_, best, a), (_, second, b) = whole
        differences = [x - y for x, y in zip(a, b, strict=True)]
        p = float(wilcoxon(differences).pvalue) if any(differences) else 1.0
        said.append(
            f"{data}, strict {experiment.shown.header}: {best} over {second} by {statistics.fmean(differences):.1f} "
            f"points, p = {p:.3f} (Wilcoxon signed-rank, {len(a)} pairs of the same split and seed)"
        )
    return said


def mean_std(values: list[float] | None, digits: int = 1) -> str:
    if values is None:
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.fmean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def _at(result: dict[str, Any], column: Column, protocol: str) -> float | None:
    value: Any = result
    for key in column.path:
        value = value.get(protocol if key == "{protocol}" else key) if isinstance(value, dict) else None
    return None if value is None else float(value)


def as_markdown(header: Line, lines: Sequence[Line]) -> str:
    rows = [header, tuple("---" for _ in header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def as_latex(header: Line, lines: Sequence[Line]) -> str:
    """For the package booktabs."""

    def row(fields: Line) -> str:
        escaped = (f.replace("%", r"\%").replace("_", r"\_").replace("γ", r"$\gamma$") for f in fields)
        return " & ".join(f.replace("±", r"$\pm$") for f in escaped) + r" \\"

    words = sum(name in ("benchmark", "method", "protocol") for name in header)
    columns = "l" * words + "r" * (len(header) - words)
    body = [r"\begin{tabular}{" + columns + "}", r"\toprule", row(header), r"\midrule", *map(row, lines)]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}"])


def as_csv(header: Line, lines: Sequence[Line]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue().rstrip("\n")
