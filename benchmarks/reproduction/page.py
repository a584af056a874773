"""The paper's tables and figures beside ours, from the result files, with a verdict on each claim.

python -m benchmarks.reproduction.page                                    one HTML file that opens offline
python -m benchmarks.reproduction.page --markdown docs/reproduction.md    the same as Markdown, figures beside it
"""

from __future__ import annotations

import argparse
import base64
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.reproduction.claims import Claim, Judgement, judged_claims

from newfound.bench.cells import Cell, read_results
from newfound.bench.experiments import EXPERIMENTS, Column, Experiment
from newfound.bench.plots import draw
from newfound.bench.running import resolve_cell
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
class PublishedTable:
    """Numbers that others printed.

    Attributes:
        source: Where they come from.
        header: The headings.
        lines: Names and numbers as text.
    """

    source: str
    header: tuple[str, ...]
    lines: list[tuple[str, ...]]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> PublishedTable:
        """Read an entry of the file of published numbers."""
        lines = [tuple(f"{v:g}" if isinstance(v, int | float) else v for v in line) for line in entry["lines"]]
        return cls(entry["source"], tuple(entry["header"]), lines)


@dataclass(frozen=True, slots=True)
class Section:
    """An experiment as the page shows it.

    Attributes:
        experiment: The experiment.
        header: The headings of the table.
        lines: The lines of the table: names, and numbers.
        comparisons: Sentences about the best and the second best method.
        figures: Caption and file name of each figure.
        tune: How much of the encoder was trained.
        published: What the paper printed, if it is not a line of the table.
        missing: The number of runs without a result.
        runs: For each row of the table its anchor, its title, and text and link of every run.
    """

    experiment: Experiment
    header: tuple[str, ...]
    lines: list[tuple[tuple[str, ...], list[Number]]]
    comparisons: list[str]
    figures: list[tuple[str, str]]
    tune: str
    published: PublishedTable | None
    missing: int
    runs: list[tuple[str, str, list[tuple[str, str]]]]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the page shows.

    Attributes:
        sections: The experiments that have results.
        claims: The paper's claims, with what the results say about each.
        released: The released code's run with the same encoder.
        times: Method, benchmark, number of runs and mean seconds of a fit; runs that shared a GPU are left out.
        about: Encoder, hardware, versions, and the experiments without results.
    """

    sections: list[Section]
    claims: list[tuple[Claim, Judgement]]
    released: PublishedTable | None
    times: list[tuple[str, str, str, str]]
    about: dict[str, Any]


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
    report = _gather(root, out, out / "figures", encoder=encoder, tune=tune, device=device)
    paths = [out / "report.html", out / "report.md"]
    write_atomically(paths[0], _page(report, out).encode())
    write_atomically(paths[1], _markdown(report, "figures").encode())
    return paths


def write_markdown(root: Path, path: Path, *, encoder: str, tune: str, device: str) -> Path:
    """Write the page as one Markdown file, with its figures in `images/<name of the file>` beside it.

    Args:
        root: The folder of the result files.
        path: The file.
        encoder: The encoder of the results.
        tune: How much of it was trained.
        device: The device; it decides what `tune="auto"` means.
    """
    figures = Path("images") / path.stem
    path.parent.mkdir(parents=True, exist_ok=True)
    report = _gather(root, path.parent, path.parent / figures, encoder=encoder, tune=tune, device=device)
    write_atomically(path, _markdown(report, figures.as_posix()).encode())
    return path


def _gather(root: Path, out: Path, figures: Path, *, encoder: str, tune: str, device: str) -> Report:
    """Read all results and draw the figures.

    An experiment that was not run with this `tune` is shown with a frozen encoder, if it was run with that.
    """
    sections, absent = [], []
    everything: Results = {}
    for experiment in (e for e in EXPERIMENTS.values() if e.in_report):
        for part in (experiment.tune,) if experiment.tune else dict.fromkeys((tune, "heads")):
            cells = [resolve_cell(cell, device) for cell in experiment.cells(encoder, part)]
            results = read_results(cells, root)
            if results:
                everything |= results
                sections.append(_section(experiment, cells, results, root, out, figures))
                break
        else:
            absent.append(experiment.name)
    if not sections:
        raise DataError(
            f"{root}: no results for encoder {encoder} with tune {tune}; `newfound bench run main` makes some"
        )
    own = {cell: result for cell, result in everything.items() if cell.tune == sections[0].tune}
    published = facts("published")
    return Report(
        sections,
        judged_claims(own),
        PublishedTable.of(published["released_code"]) if encoder == "minilm" else None,
        _times(everything),
        {
            "encoder": encoder,
            "tune": tune,
            "hardware": sorted({str(r.get("hardware")) for r in everything.values()}),
            "versions": sorted({_versions(r) for r in everything.values()}),
            "commits": sorted({str(r["commit"])[:7] for r in everything.values() if r.get("commit")}),
            "runs": len(everything),
            "made": datetime.now(UTC).strftime("%Y-%m-%d"),
            "absent": absent,
            "source": published["source"],
        },
    )


def _section(
    experiment: Experiment, cells: Sequence[Cell], results: Results, root: Path, out: Path, figures: Path
) -> Section:
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
        _figures(experiment, cells, root, figures),
        cells[0].tune,
        PublishedTable.of(printed) if (printed := facts("published")["tables"].get(experiment.name)) else None,
        len(cells) - len(results),
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
        paths = draw(experiment, cells, root, out)
    except DataError:  # no row is complete
        return []
    return [(f"{experiment.title}: {path.stem.removeprefix(experiment.name + '-')}", path.name) for path in paths]


def _times(results: Results) -> list[tuple[str, str, str, str]]:
    """Return lines of method, benchmark, number of runs, and mean seconds of a fit."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for cell, result in results.items():
        if cell.variant == "default" and "timings" in result and not result.get("shares_gpu"):
            seconds.setdefault((cell.method, cell.benchmark), []).append(float(result["timings"]["fit"]))
    return [(m, b, str(len(v)), f"{statistics.fmean(v):.1f}") for (m, b), v in sorted(seconds.items())]


def _versions(result: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in result.get("versions", {}).items())


def _page(report: Report, out: Path) -> str:
    from jinja2 import Environment

    def embedded(name: str) -> str:
        return "data:image/png;base64," + base64.b64encode((out / "figures" / name).read_bytes()).decode()

    template = Path(__file__).with_name("page.html.jinja").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page: str = environment.from_string(template).render(
        sections=report.sections,
        claims=report.claims,
        released=report.released,
        about=report.about,
        times=report.times,
        embedded=embedded,
    )
    return page


def _markdown(report: Report, figures: str) -> str:
    about = report.about
    parts = [
        "# Reproduction of the paper",
        "<!-- Written by benchmarks/reproduction/page.py from the result files. -->",
        f"Encoder {about['encoder']}, tune {about['tune']} where nothing else is said, on "
        f"{'; '.join(about['hardware'])}. {about['runs']} runs, by the project's commits "
        f"{', '.join(about['commits'])}; mean ± standard deviation over splits and seeds. A row that is not complete "
        "is blank. Numbers that the paper printed were measured with BERT-base, by its lenient protocol (`paper`) and "
        "with one chosen seed per split; they stand apart and are not comparable with ours in size, only in order.",
        "## The paper's claims",
        "A claim that one number is larger than another is judged on runs with the same split and seed, by the "
        "`strict` protocol: it is reproduced if the mean difference is positive and a Wilcoxon signed-rank test gives "
        "p < 0.05.",
        as_markdown(
            ("where", "claim", "verdict", "evidence"),
            [(c.where, c.text, f"**{j.verdict}**", j.evidence) for c, j in report.claims],
        ),
    ]
    if report.released is not None:
        parts += [
            "## The released code with the same encoder",
            f"Source: {report.released.source}.",
            as_markdown(report.released.header, report.released.lines),
        ]
    for section in report.sections:
        parts += _section_as_markdown(section, figures, about)
    if report.times:
        parts += ["## Seconds of a fit", "Of runs that had the machine for themselves."]
        parts.append(as_markdown(("method", "benchmark", "runs", "s"), report.times))
    if about["absent"]:
        commands = "\n".join(f"newfound bench run {name}" for name in about["absent"])
        parts += [
            "## Missing",
            f"Experiments without any result, and the commands that make them (with tune {about['tune']}):",
            f"```\n{commands}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def _section_as_markdown(section: Section, figures: str, about: dict[str, Any]) -> list[str]:
    experiment = section.experiment
    other = "" if section.tune == about["tune"] else f" (tune {section.tune})"
    parts = [f"## {experiment.name}: {experiment.title}{other}"]
    parts.append(as_markdown(section.header, [(*names, *(n.text for n in values)) for names, values in section.lines]))
    if section.missing:
        command = f"newfound bench run {experiment.name}"
        parts.append(f"{section.missing} runs are missing; `{command}` with tune {section.tune} makes them.")
    if experiment.shows_published:
        parts.append(f"Published: {about['source']}.")
    if section.published is not None:
        parts += [
            f"Printed in the paper ({section.published.source}):",
            as_markdown(section.published.header, section.published.lines),
        ]
    parts += [f"{sentence}." for sentence in section.comparisons]
    parts += [f"![{caption}]({figures}/{name})" for caption, name in section.figures]
    return parts


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--tune", default="last")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="the folder of the result files")
    parser.add_argument("--to", type=Path, default=Path("benchmarks/report"), help="the folder for the page")
    parser.add_argument("--markdown", type=Path, help="write one Markdown file here instead")
    chosen = parser.parse_args()
    about = {"encoder": chosen.encoder, "tune": chosen.tune, "device": chosen.device}
    if chosen.markdown is not None:
        print(write_markdown(chosen.out, chosen.markdown, **about))
        return
    for path in write_report(chosen.out, chosen.to, **about):
        print(path)


if __name__ == "__main__":
    main()
