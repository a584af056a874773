"""Writes one page with every table and figure from the result files: `report.html`, and the same as Markdown."""

from __future__ import annotations

import base64
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from newfound.bench.cells import Cell, read_results, resolved
from newfound.bench.experiments import EXPERIMENTS, Column, Experiment
from newfound.bench.plots import draw
from newfound.bench.tables import Group, Results, as_markdown, comparisons, groups_of, mean_std, protocols_of
from newfound.data.benchmarks import facts
from newfound.errors import DataError
from newfound.files import write_atomically


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a table of the page.

    Attributes:
        text: The number as it is shown; empty if a run is missing.
        anchor: The anchor of the list of runs that it is computed from; empty for an empty number.
    """

    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Section:
    """An experiment as the page shows it.

    Attributes:
        experiment: The experiment.
        header: The headings of the table.
        lines: The lines of the table: names, and numbers.
        comparisons: Sentences about the best and the second best method.
        figures: Caption and file name of each figure.
        runs: For each row of the table its anchor, its title, and text and link of every run.
    """

    experiment: Experiment
    header: tuple[str, ...]
    lines: list[tuple[tuple[str, ...], list[Number]]]
    comparisons: list[str]
    figures: list[tuple[str, str]]
    runs: list[tuple[str, str, list[tuple[str, str]]]]


def write_report(root: Path, out: Path, *, encoder: str, tune: str, device: str) -> list[Path]:
    """Write the page for one encoder. Figures are embedded in it, and also written to the folder `figures`.

    Args:
        root: The folder of the result files.
        out: The folder for the page.
        encoder: The encoder of the results.
        tune: How much of it was trained.
        device: The device; it decides what `tune="auto"` means.

    Returns:
        The HTML page and the Markdown page.

    Raises:
        DataError: There are no results.
    """
    out.mkdir(parents=True, exist_ok=True)
    sections, absent = [], []
    everything: Results = {}
    for experiment in EXPERIMENTS.values():
        cells = [resolved(cell, device) for cell in experiment.cells(encoder, tune)]
        results = read_results(cells, root)
        if not results:
            absent.append(experiment.name)
            continue
        everything |= results
        sections.append(_section(experiment, cells, results, root, out))
    if not sections:
        raise DataError(
            f"{root}: no results for encoder {encoder} with tune {tune}; `newfound bench run main` makes some"
        )
    about = {
        "encoder": encoder,
        "tune": tune,
        "hardware": sorted({str(r.get("hardware")) for r in everything.values()}),
        "versions": sorted({_versions(r) for r in everything.values()}),
        "runs": len(everything),
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "absent": absent,
    }
    times = _times(everything)
    html = _page(sections, about, times, out)
    paths = [out / "report.html", out / "report.md"]
    write_atomically(paths[0], html.encode())
    write_atomically(paths[1], _markdown(sections, about, times).encode())
    return paths


def _section(experiment: Experiment, cells: Sequence[Cell], results: Results, root: Path, out: Path) -> Section:
    protocols = protocols_of(experiment)
    header = ("benchmark", "method", *(("protocol",) if protocols[0] else ()))
    lines, runs = [], []
    for number, group in enumerate(groups_of(cells)):
        anchor = f"{experiment.name}-{number}"
        for protocol in protocols:
            names = (group.data, group.label, *((protocol,) if protocol else ()))
            lines.append((names, [_number(group, results, c, protocol, anchor) for c in experiment.columns]))
            if protocol == "paper" and experiment.shows_published:
                lines += _published(group)
        finished = [cell for cell in group.cells if cell in results]
        links = [(_run_text(results[c]), os.path.relpath(c.file(root), out)) for c in finished]
        runs.append((anchor, f"{group.data}, {group.label}", links))
    return Section(
        experiment,
        (*header, *(column.header for column in experiment.columns)),
        lines,
        comparisons(experiment, cells, root),
        _figures(experiment, cells, root, out),
        runs,
    )


def _number(group: Group, results: Results, column: Column, protocol: str, anchor: str) -> Number:
    text = mean_std(group.values(results, column, protocol), column.digits)
    return Number(text, anchor if text else "")


def _published(group: Group) -> list[tuple[tuple[str, ...], list[Number]]]:
    """Return a line with the published scores of a group's method, if there are any."""
    published = facts("published")
    scores = published["scores"].get(group.benchmark, {}).get(group.method)
    if scores is None or group.ratio != published["ratio"] or group.variant != "default":
        return []
    return [
        ((group.data, f"{group.method}, published (BERT)", "paper"), [Number(f"{v:.1f}", "") for v in scores.values()])
    ]


def _run_text(result: dict[str, Any]) -> str:
    """Return the split, the seed and the strict OOD accuracy of a run."""
    accuracy = result.get("scores", {}).get("strict", {}).get("ood_acc")
    score = f", strict OOD ACC {accuracy:.1f}" if accuracy is not None else ""
    return f"split {result['split']}, seed {result['seed']}{score}"


def _figures(experiment: Experiment, cells: Sequence[Cell], root: Path, out: Path) -> list[tuple[str, str]]:
    if experiment.figure == "none":
        return []
    try:
        paths = draw(experiment, cells, root, out / "figures")
    except DataError:  # no row is complete
        return []
    return [(f"{experiment.title}: {path.stem.removeprefix(experiment.name + '-')}", path.name) for path in paths]


def _times(results: Results) -> list[tuple[str, str, str, str]]:
    """Return lines of method, benchmark, number of runs, and mean seconds of a fit."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for cell, result in results.items():
        if cell.variant == "default" and "timings" in result:
            seconds.setdefault((cell.method, cell.benchmark), []).append(float(result["timings"]["fit"]))
    return [(m, b, str(len(v)), f"{statistics.fmean(v):.1f}") for (m, b), v in sorted(seconds.items())]


def _versions(result: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in result.get("versions", {}).items())


def _page(sections: list[Section], about: dict[str, Any], times: list[tuple[str, str, str, str]], out: Path) -> str:
    from jinja2 import Environment

    def embedded(name: str) -> str:
        return "data:image/png;base64," + base64.b64encode((out / "figures" / name).read_bytes()).decode()

    template = resources.files("newfound.bench").joinpath("report.html.jinja").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page: str = environment.from_string(template).render(
        sections=sections, about=about, times=times, embedded=embedded, source=facts("published")["source"]
    )
    return page


def _markdown(sections: list[Section], about: dict[str, Any], times: list[tuple[str, str, str, str]]) -> str:
    parts = [
        "# Results",
        f"Encoder {about['encoder']}, tune {about['tune']}, on {'; '.join(about['hardware'])}. {about['runs']} runs; "
        "mean ± std over splits and seeds. A row that is not complete is blank.",
    ]
    for section in sections:
        parts.append(f"## {section.experiment.name}: {section.experiment.title}")
        parts.append(
            as_markdown(section.header, [(*names, *(n.text for n in values)) for names, values in section.lines])
        )
        parts += section.comparisons
        parts += [f"![{caption}](figures/{name})" for caption, name in section.figures]
    if times:
        parts += ["## Seconds of a fit", as_markdown(("method", "benchmark", "runs", "s"), times)]
    if about["absent"]:
        parts.append(f"No results yet: {', '.join(about['absent'])}.")
    return "\n\n".join(parts) + "\n"
