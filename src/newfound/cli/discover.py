"""The commands that fit models: demo, discover, estimate, update."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from newfound import defaults
from newfound.cli import parsing
from newfound.cli.option_groups import with_option_groups
from newfound.cli.options import (
    ConflictsOption,
    EncoderOption,
    FileOptions,
    FitOptions,
    FolderOptions,
    ForceOption,
    KnownArgument,
    LanguageModelOptions,
    LogOptions,
    LogsArgument,
    LogsFileOptions,
    LogsHoldOption,
    MaxLogsOption,
    MethodOption,
    ModelEncoderOption,
    ModelOutOption,
    NoIntentOption,
    NumberOfNewOption,
    RedactOption,
    RunOptions,
    SeedOption,
)
from newfound.cli.parsing import one_of, precision_named, whole_number_or_auto
from newfound.cli.progress import reporter_for_terminal
from newfound.cli.show import print_new_intents, print_next, print_table, print_without_intent
from newfound.defaults import Conflicts, LogsHold

if TYPE_CHECKING:
    from newfound.algorithms.estimation import Strategy


def add_to(app: typer.Typer) -> None:
    """Register the commands of this module."""
    for command in (demo, discover, estimate, update):
        app.command()(with_option_groups(command))


def demo(
    fit: FitOptions,
    out: ModelOutOption = Path("newfound-demo"),
    force: ForceOption = False,
    method: MethodOption = defaults.METHOD,
) -> None:
    """Discover intents in the corpus that comes with newfound, and score the result."""
    from newfound.algorithms.metrics import both_protocols
    from newfound.data.demo_corpus import load_demo
    from newfound.files import check_replaceable
    from newfound.workflows import DiscoverRequest
    from newfound.workflows.discovery import discover as run

    check_replaceable(out, force)
    task = load_demo()
    observed = task.observed_train
    print(
        f"A utility company's chat logs: {len(observed.labelled()):,} labelled utterances of {len(task.known)} known "
        f"intents,\n{len(observed.unlabelled()):,} unlabelled ones. How many new intents are in those, and which?\n"
    )
    request = DiscoverRequest(
        observed.labelled(),
        observed.unlabelled(),
        out,
        method=method,
        # The demo's logs hold new intents only, as in the paper's benchmarks, so that both protocols can score it.
        logs_hold="novel",
        overwrite=force,
        **_fit_settings(fit),
    )
    result = run(request, reporter=reporter_for_terminal())
    print_new_intents(result.intents)
    predicted = result.model.predict_ids(task.test.texts)
    scores = both_protocols(task.gold_ids(task.test), predicted, len(task.known))
    print(f"\nIn truth there are {len(task.new)} new intents; {result.n_new} were found. On {len(task.test)} held-out")
    print("utterances, in percent (what the protocols mean: docs/protocols.md):\n")
    print_table(
        ("protocol", "IND ACC", "OOD ACC", "OOD F1", "ALL ACC", "ALL F1"),
        [(name, *(f"{value:.1f}" for value in score.as_dict().values())) for name, score in scores.items()],
    )
    print_next(out, "my smart meter went blank")


def discover(
    known: KnownArgument,
    files: FileOptions,
    logs_file: LogsFileOptions,
    fit: FitOptions,
    run: RunOptions,
    folder: FolderOptions,
    asking: LanguageModelOptions,
    out: ModelOutOption,
    logs: LogsArgument = None,
    method: MethodOption = defaults.METHOD,
    n_new: NumberOfNewOption = "auto",
    holds: LogsHoldOption = None,
    no_intent: NoIntentOption = "auto",
    encoder: EncoderOption = defaults.ENCODER,
    conflicts: ConflictsOption = defaults.CONFLICTS,
    mask: RedactOption = False,
    max_logs: MaxLogsOption = defaults.MAX_LOGS,
) -> None:
    """Find new intents in logs, and train one classifier for known and new intents."""
    from newfound.workflows import DiscoverRequest
    from newfound.workflows.discovery import discover as run_workflow

    request = DiscoverRequest(
        known,
        logs,
        out,
        method=method,
        n_new=whole_number_or_auto(n_new, "--n-new"),
        logs_hold=None if holds is None else _logs_hold(holds),
        no_intent=parsing.no_intent(no_intent),
        encoder=encoder,
        read=files.reading(),
        read_logs=logs_file.reading(files),
        conflicts=_conflicts(conflicts),
        redact=mask,
        llm=asking.settings(),
        overwrite=run.force,
        resume=run.resume,
        checkpoint_seconds=run.checkpoint_seconds,
        with_encoder=folder.with_encoder,
        keep_utterances=folder.keep_utterances,
        max_logs=max_logs,
        **_fit_settings(fit),
    )
    result = run_workflow(request, reporter=reporter_for_terminal())
    print_new_intents(result.intents)
    print_without_intent(result.model.utterances)
    print_next(out, result.logs.texts[0])


def estimate(
    known: KnownArgument,
    files: FileOptions,
    logs_file: LogsFileOptions,
    logs: LogsArgument = None,
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            help="tree, resolution (for logs of new intents only), drop (as published), or auto.",
        ),
    ] = "auto",
    holds: Annotated[
        str, typer.Option("--logs", help="mixed: the logs hold known intents too; novel: new intents only.")
    ] = defaults.LOGS_HOLD,
    expected: Annotated[
        int | None, typer.Option("--expected", min=1, help="For the strategy drop: the expected number of new intents.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write estimate.json and estimate.png to this folder.")
    ] = None,
    encoder: EncoderOption = defaults.ENCODER,
    seed: SeedOption = defaults.SEED,
    conflicts: ConflictsOption = defaults.CONFLICTS,
    max_logs: MaxLogsOption = defaults.MAX_LOGS,
) -> None:
    """Estimate how many new intents the logs contain, with an interval. Nothing is trained."""
    chosen = cast("Strategy", one_of(strategy, "--strategy", "auto", "tree", "resolution", "drop"))
    logs_hold = _logs_hold(holds)
    from newfound.workflows import EstimateRequest
    from newfound.workflows.estimation import estimate as run_workflow

    request = EstimateRequest(
        known,
        logs,
        strategy=chosen,
        logs_hold=logs_hold,
        expected=expected,
        encoder=encoder,
        seed=seed,
        read=files.reading(),
        read_logs=logs_file.reading(files),
        conflicts=_conflicts(conflicts),
        max_logs=max_logs,
    )
    result = run_workflow(request, reporter=reporter_for_terminal())
    print(
        f"About {result.n_new} new intents; {result.low} to {result.high} in nine of ten cases "
        f"(strategy {result.strategy})."
    )
    if out is not None:
        from newfound.report.figures import draw_estimate

        print(f"Written: {', '.join(map(str, draw_estimate(result, out)))}")
    logs_option = "" if holds == defaults.LOGS_HOLD else f" --logs {holds}"
    given = shlex.join(str(path) for path in (known, logs) if path is not None)
    print(f"Next: newfound discover {given} --n-new {result.n_new}{logs_option} --out MODEL")


def update(
    model: Annotated[Path, typer.Argument(help="A model folder whose intents were reviewed.")],
    logs: Annotated[Path, typer.Argument(help="Newer unlabelled utterances (text).")],
    files: LogOptions,
    fit: FitOptions,
    asking: LanguageModelOptions,
    out: ModelOutOption,
    n_new: NumberOfNewOption = "auto",
    accept_all: Annotated[
        bool, typer.Option("--accept-all", help="Treat all intents of the model as known, reviewed or not.")
    ] = False,
    no_intent: NoIntentOption = "auto",
    encoder: ModelEncoderOption = None,
    mask: RedactOption = False,
    force: ForceOption = False,
    max_logs: MaxLogsOption = defaults.MAX_LOGS,
) -> None:
    """Find new intents in newer logs. Intents that were accepted in the review count as known."""
    from newfound.workflows import UpdateRequest
    from newfound.workflows.updating import update as run_workflow

    request = UpdateRequest(
        model,
        logs,
        out,
        n_new=whole_number_or_auto(n_new, "--n-new"),
        no_intent=parsing.no_intent(no_intent),
        accept_all=accept_all,
        encoder=encoder,
        read=files.reading(),
        redact=mask,
        llm=asking.settings(),
        overwrite=force,
        max_logs=max_logs,
        **_fit_settings(fit),
    )
    result = run_workflow(request, reporter=reporter_for_terminal())
    print_new_intents(result.intents)
    print_without_intent(result.model.utterances)
    print_next(out, result.logs.texts[0])


def _fit_settings(fit: FitOptions) -> dict[str, Any]:
    return {
        "effort": fit.effort,
        "tune": fit.tune,
        "device": fit.device,
        "seed": fit.seed,
        "precision": precision_named(fit.precision),
    }


def _conflicts(text: str) -> Conflicts:
    return cast(Conflicts, one_of(text, "--conflicts", "error", "first", "drop"))


def _logs_hold(text: str) -> LogsHold:
    return cast(LogsHold, one_of(text, "--logs", "novel", "mixed"))
