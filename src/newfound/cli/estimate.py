"""The command that estimates how many new intents there are."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from newfound import defaults
from newfound.cli.options import (
    ConflictsOption,
    EncoderOption,
    FileOptions,
    KnownArgument,
    LogsArgument,
    LogsFileOptions,
    MaxLogsOption,
    RedactOption,
    SeedOption,
)
from newfound.cli.parsing import conflict_policy, logs_contain, one_of
from newfound.cli.progress import reporter_for_terminal

if TYPE_CHECKING:
    from newfound.algorithms.estimation import Strategy


def estimate(
    known: KnownArgument,
    files: FileOptions,
    logs_file: LogsFileOptions,
    logs: LogsArgument = None,
    strategy: Annotated[
        str, typer.Option(help="mean (in mixed logs), tree, resolution (for logs of new intents only), or auto.")
    ] = "auto",
    holds: Annotated[
        str, typer.Option("--logs-contain", help="mixed: the logs hold known intents too; novel: new intents only.")
    ] = defaults.LOGS_HOLD,
    out: Annotated[Path | None, typer.Option(help="Write estimate.json and estimate.png to this folder.")] = None,
    encoder: EncoderOption = defaults.ENCODER,
    seed: SeedOption = defaults.SEED,
    conflicts: ConflictsOption = defaults.CONFLICTS,
    mask: RedactOption = False,
    max_logs: MaxLogsOption = defaults.MAX_LOGS,
) -> None:
    """Estimate how many new intents the logs contain, with an interval. Nothing is trained."""
    chosen = cast("Strategy", one_of(strategy, "--strategy", "auto", "mean", "tree", "resolution"))
    from newfound.workflows import EstimateRequest
    from newfound.workflows.estimation import estimate as run_workflow

    request = EstimateRequest(
        known,
        logs,
        strategy=chosen,
        logs_hold=logs_contain(holds),
        encoder=encoder,
        seed=seed,
        read=files.read_options(),
        read_logs=logs_file.read_options(files),
        conflicts=conflict_policy(conflicts),
        redact=mask,
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
    logs_option = "" if holds == defaults.LOGS_HOLD else f" --logs-contain {holds}"
    given = shlex.join(str(path) for path in (known, logs) if path is not None)
    print(f"Next: newfound discover {given} --n-new {result.n_new}{logs_option} --out MODEL")
