"""Tables from result files. A row that lacks the result of some cell is blank; no mean is taken over a part of them."""

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
    """The cells of one row of a table, over splits and seeds."""

    benchmark: str
    ratio: int  # share of new intents, in percent
    method: str
    variant: str
    cells: tuple[Cell, ...]  # one for each split and seed

    @property
    def data(self) -> str:
        """Benchmark and share of new intents."""
        return f"{self.benchmark} {self.ratio}%"

    @property
    def label(self) -> str:
        """Method and variant."""
        return row_label(self.method, self.variant)

    def values(self, results: Results, column: Column, protocol: str = "strict") -> list[float] | None:
        """Return one value per cell, in their order; None unless every cell has one."""
        values = [number_of(results.get(cell, {}), column, protocol) for cell in self.cells]
        complete = [value for value in values if value is not None]
        return complete if complete and len(complete) == len(values) else None


def groups_of(cells: Iterable[Cell]) -> list[Group]:
    """Return the rows of a table over these cells, in their order."""
    by_row: dict[tuple[str, int, str, str], list[Cell]] = {}
    for cell in cells:
        by_row.setdefault((cell.benchmark, cell.ratio, cell.method, cell.variant), []).append(cell)
    return [Group(*key, tuple(members)) for key, members in by_row.items()]


def table(experiment: Experiment, cells: Sequence[Cell], root: Path) -> tuple[Line, list[Line]]:
    """Return the table of an experiment: mean ± std of each column, and the number of runs."""
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
    """Return the table of a study: mean ± std of each column, blank unless every row of a group has a value."""
    lines = []
    for key, group in group_rows(rows, by).items():
        means = []
        for column in columns:
            values = [value for row in group if (value := number_of(row, column, "strict")) is not None]
            means.append(mean_std(values if len(values) == len(group) else None, column.digits))
        lines.append((*map(str, key), *means, str(len(group))))
    return (*by, *(column.header for column in columns), "runs"), lines


def protocols_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the protocols of an experiment's columns; one empty name if they do not depend on the protocol."""
    depends = any("{protocol}" in column.path for column in experiment.columns)
    return ("paper", "strict") if depends else ("",)


def comparisons(experiment: Experiment, cells: Sequence[Cell], root: Path) -> list[str]:
    """Compare the best with the second best method on each benchmark by a paired test, in one sentence each."""
    from scipy.stats import wilcoxon

    if not experiment.compares:
        return []
    results = read_results(cells, root)
    sentences = []
    for data in dict.fromkeys(group.data for group in groups_of(cells)):
        scored = [(g.label, g.values(results, experiment.shown)) for g in groups_of(cells) if g.data == data]
        best_two = sorted(((statistics.fmean(v), label, v) for label, v in scored if v), reverse=True)[:2]
        if len(best_two) < 2 or len(best_two[0][2]) < 2:
            continue
        (_, best, a), (_, second, b) = best_two
        differences = [x - y for x, y in zip(a, b, strict=True)]
        p = float(wilcoxon(differences).pvalue) if any(differences) else 1.0
        sentences.append(
            f"{data}, strict {experiment.shown.header}: {best} over {second} by {statistics.fmean(differences):.1f} "
            f"points, p = {p:.3f} (Wilcoxon signed-rank, {len(a)} pairs of the same split and seed)"
        )
    return sentences


def mean_std(values: list[float] | None, digits: int = 1) -> str:
    """Return mean ± sample standard deviation as text; of one value the value, of None nothing."""
    if values is None:
        return ""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.fmean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def number_of(result: dict[str, Any], column: Column, protocol: str) -> float | None:
    """Return the number of a column in a result; None if the result does not have it."""
    value: Any = result
    for key in column.path:
        value = value.get(protocol if key == "{protocol}" else key) if isinstance(value, dict) else None
    return None if value is None else float(value)


def as_markdown(header: Line, lines: Sequence[Line]) -> str:
    """Return a table as Markdown."""
    rows = [header, tuple("---" for _ in header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def as_latex(header: Line, lines: Sequence[Line]) -> str:
    """Return a table as LaTeX for the package booktabs."""

    def row(fields: Line) -> str:
        escaped = (f.replace("%", r"\%").replace("_", r"\_").replace("γ", r"$\gamma$") for f in fields)
        return " & ".join(f.replace("±", r"$\pm$") for f in escaped) + r" \\"

    n_names = sum(name in ("benchmark", "method", "protocol") for name in header)
    columns = "l" * n_names + "r" * (len(header) - n_names)
    body = [r"\begin{tabular}{" + columns + "}", r"\toprule", row(header), r"\midrule", *map(row, lines)]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}"])


def as_csv(header: Line, lines: Sequence[Line]) -> str:
    """Return a table as comma-separated values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue().rstrip("\n")
