"""The commands about the paper's experiments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

import typer

from newfound import defaults
from newfound.cli.option_groups import with_option_groups
from newfound.cli.options import DeviceOption, EncoderOption, MethodOption, TuneOption
from newfound.cli.parsing import one_of, parts, whole_numbers
from newfound.cli.progress import reporter_for_terminal
from newfound.cli.show import print_table

if TYPE_CHECKING:
    from newfound.bench.cells import Cell
    from newfound.bench.experiments import Experiment
    from newfound.bench.plots import Projection

app = typer.Typer(help="The paper's experiments.", no_args_is_help=True)
RESULTS = Path("benchmarks/results")


@dataclass(frozen=True, slots=True)
class CellOptions:
    """Which runs of an experiment are meant, and where their results are."""

    PANEL: ClassVar = "Which runs"
    methods: Annotated[
        str, typer.Option("--methods", help="Methods, separated by commas; by default those of the experiment.")
    ] = ""
    benchmarks: Annotated[
        str, typer.Option("--benchmarks", help="Benchmarks, separated by commas: GID-SD, GID-CD, GID-MD.")
    ] = ""
    ratios: Annotated[
        str, typer.Option("--ratios", help="Shares of new intents in percent, separated by commas: 20, 40, 60.")
    ] = ""
    splits: Annotated[str, typer.Option("--splits", help="Splits, separated by commas: 1, 2, 3.")] = ""
    seeds: Annotated[str, typer.Option("--seeds", help="Seeds, separated by commas.")] = ""
    encoder: EncoderOption = defaults.ENCODER
    tune: TuneOption = defaults.TUNE
    device: DeviceOption = defaults.DEVICE
    out: Annotated[Path, typer.Option("--out", help="The folder of the result files.")] = RESULTS


NameArgument = Annotated[str, typer.Argument(help="An experiment: `newfound bench list` names them.")]


@app.command("list")
def list_experiments() -> None:
    """List the experiments: what they show, and how many runs they take."""
    from newfound.bench.experiments import EXPERIMENTS

    rows = [(e.name, e.title, ", ".join(e.benchmarks), str(len(e.cells("", "")))) for e in EXPERIMENTS.values()]
    print_table(("experiment", "what it shows", "benchmarks", "runs"), rows)


@app.command("run")
@with_option_groups
def run(chosen: CellOptions, name: NameArgument = "main") -> None:
    """Run the missing cells of an experiment, then print its table. Finished cells are skipped."""
    from newfound.bench.cells import missing
    from newfound.bench.running import run_missing
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import load_encoder
    from newfound.paths import feature_cache_dir

    experiment, cells = _planned(name, chosen)
    if missing(cells, chosen.out):
        loaded = load_encoder(chosen.encoder, cache=FeatureCache(feature_cache_dir()))
        run_missing(cells, chosen.out, loaded, chosen.device, reporter_for_terminal())
    _print_experiment(experiment, cells, chosen.out, "terminal")


@app.command("table")
@with_option_groups
def table(
    chosen: CellOptions,
    name: NameArgument = "main",
    format: Annotated[str, typer.Option("--format", help="terminal, markdown, latex or csv.")] = "terminal",
) -> None:
    """Print an experiment's table from the result files: mean ± std over splits and seeds, both protocols."""
    experiment, cells = _planned(name, chosen)
    _print_experiment(experiment, cells, chosen.out, format)


@app.command("figures")
@with_option_groups
def figures(
    chosen: CellOptions,
    name: NameArgument = "main",
    to: Annotated[Path, typer.Option("--to", help="The folder for the figures.")] = Path("benchmarks/figures"),
    projection: Annotated[
        str, typer.Option("--projection", help="How maps are projected: tsne, pca or umap.")
    ] = "tsne",
) -> None:
    """Draw the figures of an experiment from the result files."""
    from newfound.bench.plots import draw

    wanted = cast("Projection", one_of(projection, "--projection", "tsne", "pca", "umap"))
    experiment, cells = _planned(name, chosen)
    for path in draw(experiment, cells, chosen.out, to, projection=wanted):
        print(path)


@app.command("report")
def report(
    encoder: EncoderOption = defaults.ENCODER,
    tune: TuneOption = "last",
    device: DeviceOption = defaults.DEVICE,
    out: Annotated[Path, typer.Option("--out", help="The folder of the result files.")] = RESULTS,
    to: Annotated[Path, typer.Option("--to", help="The folder for the page.")] = Path("benchmarks/report"),
    page: Annotated[
        Path | None, typer.Option("--page", help="Write one Markdown file here instead, with its figures beside it.")
    ] = None,
) -> None:
    """Put the paper's tables and figures beside ours, with a verdict on each claim, on one page that opens offline."""
    from newfound.bench.report import write_markdown, write_report

    if page is not None:
        print(write_markdown(out, page, encoder=encoder, tune=tune, device=device))
        return
    for path in write_report(out, to, encoder=encoder, tune=tune, device=device):
        print(path)


@app.command("speed")
def speed(
    method: MethodOption = "dpl",
    benchmark: Annotated[str, typer.Option("--benchmark", help="GID-SD, GID-CD or GID-MD.")] = "GID-SD",
    encoder: EncoderOption = defaults.ENCODER,
    tune: TuneOption = defaults.TUNE,
    device: DeviceOption = defaults.DEVICE,
    epochs: Annotated[int, typer.Option("--epochs", help="Epochs to time in each stage.")] = 5,
    trunk_dropout: Annotated[
        bool, typer.Option("--trunk-dropout", help="Run the frozen layers in every step, with dropout.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the seconds per epoch and per phase, and how much faster that is than a plain loop in the same run."""
    from newfound.bench.speed import measure
    from newfound.data.benchmarks import load_benchmark
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import load_encoder
    from newfound.methods.encoding import resolve_tune
    from newfound.paths import feature_cache_dir
    from newfound.training.devices import pick_device

    task = load_benchmark(benchmark)
    # The plain loop, which it is compared with, runs the whole encoder of transformers.
    loaded = load_encoder(encoder, cache=FeatureCache(feature_cache_dir()), whole=True)
    tune = resolve_tune(tune, pick_device(device))
    result = measure(method, task, loaded, tune=tune, device=device, epochs=epochs, trunk_dropout=trunk_dropout)
    if as_json:
        print(json.dumps(result, indent=2))
        return
    print(f"{method} on {benchmark}, {encoder}, tune {tune}, {result['hardware']}\n")
    rows = [(name, f"{value:.4g} s") for name, value in result["seconds"].items()]
    rows += [(f"one epoch of {name}", f"{value:.4g} s") for name, value in result["seconds per epoch"].items()]
    if "plain loop, seconds per epoch" in result:
        rows.append(("one epoch of the plain loop", f"{result['plain loop, seconds per epoch']:.4g} s"))
        rows.append(("times faster", f"{result['times faster than the plain loop']}"))
    rows += [(f"{name} parameters", f"{value:,}") for name, value in result["parameters"].items()]
    print_table(("", "measured"), rows)


def _planned(name: str, chosen: CellOptions) -> tuple[Experiment, list[Cell]]:
    """Return an experiment as the options narrow it, and its cells."""
    from newfound.bench.cells import resolved
    from newfound.bench.experiments import experiment_named

    experiment = experiment_named(name).narrowed(
        methods=parts(chosen.methods),
        benchmarks=parts(chosen.benchmarks),
        ratios=whole_numbers(chosen.ratios, "--ratios"),
        splits=whole_numbers(chosen.splits, "--splits"),
        seeds=whole_numbers(chosen.seeds, "--seeds"),
    )
    return experiment, [resolved(cell, chosen.device) for cell in experiment.cells(chosen.encoder, chosen.tune)]


def _print_experiment(experiment: Experiment, cells: list[Cell], root: Path, format: str) -> None:
    """Print the table of an experiment; on a terminal, one narrow table per benchmark and protocol."""
    from newfound.bench import tables

    header, lines = tables.table(experiment, cells, root)
    writers = {"markdown": tables.as_markdown, "latex": tables.as_latex, "csv": tables.as_csv}
    one_of(format, "--format", "terminal", *writers)
    if format in writers:
        print(writers[format](header, lines))
        return
    n_names = 3 if header[2] == "protocol" else 2
    for title in dict.fromkeys((line[0], *line[2:n_names]) for line in lines):
        lines_of_table = [line for line in lines if (line[0], *line[2:n_names]) == title]
        print(f"\n{', '.join(title)}")
        compact = [(line[1], *(field.replace(" ± ", "±") for field in line[n_names:])) for line in lines_of_table]
        print_table((header[1], *header[n_names:]), compact)
    for sentence in tables.comparisons(experiment, cells, root):
        print(f"\n{sentence}")
