"""The paper's tables and figures beside ours, from the result files, with a verdict on each claim.

python -m benchmarks.reproduction.page [--markdown docs/reproduction.md]

The figures are written to `images/<name of the page>` beside the page. Sections whose results were measured on other
code than today's say so, and are listed.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.cells import Cell, read_results
from benchmarks.harness.experiments import EXPERIMENTS, SCORES, SPEED, Column, Experiment, row_label
from benchmarks.harness.partitions import facts
from benchmarks.harness.plots import draw
from benchmarks.harness.tables import (
    Group,
    Results,
    as_markdown,
    comparisons,
    groups_of,
    level_of,
    mean_std,
    missing_runs,
    number_of,
)
from benchmarks.reproduction.claims import SURVIVES, Claim, judged_claims
from benchmarks.reproduction.judging import Judgement
from benchmarks.stale import STALE_LINE, is_stale

from newfound.errors import DataError
from newfound.files import write_atomically

SECOND_ENCODER = "mpnet"  # its table `main` is shown after the first one's
COLUMNS_OF_THE_PAPER = tuple(column for column in SCORES if column.header in ("OOD ACC", "OOD F1", "ALL F1"))
TEXTS = dict(part.split("\n", 1) for part in Path(__file__).with_name("texts.md").read_text("utf-8").split("\n# ")[1:])
SPEED_ON_CPU = Path(__file__).parents[1] / "speed" / "cpu-dpl-gid-sd-minilm-last.json"
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment with one encoder, and the results that it has."""

    experiment: Experiment
    cells: list[Cell]  # all of them
    results: Results  # of those that were run
    root: Path
    command: str  # that runs what is missing

    @property
    def groups(self) -> list[Group]:
        """The rows that have results."""
        return [group for group in groups_of(self.cells) if group.runs(self.results)]

    def label(self, group: Group) -> str:
        """Return what a row is called, with the number of its runs if some are missing."""
        return group.label + self._runs_if_incomplete(group)

    def value(self, group: Group, column: Column, protocol: str = "strict") -> str:
        """Return the number of a row in a column."""
        return mean_std(group.values(self.results, column, protocol), column.digits)

    def value_with_runs(self, group: Group) -> str:
        """Return the number that figures show, with the number of runs if some are missing."""
        return self.value(group, self.experiment.shown) + self._runs_if_incomplete(group)

    def _runs_if_incomplete(self, group: Group) -> str:
        runs = group.runs(self.results)
        return "" if runs == len(group.cells) else f" ({runs} of {len(group.cells)} runs)"


def write_markdown(root: Path, path: Path, *, encoder: str, tune: str) -> Path:
    """Write the page as one Markdown file, with its figures in `images/<name of the file>` beside it."""

    def study(experiment: Experiment, encoder: str) -> Study:
        cells = experiment.cells(encoder, tune)
        command = f"python -m benchmarks run {experiment.name} --encoder {encoder} --tune {tune}"
        return Study(experiment, cells, read_results(cells, root), root, command)

    studies = [study(experiment, encoder) for experiment in EXPERIMENTS.values() if experiment.in_report]
    results = {cell: result for found in studies for cell, result in found.results.items()}
    if not results:
        raise DataError(
            f"{root}: no results for encoder {encoder} with tune {tune}; `python -m benchmarks run main` makes some"
        )
    second = study(EXPERIMENTS["main"], SECOND_ENCODER)
    figures = Path("images") / path.stem
    random = [cell for e in EXPERIMENTS.values() for cell in e.at_random_start().cells(encoder, tune)]
    parts = [
        *_introduction(results | second.results, encoder, tune),
        *_claims(results | read_results(random, root), tune),
    ]
    if encoder == "minilm":
        parts += _released_code(results)
    for found in studies:
        parts += _section(found, path.parent, figures)
        if found.experiment.name == "main" and encoder != SECOND_ENCODER:
            parts += _section(second, path.parent, figures)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, ("\n\n".join(parts) + "\n").encode())
    return path


def _introduction(results: Results, encoder: str, tune: str) -> list[str]:
    hardware = sorted({str(result.get("hardware")) for result in results.values()})
    commits = sorted({str(result["commit"])[:7] for result in results.values() if result.get("commit")})
    return [
        "# Reproduction of the paper",
        "<!-- Written by benchmarks/reproduction/page.py from the result files. -->",
        TEXTS["introduction"].format(
            runs=len(results), hardware="; ".join(hardware), commits=", ".join(commits), encoder=encoder, tune=tune
        ),
        *_note_if_old("introduction", results.values()),
    ]


def _claims(results: Results, tune: str) -> list[str]:
    own = {cell: result for cell, result in results.items() if cell.tune == tune}
    judged, tests = judged_claims(own)
    return [
        "## The paper's claims",
        TEXTS["claims"].format(tests=tests, mark=SURVIVES),
        _table_of_claims(judged),
        *_line_if_stale(own.values()),
    ]


def _note_if_old(name: str, results: Iterable[dict[str, Any]]) -> list[str]:
    """Return the note on results from before presets had the released code's start, which is a setting since then."""
    is_old = any("layer_std" not in r["settings"] for r in results if r.get("settings") and r["method"] == "dpl")
    return [TEXTS[f"old-{name}"]] if is_old and f"old-{name}" in TEXTS else []


def _line_if_stale(results: Iterable[dict[str, Any]]) -> list[str]:
    """Return the line that says that results were measured on other code, if they were."""
    return [STALE_LINE] if is_stale(results) else []


def _table_of_claims(judged: Sequence[tuple[Claim, Judgement, Judgement | None]]) -> str:
    lines = [(claim.where, claim.text, _verdict(own), _verdict(random)) for claim, own, random in judged]
    return as_markdown(("where", "claim", "from newfound's start", "from the paper's random start"), lines)


def _verdict(judgement: Judgement | None) -> str:
    return "–" if judgement is None else f"**{judgement.verdict}**: {judgement.evidence}"


def _released_code(results: Results) -> list[str]:
    """Return the scores of the authors' code, with those of newfound's preset and default on the same splits."""
    shown, header, lines = released_code(results)
    published = facts("published")["released_code"]
    return [
        "## The released code with the same encoder",
        TEXTS["released"].format(source=published["source"]),
        as_markdown(header, lines),
        *_line_if_stale(shown),
        *_note_if_old("released", shown),
        TEXTS["trials"],
        _printed_table(published["trials"]),
        TEXTS["after-trials"],
    ]


def released_code(results: Results) -> tuple[list[dict[str, Any]], tuple[str, ...], list[tuple[str, ...]]]:
    """Return the results of newfound that are shown beside those of the authors' code, and the table of both."""
    published = facts("published")["released_code"]
    own = {"preset `released`": "released", "default": "default"}
    lines, shown = [], []
    for line in _shown(published["lines"]):
        means = []
        for variant in own.values():
            cells = [Cell("dpl", "GID-SD", 40, int(line[0]), seed, "minilm", "last", variant) for seed in range(3)]
            found = [results[cell] for cell in cells if cell in results]
            means.append(mean_std([result["scores"]["strict"]["ood_acc"] for result in found]))
            shown += found
        lines.append((*line, *means))
    return shown, (*published["header"], *(f"OOD ACC of newfound's {name}" for name in own)), lines


def _shown(lines: list[list[Any]]) -> list[tuple[str, ...]]:
    return [tuple(f"{v:g}" if isinstance(v, int | float) else v for v in line) for line in lines]


def _printed_table(entry: dict[str, Any]) -> str:
    """Return an entry of the file of published numbers as a table."""
    return as_markdown(tuple(entry["header"]), _shown(entry["lines"]))


def _section(study: Study, folder: Path, figures: Path) -> list[str]:
    """Return the heading, the tables and the figures of an experiment."""
    experiment = study.experiment
    encoder = f" with {SECOND_ENCODER}" if study.cells[0].encoder == SECOND_ENCODER else ""
    parts = [f"## {experiment.name}: {experiment.title}{encoder}"]
    parts += [TEXTS[experiment.name]] if experiment.name in TEXTS and experiment.columns != SPEED else []
    parts += _note_if_old(experiment.name, study.results.values())
    if study.groups:
        parts += _tables(study)
        if experiment.columns != SPEED:  # those tables show further results, and have their own lines
            parts += _line_if_stale(study.results.values())
    if missing := len(study.cells) - len(study.results):
        not_run = missing_runs(study.cells, study.results)
        parts.append(f"{missing} runs are missing; `{study.command}` makes them.{not_run and f' Not run: {not_run}.'}")
    printed = facts("published")["tables"].get(experiment.name)
    if printed is not None:
        parts += [f"Printed in the paper ({printed['source']}):", _printed_table(printed)]
    parts += [f"{sentence}." for sentence in comparisons(experiment, study.cells, study.root)]
    return parts + _figures(study, folder, figures)


def _tables(study: Study) -> list[str]:
    """Return the tables of an experiment in the form that suits it."""
    experiment = study.experiment
    if experiment.shows_published:
        return [
            "By the protocol `paper`, with what was printed in brackets "
            f"({facts('published')['source']}); the last column is by `strict`:",
            as_markdown(*_table_beside_published(study)),
        ]
    if experiment.figure in ("levels", "ratios"):
        return _tables_over_levels(study)
    if experiment.figure == "maps":
        return []
    if experiment.columns == SPEED:
        return [*_speed(study), *_seconds_of_fits(study)]
    return [as_markdown(*_table_of_scores(study))]


def _table_of_scores(study: Study) -> Table:
    """Return a line for each row, by the protocol `strict`; a benchmark that all share is not repeated."""
    columns = COLUMNS_OF_THE_PAPER if study.experiment.columns == SCORES else study.experiment.columns
    has_several = len({group.data for group in study.groups}) > 1
    lines = [
        (
            *([group.data] if has_several else []),
            study.label(group),
            *(study.value(group, column) for column in columns),
        )
        for group in study.groups
    ]
    data = ["benchmark", "method"] if has_several else [f"{study.groups[0].data}, method"]
    return (*data, *(column.header for column in columns)), lines


def _table_beside_published(study: Study) -> Table:
    """Return a line for each row by the protocol `paper`, published numbers in brackets, and the strict OOD ACC."""
    columns, published = study.experiment.columns, facts("published")
    lines = []
    for group in study.groups:
        of_method = group.variant == "default" and group.ratio == published["ratio"]
        printed = published["scores"].get(group.benchmark, {}).get(group.method, {}) if of_method else {}
        numbers = []
        for column in columns:
            score = printed.get(column.path[-1])
            numbers.append(study.value(group, column, "paper") + ("" if score is None else f" ({score:.1f})"))
        lines.append((group.data, study.label(group), *numbers, study.value(group, study.experiment.shown)))
    headers = (*(column.header for column in columns), f"strict {study.experiment.shown.header}")
    return ("benchmark", "method", *headers), lines


def _tables_over_levels(study: Study) -> list[str]:
    """Return a table with a line for each method and a column for each level, and one of the rows beside the levels."""
    experiment = study.experiment
    by_level = {(g.method, g.tune, level_of(experiment, g)): g for g in study.groups}
    levels = sorted({level for *_, level in by_level if level is not None})
    lines = []
    for method, tune in dict.fromkeys((method, tune) for method, tune, level in by_level if level is not None):
        groups = [by_level.get((method, tune, level)) for level in levels]
        values = ["not run" if group is None else study.value_with_runs(group) for group in groups]
        lines.append((row_label(method, tune=tune), *values))
    data = experiment.benchmarks[0]
    parts = [
        f"{experiment.shown.header}, by {experiment.axis}:",
        as_markdown((f"{data}, method", *(f"{level:g}" for level in levels)), lines),
    ]
    beside = [(g.label, study.value_with_runs(g)) for g in study.groups if level_of(experiment, g) is None]
    if beside:
        parts.append(as_markdown((f"{data}, method", experiment.shown.header), beside))
    return parts


def _speed(study: Study) -> list[str]:
    """Return the seconds of an epoch, beside those of the plain loop and how much faster that is."""
    header, lines = _table_of_scores(study)
    hardware = [str(study.results[group.cells[0]]["hardware"]) for group in study.groups]
    lines = [(line[0], on, *line[1:]) for line, on in zip(lines, hardware, strict=True)]
    shown = list(study.results.values())
    if study.cells[0].encoder == "minilm":
        on_cpu = json.loads(SPEED_ON_CPU.read_bytes())
        values = [number_of(on_cpu, column, "strict") for column in SPEED]
        numbers = [mean_std([] if v is None else [v], c.digits) for v, c in zip(values, SPEED, strict=True)]
        lines.append((row_label("dpl", "speed"), on_cpu["hardware"], *numbers))
        shown.append(on_cpu)
    return [
        TEXTS["speed"],
        as_markdown((header[0], "on", *header[1:]), lines),
        *_line_if_stale(shown),
    ]


def _seconds_of_fits(study: Study) -> list[str]:
    """Return the mean seconds of whole fits on GID-SD, of runs that had their machine for themselves."""
    main = EXPERIMENTS["main"].narrow(benchmarks=["GID-SD"])
    cells = main.cells(study.cells[0].encoder, study.cells[0].tune)
    results = {c: r for c, r in read_results(cells, study.root).items() if not r.get("shares_gpu")}
    lines = []
    for group in groups_of(cells):
        if group.is_complete(results):
            seconds = [float(results[cell]["timings"]["fit"]) for cell in group.cells]
            hardware = sorted({str(results[cell]["hardware"]) for cell in group.cells})
            lines.append((group.label, "; ".join(hardware), f"{statistics.fmean(seconds):.1f}"))
    if not lines:
        return []
    return [
        TEXTS["fits"],
        as_markdown(("GID-SD 40%, method", "on", "s"), lines),
        *_line_if_stale(results.values()),
    ]


def _figures(study: Study, folder: Path, figures: Path) -> list[str]:
    experiment = study.experiment
    if experiment.figure not in ("levels", "ratios", "epochs", "maps"):  # others show no more than the table
        return []
    try:
        paths = draw(experiment, study.cells, study.root, folder / figures)
    except DataError:  # no row is complete
        return []
    captions = [f"{experiment.title}: {path.stem.removeprefix(experiment.name + '-')}" for path in paths]
    return [f"![{text}]({(figures / path.name).as_posix()})" for text, path in zip(captions, paths, strict=True)]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--tune", default="last")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="the folder of the result files")
    parser.add_argument("--markdown", type=Path, default=Path("docs/reproduction.md"), help="the page")
    chosen = parser.parse_args()
    page = write_markdown(chosen.out, chosen.markdown, encoder=chosen.encoder, tune=chosen.tune)
    print(page)
    for section in page.read_text("utf-8").split("\n## ")[1:]:
        if STALE_LINE in section:
            print(f"stale: {page.as_posix()}, section `{section.splitlines()[0]}`: measured on other code")


if __name__ == "__main__":
    main()
