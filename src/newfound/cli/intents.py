"""The commands about a model's intents as a whole: group, diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from newfound.cli.options import ModelArgument, ModelEncoderOption
from newfound.cli.show import INTENTS_SHOWN, examples, print_json, print_table, printable
from newfound.errors import SettingsError

if TYPE_CHECKING:
    from newfound.workflows.comparing import DiffIntent, IntentChange

LINES_SHOWN = 100  # of one change


def group(
    model: ModelArgument,
    levels: Annotated[
        str | None, typer.Option(help="Numbers of groups, one for each level, e.g. `8,30`. By default one level.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the intents with their paths as JSON.")] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Put known and new intents into groups of related ones, at one level or several, and store them in the model."""
    from newfound.workflows.grouping import group as run_workflow

    try:
        numbers = None if levels is None else [int(number) for number in levels.split(",")]
    except ValueError:
        raise SettingsError(f"--levels {levels}: give whole numbers, such as 8 or 8,30") from None
    result = run_workflow(model, numbers, encoder=encoder)
    if as_json:
        rows = [{"id": i.id, "intent": i.name, "path": i.path, "status": i.status} for i in result.intents]
        print_json({"levels": result.levels, "intents": rows})
        return
    shown = [(i.path or "", i.name, i.status, f"{i.size:,}") for i in result.intents]
    print_table(("group", "intent", "status", "size"), shown)
    counted = " and ".join(map(str, result.levels))
    print(f"\n{counted} groups, stored in {model}: predictions and exports have them as `path`")


def diff(
    before: Annotated[Path, typer.Argument(help="The folder of the earlier model.")],
    after: Annotated[Path, typer.Argument(help="The folder of the later model.")],
    show_kept: Annotated[bool, typer.Option("--all", help="Show the intents that were kept as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Compare two models as they are reviewed: which intents were kept, renamed, split or merged, are new or gone."""
    from newfound.workflows.comparing import diff as run_workflow

    result = run_workflow(before, after, encoder=encoder)
    if as_json:
        print_json({"counts": result.counts, **asdict(result)})
        return
    earlier, later = (printable(folder.resolve().name) for folder in (before, after))
    counted = ", ".join(f"{n} {change}" for change, n in result.counts.items() if n)
    print(f"{earlier}: {result.utterances_before:,} utterances; {later}: {result.utterances_after:,}")
    print(f"{result.shared:,} utterances are in both. Intents: {counted}")
    shown = [change for change in result.changes if show_kept or change.change != "kept"]
    if shown:
        print()
        rows = [(c.change, _intents(c.before), _intents(c.after), _ids(c), _examples(c)) for c in shown]
        print_table(("", "before", "after", "id", "utterances"), rows, INTENTS_SHOWN)


def _intents(intents: tuple[DiffIntent, ...]) -> str:
    return _lines([f"{intent.name} ({intent.size:,})" for intent in intents])


def _ids(change: IntentChange) -> str:
    return _lines([intent.id for intent in change.after or change.before])


def _lines(lines: Sequence[str]) -> str:
    """Return the first lines, as thousands of intents may have been merged."""
    return "\n".join([*lines[:LINES_SHOWN], *(["…"] if len(lines) > LINES_SHOWN else [])])


def _examples(change: IntentChange) -> str:
    """Return an utterance of each intent of the side with more intents, where a reader must know what they are."""
    side = change.before if len(change.before) > len(change.after) else change.after
    count = 2 if len(side) == 1 else 1
    return "" if change.change == "kept" else _lines([examples(i.examples, count=count, width=60) for i in side])
