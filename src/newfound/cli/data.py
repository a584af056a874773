"""The commands about benchmark data."""

from __future__ import annotations

from typing import Annotated

import typer

from newfound.cli.show import print_table

app = typer.Typer(help="Benchmark data: what there is, and where it lies.", no_args_is_help=True)


@app.command("list")
def list_sets() -> None:
    """The benchmarks, and where their utterances are."""
    from newfound.data.benchmarks import PARTS, SETS, benchmark_names, facts, find

    rows = []
    for name, source in SETS.items():
        found = [find(name, part) for part in PARTS]
        where = str(found[0].parent) if all(found) and found[0] else f"not here: newfound data get {name}"
        used = ", ".join(b for b in benchmark_names() if facts("splits")["datasets"][b] == name)
        rows.append((name, used, where, source.credit))
    print_table(("data set", "benchmarks", "where", "source"), rows)


@app.command("get")
def get(name: Annotated[str, typer.Argument(help="banking77 or clinc150.")]) -> None:
    """Find a data set in $NEWFOUND_DATA or the cache, or fetch it; either way verify it."""
    from newfound.data.benchmarks import get as find_or_fetch

    for part, path in find_or_fetch(name).items():
        print(f"{name}/{part}: {path}, verified")
