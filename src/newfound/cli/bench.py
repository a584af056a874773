"""The commands about the paper's experiments and the data of its benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from newfound import defaults
from newfound.cli.options import (
    DeviceOption,
    EncoderOption,
    TuneOption,
    one_of,
    parts,
    whole_numbers,
    with_option_groups,
)
from newfound.cli.progress import reporter_for_terminal
from newfound.cli.show import print_table

if TYPE_CHECKING:
    from newfound.bench.cells import Cell
    from newfound.bench.experiments import Experiment

app = typer.Typer(help="The paper's experiments.", no_args_is_help=True)
data_app = typer.Typer(help="List or fetch the data of the benchmarks.", no_args_is_help=True)
RESULTS = Path("benchmarks/results")


@dataclass(frozen=True, slots=True)
class CellOptions:
    """Which runs of an experiment are meant, and where their results are."""

    PANEL: ClassVar = "Which runs"
    methods: Annotated[str, typer.Option(help="Methods, separated by commas; by default those of the experiment.")] = ""
    benchmarks: Annotated[str, typer.Option(help="Benchmarks, separated by commas: GID-SD, GID-CD, GID-MD.")] = ""
    ratios: Annotated[str, typer.Option(help="Shares of new intents in percent, separated by commas: 20, 40, 60.")] = ""
    splits: Annotated[str, typer.Option(help="Splits, separated by commas: 1, 2, 3.")] = ""
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = ""
    encoder: EncoderOption = defaults.ENCODER
    tune: TuneOption = defaults.TUNE
    device: DeviceOption = defaults.DEVICE
    out: Annotated[Path, typer.Option(help="The folder of the result files.")] = RESULTS


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
    """Run the missing cells of an experiment, then print its table. Finished cells are skipped.

    Rows that say themselves how much of the encoder trains, such as those of the consensus, do not take `--tune`.
    """
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
    format: Annotated[str, typer.Option(help="terminal, markdown, latex or csv.")] = "terminal",
) -> None:
    """Print an experiment's table from the result files: mean ± std over splits and seeds, both protocols."""
    experiment, cells = _plan(name, chosen)
    _print_experiment(experiment, cells, chosen.out, format)


@app.command("figures")
@with_option_groups
def figures(
    chosen: CellOptions,
    name: NameArgument = "main",
    to: Annotated[Path, typer.Option(help="The folder for the figures.")] = Path("benchmarks/figures"),
    projection: Annotated[str, typer.Option(help="How maps are projected: tsne, pca or umap.")] = "tsne",
) -> None:
    """Draw the figures of an experiment from the result files."""
    from newfound.bench.plots import draw

    wanted = one_of(projection, "--projection", "tsne", "pca", "umap")
    experiment, cells = _plan(name, chosen)
    for path in draw(experiment, cells, chosen.out, to, projection=wanted):
        print(path)


def _plan(name: str, chosen: CellOptions) -> tuple[Experiment, list[Cell]]:
    """Return an experiment as the options narrow it, and its cells."""
    from newfound.bench.experiments import experiment_named

    experiment = experiment_named(name).narrow(
        methods=parts(chosen.methods),
        benchmarks=parts(chosen.benchmarks),
        ratios=whole_numbers(chosen.ratios, "--ratios"),
        splits=whole_numbers(chosen.splits, "--splits"),
        seeds=whole_numbers(chosen.seeds, "--seeds"),
    )
    cells = experiment.cells(chosen.encoder, chosen.tune)
    if chosen.tune == "auto":  # what it means depends on the device, for which torch is loaded
        from newfound.bench.running import resolve_cell

        cells = [resolve_cell(cell, chosen.device) for cell in cells]
    return experiment, cells


def _print_experiment(experiment: Experiment, cells: list[Cell], root: Path, format: str) -> None:
    """Print the table of an experiment; on a terminal, one narrow table per benchmark and protocol."""
    from newfound.bench import tables
    from newfound.bench.cells import read_results

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
    if not_run := tables.missing_runs(cells, read_results(cells, root)):
        print(f"\nNot run: {not_run}. `newfound bench run {experiment.name}` runs them.")


@data_app.command("list")
def list_sets() -> None:
    """List the data sets, the benchmarks that use them, and where they are on this machine."""
    from newfound.data.benchmarks import PARTS, SETS, benchmark_names, facts, find

    rows = []
    for name, source in SETS.items():
        paths = [find(name, part) for part in PARTS]
        where = str(paths[0].parent) if all(paths) and paths[0] else f"not here: newfound data get {name}"
        used = ", ".join(b for b in benchmark_names() if facts("splits")["datasets"][b] == name)
        rows.append((name, used, where, source.credit))
    print_table(("data set", "benchmarks", "where", "source"), rows)


@data_app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="banking77, clinc150 or demo.")],
    to: Annotated[
        Path, typer.Option(help="The folder for the demo's files: known.csv, logs.csv and held-out.csv.")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace the demo's files.")] = False,
) -> None:
    """Find a data set in $NEWFOUND_DATA or in the cache, or download it, and verify it. `demo` writes its files."""
    if name == "demo":
        from newfound.data.demo_corpus import write_demo

        for path, rows in write_demo(to, overwrite=force).items():
            print(f"{path}: {rows:,} utterances")
        return
    from newfound.data.benchmarks import get as find_or_fetch

    for part, path in find_or_fetch(name).items():
        print(f"{name}/{part}: {path}, verified")
