"""The commands about benchmark data."""

from __future__ import annotations

from typing import Annotated

import typer

from newfound.cli.show import print_table

app = typer.Typer(help="List or fetch the data of the benchmarks.", no_args_is_help=True)


@app.command("list")
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


@app.command("get")
def get(name: Annotated[str, typer.Argument(help="banking77 or clinc150.")]) -> None:
    """Find a data set in $NEWFOUND_DATA or in the cache, or download it, and verify it."""
    from newfound.data.benchmarks import get as find_or_fetch

    for part, path in find_or_fetch(name).items():
        print(f"{name}/{part}: {path}, verified")
