"""The commands about how good a model is without labels: audit, thresholds, and why a prediction was made."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from newfound import defaults
from newfound.cli.options import DeviceOption, FileOptions, ModelArgument, ModelEncoderOption, share
from newfound.cli.progress import reporter_for_terminal
from newfound.cli.show import print_json, print_table, printable
from newfound.errors import DataError, SettingsError
from newfound.text import percent, shorten

if TYPE_CHECKING:
    from newfound.algorithms.audit import Estimate
    from newfound.review.explaining import Explanation
    from newfound.training.progress import Reporter
    from newfound.workflows.auditing import AuditResult, LogAudit
    from newfound.workflows.prediction import PredictRequest

MAX_WRONG_SHOWN = 5
ANSWERS = {"y": True, "n": False, "u": None}


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
    if result.outdated:
        print(f"{result.outdated} answers do not count: their intents were merged, divided or rejected since.")
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
    files: FileOptions,
    precision: Annotated[str | None, typer.Option(help="The share of predictions to be right, e.g. `95%`.")] = None,
    labelled: Annotated[
        Path | None, typer.Option(help="A file of labelled utterances that the model has not learned from.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the thresholds away.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the thresholds as JSON.")] = False,
    encoder: ModelEncoderOption = None,
    device: DeviceOption = defaults.DEVICE,
) -> None:
    """Write the least probability of each intent that keeps a promised precision; predictions say if they reach it."""
    from newfound.workflows.thresholding import thresholds as run_workflow

    if remove is (precision is not None):
        raise SettingsError("say which precision is promised with --precision 95%, or take thresholds away: --remove")
    wanted = share(precision, "--precision")
    settings: dict[str, Any] = {"encoder": encoder, "device": device, "read": files.read_options()}
    result = run_workflow(model, wanted, labelled, **settings, reporter=reporter_for_terminal())
    if as_json:
        print_json(asdict(result))
        return
    if wanted is None:
        print(f"Took the thresholds of {model} away")
        return
    rows = [
        (i.name, "–" if i.threshold is None else f"{i.threshold:.3f}", percent(i.precision), percent(i.coverage))
        for i in result.intents
    ]
    print_table(
        ("intent", "threshold", "precision", "above"),
        [*rows, ("in all", "", percent(result.expected), percent(result.coverage))],
    )
    if any(i.precision is None for i in result.intents):
        print(f"\n–: no utterance of this intent in the logs is sure enough for {percent(wanted)}.")
        print(
            "Its threshold is the probability from which on a prediction of any intent is sure enough, if there is one."
        )
    if not result.answers and not result.labelled:
        print("\nThe precision is the model's own estimate. Answers of `newfound audit`, or --labelled, make it surer.")
    print("Predictions now have above_threshold.")


def print_explanations(request: PredictRequest, reporter: Reporter | None) -> None:
    """Print why texts get their intents, as they arrive."""
    from newfound.workflows.prediction import stream_predictions

    for batch in stream_predictions(request, reporter=reporter):
        for _, prediction in batch:
            print(printable(_in_words(cast("Explanation", prediction))), end="\n\n")


def _in_words(e: Explanation) -> str:
    marked = e.text
    for effect in sorted(e.words, key=lambda word: -word.start):
        marked = f"{marked[: effect.start]}[{effect.word}]{marked[effect.end :]}"
    lines = [marked, f"  {e.intent or 'no intent'} {percent(e.probability)}"]
    if e.runner_up is not None:
        lines.append(f"  runner-up: {e.runner_up.intent} {percent(e.runner_up.probability)}")
    for word in e.words:
        other = "" if word.intent == e.intent else f", and it is {word.intent or 'no intent'}"
        lines.append(f"  without “{word.word}”: {percent(word.probability)}{other}")
    lines += [f"  near: “{shorten(u.text, 60)}” {u.intent or 'no intent'} ({u.labelled_by})" for u in e.utterances]
    return "\n".join(lines)
