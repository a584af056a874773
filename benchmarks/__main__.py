"""The paper's experiments: run them, and print their tables or draw their figures from the result files.

python -m benchmarks list
python -m benchmarks get banking77
python -m benchmarks run main --methods kmeans,consensus --tune heads
python -m benchmarks table main --methods kmeans,consensus --tune heads --format markdown
python -m benchmarks table table-3       and table-1 to table-6, figure-3 to figure-8 of the paper, or released
python -m benchmarks figures main

Rows that say themselves how much of the encoder trains, such as those of the consensus and of presets, do not take
--tune. Where it is not given, it is last, as in the paper; then nothing that trains an encoder runs without a GPU.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import tables
from benchmarks.harness.cells import Cell, missing_cells, read_results, write_archive
from benchmarks.harness.datasets import SETS
from benchmarks.harness.datasets import get as find_or_fetch
from benchmarks.harness.experiments import EXPERIMENTS, Experiment, experiment_named
from benchmarks.harness.studies import study_encoder, whole_numbers
from newfound import defaults
from newfound.cli.errors import message_with_flags
from newfound.cli.show import print_table, reporter_for_terminal
from newfound.errors import NewfoundError
from newfound.threads import limit_threads

RESULTS = Path(__file__).parent / "results"
WRITERS = {"markdown": tables.as_markdown, "latex": tables.as_latex, "csv": tables.as_csv}


def parser() -> argparse.ArgumentParser:
    """Return the commands with their options."""
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("name", nargs="?", default="main", help="an experiment: `list` names them")
    chosen.add_argument("--methods", type=_names, default=(), help="those of the experiment by default")
    chosen.add_argument("--benchmarks", type=_names, default=(), help="of GID-SD, GID-CD, GID-MD")
    chosen.add_argument("--ratios", type=whole_numbers, default=(), help="shares of new intents in percent: 20, 40, 60")
    chosen.add_argument("--splits", type=whole_numbers, default=(), help="of 1, 2, 3")
    chosen.add_argument("--seeds", type=whole_numbers, default=())
    chosen.add_argument("--encoder", default=defaults.ENCODER, help="a short name, a folder, or owner/name on the hub")
    chosen.add_argument("--tune", default=defaults.TUNE, help="how much of the encoder trains")
    chosen.add_argument("--start", choices=("random",), help="the rows of DPL, from the paper's random start")
    chosen.add_argument("--device", default=defaults.DEVICE)
    chosen.add_argument("--out", type=Path, default=RESULTS, help="the folder of the result files")
    whole = argparse.ArgumentParser("benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = whole.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the experiments: what they show, and how many runs they take")
    get = commands.add_parser("get", help="find a data set, or download it to the user's cache, and verify it")
    get.add_argument("name", choices=SETS)
    run = commands.add_parser("run", parents=[chosen], help="run the cells that have no result, and print the table")
    run.add_argument("--weights", help="the folder that holds the encoder, if its name does not say it")
    run.add_argument("--limit", type=float, default=math.inf, help="seconds, after which no further cell is begun")
    run.add_argument("--part", default="0/1", help="i/n: every n-th of the missing cells from the i-th on")
    run.add_argument("--pack", type=Path, help="an archive for the new result files")
    table = commands.add_parser("table", parents=[chosen], help="print the table from the result files")
    table.add_argument("--format", choices=("terminal", *WRITERS), default="terminal")
    figures = commands.add_parser("figures", parents=[chosen], help="draw the figures from the result files")
    figures.add_argument("--to", type=Path, default=Path("benchmarks/figures"), help="the folder for the figures")
    figures.add_argument("--projection", choices=("tsne", "pca", "umap"), default="tsne", help="of maps")
    return whole


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def list_experiments() -> None:
    """Print the experiments."""
    rows = [(e.name, e.title, ", ".join(e.benchmarks), str(len(e.cells("", "")))) for e in EXPERIMENTS.values()]
    print_table(("experiment", "what it shows", "benchmarks", "runs"), rows)


def planned(options: argparse.Namespace) -> tuple[Experiment, list[Cell]]:
    """Return an experiment as the options narrow it, and its cells."""
    wanted = {name: getattr(options, name) for name in ("methods", "benchmarks", "ratios", "splits", "seeds")}
    experiment = experiment_named(options.name).narrow(**wanted)
    experiment = experiment.at_random_start() if options.start else experiment
    return experiment, experiment.cells(options.encoder, options.tune)


def run_cells(cells: list[Cell], options: argparse.Namespace) -> None:
    """Run the cells that have no result, or a part of them within a time limit."""
    part, parts = map(int, options.part.split("/"))
    to_run = missing_cells(cells, options.out)[part::parts]
    frozen = [cell for cell in to_run if cell.tune == "heads"]
    if len(frozen) < len(to_run) and options.tune == "auto":  # no encoder trains on a CPU unless `--tune` says so
        from newfound.training.devices import pick_device

        if pick_device(options.device).type != "cuda":
            print(
                f"No GPU: {len(to_run) - len(frozen)} runs that train layers of the encoder are left out. --tune last"
            )
            print(
                "makes them here, about an hour for one of DPL on GID-SD; --tune heads trains heads, unlike the paper."
            )
            to_run = frozen
    if not to_run:
        return
    from benchmarks.harness.running import run_missing

    until, encoder = time.monotonic() + options.limit, study_encoder(options.weights or options.encoder)
    try:
        run_missing(to_run, options.out, encoder, options.device, reporter_for_terminal(), until=until)
    finally:
        if options.pack is not None:
            left = set(missing_cells(to_run, options.out))
            write_archive([cell for cell in to_run if cell not in left], options.out, options.pack)


def print_experiment(experiment: Experiment, cells: list[Cell], root: Path, format: str = "terminal") -> None:
    """Print the table of an experiment; on a terminal, one narrow table per benchmark and protocol."""
    header, lines = tables.table(experiment, cells, root)
    if format in WRITERS:
        print(WRITERS[format](header, lines))
        return
    if experiment.name == "released":
        from benchmarks.reproduction.page import released_code

        print_table(*released_code(read_results(cells, root))[1:])
    n_names = 3 if header[2] == "protocol" else 2
    for title in dict.fromkeys((line[0], *line[2:n_names]) for line in lines):
        lines_of_table = [line for line in lines if (line[0], *line[2:n_names]) == title]
        print(f"\n{', '.join(title)}")
        compact = [(line[1], *(field.replace(" ± ", "±") for field in line[n_names:])) for line in lines_of_table]
        print_table((header[1], *header[n_names:]), compact)
    for sentence in tables.comparisons(experiment, cells, root):
        print(f"\n{sentence}")
    if not_run := tables.missing_runs(cells, read_results(cells, root)):
        start = " --start random" if all("random" in cell.variant for cell in cells) else ""
        print(f"\nNot run: {not_run}. `python -m benchmarks run {experiment.name}{start}` runs them.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command."""
    options = parser().parse_args(arguments)
    if options.command == "list":
        list_experiments()
        return
    if options.command == "get":
        for part, path in find_or_fetch(options.name).items():
            print(f"{options.name}/{part}: {path}, verified")
        return
    if options.command == "table" and options.name in ("table-5", "table-6"):
        from benchmarks.reproduction.sizes import table_of_sizes

        header, lines = table_of_sizes(options.name)
        print(WRITERS[options.format](header, lines)) if options.format in WRITERS else print_table(header, lines)
        return
    experiment, cells = planned(options)
    if options.command == "figures":
        from benchmarks.harness.plots import draw

        print(*draw(experiment, cells, options.out, options.to, projection=options.projection), sep="\n")
        return
    if options.command == "run":
        run_cells(cells, options)
    print_experiment(experiment, cells, options.out, getattr(options, "format", "terminal"))


if __name__ == "__main__":
    limit_threads()
    try:
        main()
    except (NewfoundError, OSError) as error:
        sys.exit(f"benchmarks: error: {message_with_flags(error)}")
