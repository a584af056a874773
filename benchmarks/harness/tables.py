"""Tables from result files. A row says how many of its runs have a result; one without any is left out."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.harness.cells import VARIANTS, Cell, read_results
from benchmarks.harness.experiments import Column, Experiment, row_label
from benchmarks.harness.studies import Row, group_rows

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
    tune: str  # how much of the encoder trains
    cells: tuple[Cell, ...]  # one for each split and seed

    @property
    def data(self) -> str:
        """Benchmark and share of new intents."""
        return f"{self.benchmark} {self.ratio}%"

    @property
    def label(self) -> str:
        """Method, effort and variant."""
        return row_label(self.method, self.variant, self.tune)

    def runs(self, results: Results) -> int:
        """Return how many cells have a result."""
        return sum(cell in results for cell in self.cells)

    def is_complete(self, results: Results) -> bool:
        """Return whether every cell has a result."""
        return self.runs(results) == len(self.cells)

    def values(self, results: Results, column: Column, protocol: str = "strict") -> list[float]:
        """Return the values of the cells that have one, in their order."""
        values = (number_of(results.get(cell, {}), column, protocol) for cell in self.cells)
        return [value for value in values if value is not None]


def groups_of(cells: Iterable[Cell]) -> list[Group]:
    """Return the rows of a table over these cells, in their order."""
    by_row: dict[tuple[str, int, str, str, str], list[Cell]] = {}
    for cell in cells:
        by_row.setdefault((cell.benchmark, cell.ratio, cell.method, cell.variant, cell.tune), []).append(cell)
    return [Group(*key, tuple(members)) for key, members in by_row.items()]


def table(experiment: Experiment, cells: Sequence[Cell], root: Path) -> tuple[Line, list[Line]]:
    """Return the table of an experiment: mean ± std of each column over the runs that there are, and their number."""
    results = read_results(cells, root)
    protocols = protocols_of(experiment)
    header = ("benchmark", "method", *(("protocol",) if protocols[0] else ()), *(c.header for c in experiment.columns))
    lines = []
    for group in groups_of(cells):
        runs = f"{group.runs(results)}/{len(group.cells)}"
        for protocol in protocols if group.runs(results) else ():
            scores = [mean_std(group.values(results, column, protocol), column.digits) for column in experiment.columns]
            lines.append((group.data, group.label, *((protocol,) if protocol else ()), *scores, runs))
    return (*header, "runs"), lines


def missing_runs(cells: Sequence[Cell], results: Results) -> str:
    """Return which rows have no run at all, with their benchmarks; an empty text if there are none."""
    benchmarks: dict[str, list[str]] = {}
    for group in groups_of(cells):
        if not group.runs(results):
            benchmarks.setdefault(group.label, []).append(group.data)
    return "; ".join(f"{label} ({', '.join(data)})" for label, data in benchmarks.items())


def table_of_rows(rows: Iterable[Row], by: Sequence[str], columns: Sequence[Column]) -> tuple[Line, list[Line]]:
    """Return the table of a study: mean ± std of each column, a dash unless every row of a group has a value."""
    lines = []
    for key, group in group_rows(rows, by).items():
        means = []
        for column in columns:
            values = [value for row in group if (value := number_of(row, column, "strict")) is not None]
            means.append(mean_std(values if len(values) == len(group) else [], column.digits))
        lines.append((*map(str, key), *means, str(len(group))))
    return (*by, *(column.header for column in columns), "runs"), lines


def protocols_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the protocols of an experiment's columns; one empty name if they do not depend on the protocol."""
    depends = any("{protocol}" in column.path for column in experiment.columns)
    return ("paper", "strict") if depends else ("",)


def level_of(experiment: Experiment, group: Group) -> float | None:
    """Return where a row is on the axis of an experiment over levels or ratios; None for one beside the levels."""
    if experiment.figure == "ratios":
        return float(group.ratio)
    return experiment.default_level if group.variant == "default" else VARIANTS[group.variant].level


def comparisons(experiment: Experiment, cells: Sequence[Cell], root: Path) -> list[str]:
    """Compare the best with the second best method on each benchmark by a paired test, in one sentence each."""
    from scipy.stats import wilcoxon

    if not experiment.compares:
        return []
    results = read_results(cells, root)
    sentences = []
    for data in dict.fromkeys(group.data for group in groups_of(cells)):
        groups = [group for group in groups_of(cells) if group.data == data and group.is_complete(results)]
        scored = [(group.label, group.values(results, experiment.shown)) for group in groups]
        best_two = sorted(((statistics.fmean(values), label, values) for label, values in scored), reverse=True)[:2]
        if len(best_two) < 2 or len(best_two[0][2]) < 2:
            continue
        (_, best, a), (_, second, b) = best_two
        differences = [round(x - y, 4) for x, y in zip(a, b, strict=True)]  # as results are: ties stay ties
        p = float(wilcoxon(differences).pvalue) if any(differences) else 1.0
        sentences.append(
            f"{data}, strict {experiment.shown.header}: {best} over {second} by {statistics.fmean(differences):.1f} "
            f"points, p = {p:.3f} (Wilcoxon signed-rank, {len(a)} pairs of the same split and seed)"
        )
    return sentences


def mean_std(values: Sequence[float], digits: int = 1) -> str:
    """Return mean ± sample standard deviation as text; of one value the value, of none a dash."""
    if not values:
        return "–"
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
