"""The commands about the quality of known data and of a model's intents: problems, accuracy, groups, changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from newfound import defaults
from newfound.cli.options import EncoderOption, FileOptions, ModelArgument, ModelEncoderOption, parse_share
from newfound.cli.show import print_json, print_table, printable, reporter_for_terminal
from newfound.errors import DataError, SettingsError
from newfound.text import percent, shorten

if TYPE_CHECKING:
    from newfound.algorithms.audit import Estimate
    from newfound.workflows.auditing import AuditResult, LogAudit
    from newfound.workflows.checking import CheckResult
    from newfound.workflows.comparing import DiffIntent, IntentChange

MAX_WRONG_SHOWN = 5
ROWS_SHOWN = 15
MAX_CHARACTERS_SHOWN = 70
ANSWERS = {"y": True, "n": False, "u": None}


def check(
    known: Annotated[Path, typer.Argument(help="A file of labelled utterances of the known intents.")],
    files: FileOptions,
    out: Annotated[Path | None, typer.Option(help="Write all findings to this CSV file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file at --out.")] = False,
    encoder: EncoderOption = defaults.ENCODER,
) -> None:
    """Look for likely label errors and nearly equal intents in the known data. Nothing is changed or trained."""
    from newfound.workflows.checking import check as run_workflow

    result = run_workflow(
        known,
        out,
        encoder=encoder,
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


def audit(
    model: ModelArgument,
    questions: Annotated[
        int, typer.Option(min=0, help="How many questions in all, those answered earlier included; 0 asks nothing.")
    ] = 60,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result and the questions that are left as JSON, and ask nothing.")
    ] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Ask whether utterances belong to their intents, and estimate the accuracy. Answers do not change the model."""
    from newfound.workflows.auditing import open_audit

    opened = open_audit(model, encoder)
    if as_json:
        print_json(asdict(opened.result(questions)))
        return
    _ask(opened, questions)
    result = opened.result()
    if result.accuracy is None:
        raise DataError(f"{model}: no answers yet; answer some questions with `newfound audit {model}`")
    _print_audit(result, result.accuracy)


def _ask(opened: LogAudit, count: int) -> None:
    """Ask on the terminal; each answer is kept at once, and u takes the last one back."""
    left, at = opened.questions(count), 0
    while at < len(left):
        question = left[at]
        print(
            f"\n{at + 1} of {len(left)}: “{printable(question.text)}”\nDoes it belong to {printable(question.intent)}?"
        )
        for example in question.examples:
            print(f"  such as: {printable(shorten(example, 80))}")
        said = ""
        while said not in ("y", "n", "s", "q") and not (said == "u" and at):
            try:
                said = input("y, n, s to skip, u to undo, q to stop: ").strip().casefold()[:1]
            except EOFError:
                said = "q"
        if said == "q":
            print()
            return
        at += -1 if said == "u" else 1
        if said != "s":
            about = left[at] if said == "u" else question
            opened.record({(about.text, about.id): ANSWERS[said]})


def _print_audit(result: AuditResult, accuracy: Estimate) -> None:
    print(f"accuracy {_interval(accuracy)} in nine of ten audits, from {result.answered} answers.")
    if result.more_questions:
        print(f"About {result.more_questions} more questions make it ±3 points.")
    print()
    rows = [(i.name, _interval(i.accuracy), f"{i.yes} of {i.answered}") for i in result.intents]
    print_table(("intent", "accuracy", "yes"), rows)
    if result.wrong:
        print("\nThese do not belong to their intents. An answer changes nothing; move them in `newfound review`:")
        for text, intent in result.wrong[:MAX_WRONG_SHOWN]:
            print(printable(f"  “{shorten(text, 80)}” ({intent})"))


def _interval(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({percent(estimate.low)} to {percent(estimate.high)})"


def thresholds(
    model: ModelArgument,
    precision: Annotated[str, typer.Option(help="The share of predictions to be right, e.g. `95%`.")],
    encoder: ModelEncoderOption = None,
) -> None:
    """Write the least probability of each intent that keeps a promised precision; predictions say if they reach it."""
    from newfound.workflows.auditing import thresholds as run_workflow

    result = run_workflow(model, parse_share(precision, "--precision") or 0.0, encoder=encoder)
    rows = [
        (i.name, "–" if i.threshold is None else f"{i.threshold:.3f}", percent(i.precision), percent(i.coverage))
        for i in result.intents
    ]
    print_table(
        ("intent", "threshold", "precision", "above"),
        [*rows, ("in all", "", percent(result.expected), percent(result.coverage))],
    )
    print("Predictions now have above_threshold.")


def group(
    model: ModelArgument,
    levels: Annotated[
        str | None, typer.Option(help="Numbers of groups, one for each level, e.g. `8,30`. By default one level.")
    ] = None,
    encoder: ModelEncoderOption = None,
) -> None:
    """Put known and new intents into groups of related ones, at one level or several, and store them in the model."""
    from newfound.workflows.grouping import group as run_workflow

    try:
        numbers = None if levels is None else [int(number) for number in levels.split(",")]
    except ValueError:
        raise SettingsError(f"--levels {levels}: give whole numbers, such as 8 or 8,30") from None
    result = run_workflow(model, numbers, encoder=encoder)
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
        print_table(("", "before", "after", "id", "utterances"), rows)


def _intents(intents: tuple[DiffIntent, ...]) -> str:
    return "\n".join(f"{intent.name} ({intent.size:,})" for intent in intents)


def _ids(change: IntentChange) -> str:
    return "\n".join(intent.id for intent in change.after or change.before)


def _examples(change: IntentChange) -> str:
    """Return an utterance of each intent of the side with more intents, where a reader must know what they are."""
    side = change.before if len(change.before) > len(change.after) else change.after
    count = 2 if len(side) == 1 else 1
    return "" if change.change == "kept" else "\n".join(shorten(text, 60) for i in side for text in i.examples[:count])
