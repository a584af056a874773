"""The commands about the data of the paper's benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from newfound.cli.show import print_table

app = typer.Typer(help="List or fetch the data of the benchmarks.", no_args_is_help=True)


@app.command("list")
def list_sets() -> None:
    """List the data sets, the benchmarks that use them, and where they are on this machine."""
    from newfound.data.benchmarks import PARTS, SETS, find

    rows = []
    for name, source in SETS.items():
        paths = [find(name, part) for part in PARTS]
        where = str(paths[0].parent) if all(paths) and paths[0] else f"not here: newfound data get {name}"
        rows.append((name, ", ".join(source.benchmarks), where, source.credit))
    print_table(("data set", "benchmarks", "where", "source"), rows)


@app.command("get")
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
