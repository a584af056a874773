"""The command that writes example data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(help="Write example data.", no_args_is_help=True)


@app.command("get")
def get(
    name: Annotated[Literal["demo"], typer.Argument(help="demo.")],
    to: Annotated[Path, typer.Option(help="The folder for its files: known.csv, logs.csv and held-out.csv.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace its files.")] = False,
) -> None:
    """Write the demo corpus as the files of a user."""
    from newfound.data.demo_corpus import write_demo

    for path, rows in write_demo(to, overwrite=force).items():
        print(f"{path}: {rows:,} utterances")
