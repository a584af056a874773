"""The commands about the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

import typer

from newfound import defaults
from newfound.cli.option_groups import with_option_groups
from newfound.cli.options import DeviceOption, EncoderOption, TuneOption
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
    from newfound.bench.cells import missing_cells
    from newfound.bench.running import run_missing
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import load_encoder
    from newfound.paths import feature_cache_dir

    experiment, cells = _plan(name, chosen)
    if missing_cells(cells, chosen.out):
        encoder = load_encoder(chosen.encoder, cache=FeatureCache(feature_cache_dir()))
        run_missing(cells, chosen.out, encoder, chosen.device, reporter_for_terminal())
    _print_experiment(experiment, cells, chosen.out, "terminal")


@app.command("table")
@with_option_groups
def table(
    chosen: CellOptions,
    name: NameArgument = "main",
    format: Annotated[str, typer.Option("--format", help="terminal, markdown, latex or csv.")] = "terminal",
) -> None:
    """Print an experiment's table from the result files: mean ± std over splits and seeds, both protocols."""
    experiment, cells = _plan(name, chosen)
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
    experiment, cells = _plan(name, chosen)
    for path in draw(experiment, cells, chosen.out, to, projection=wanted):
        print(path)


def _plan(name: str, chosen: CellOptions) -> tuple[Experiment, list[Cell]]:
    """Return an experiment as the options narrow it, and its cells."""
    from newfound.bench.experiments import experiment_named
    from newfound.bench.running import resolve_cell

    experiment = experiment_named(name).narrow(
        methods=parts(chosen.methods),
        benchmarks=parts(chosen.benchmarks),
        ratios=whole_numbers(chosen.ratios, "--ratios"),
        splits=whole_numbers(chosen.splits, "--splits"),
        seeds=whole_numbers(chosen.seeds, "--seeds"),
    )
    return experiment, [resolve_cell(cell, chosen.device) for cell in experiment.cells(chosen.encoder, chosen.tune)]


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
