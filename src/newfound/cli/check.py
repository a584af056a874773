"""The command that looks for problems in the known data: check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from newfound import defaults
from newfound.cli.options import EncoderOption, FileOptions, SeedOption
from newfound.cli.progress import reporter_for_terminal
from newfound.cli.show import print_table
from newfound.text import shorten

if TYPE_CHECKING:
    from newfound.workflows.checking import CheckResult

ROWS_SHOWN = 15
MAX_CHARACTERS_SHOWN = 70


def check(
    known: Annotated[Path, typer.Argument(help="A file of labelled utterances of the known intents.")],
    files: FileOptions,
    out: Annotated[Path | None, typer.Option(help="Write all findings to this CSV file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file at --out.")] = False,
    encoder: EncoderOption = defaults.ENCODER,
    seed: SeedOption = defaults.SEED,
) -> None:
    """Look for likely label errors and nearly equal intents in the known data. Nothing is changed or trained."""
    from newfound.workflows.checking import check as run_workflow

    result = run_workflow(
        known,
        out,
        encoder=encoder,
        seed=seed,
        read=files.read_options(),
        overwrite=force,
        reporter=reporter_for_terminal(),
    )
    print(f"{known}: {result.utterances:,} utterances of {result.intents:,} intents")
    _print_result(result)
    if out is not None:
        print(f"\nWrote all of it to {out}")


def _print_result(result: CheckResult) -> None:
    conflicts = [
        (_short(c.text), ", ".join(dict.fromkeys(label for _, label in c.uses)), ", ".join(str(u[0]) for u in c.uses))
        for c in result.conflicts
    ]
    errors = [(str(e.line), _short(e.text), e.label, e.likely) for e in result.label_errors]
    order = ", the clearest first" if len(errors) > 1 else ""
    pairs = [
        (pair.first, pair.second, f"{100 * pair.confusion:.0f} %", f"{pair.similarity:.2f}")
        for pair in result.near_duplicates
    ]
    few = [(intent, str(size)) for intent, size in result.few_examples]
    _print_part("text", "texts", " with several labels", ("text", "labels", "lines"), conflicts)
    _print_part("likely label error", "likely label errors", order, ("line", "text", "label", "more likely"), errors)
    columns = ("intent", "other intent", "confused", "similar")
    _print_part("pair", "pairs", " of intents that are nearly one", columns, pairs)
    _print_part("label that is", "labels that are", " likely misspelt", ("label", "likely meant"), result.misspelt)
    _print_part("intent", "intents", " with few examples", ("intent", "examples"), few)


def _print_part(one: str, many: str, rest: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    print(f"\n{len(rows) or 'No'} {one if len(rows) == 1 else many}{rest}")
    if rows:
        print()
        print_table(header, rows[:ROWS_SHOWN])
    if len(rows) > ROWS_SHOWN:
        print(f"and {len(rows) - ROWS_SHOWN:,} more (--out writes all)")


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), MAX_CHARACTERS_SHOWN)
