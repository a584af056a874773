"""The commands that learn from logs: demo, discover, estimate, update; and the one that writes example data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from newfound import defaults
from newfound.cli import options, show
from newfound.defaults import Conflicts, LogsHold
from newfound.methods.registry import METHODS
from newfound.text import join_words

if TYPE_CHECKING:
    from newfound.workflows.discovery import DiscoverResult

KnownArgument = Annotated[
    Path,
    typer.Argument(
        help="A file of labelled utterances of the known intents. Without a second file, its utterances without a "
        "label are the logs; if none has a label, no intent is known and all are discovered."
    ),
]
LogsArgument = Annotated[Path | None, typer.Argument(help="A file of unlabelled utterances.", show_default=False)]
MethodOption = Annotated[str, typer.Option("--method", help=f"The discovery method: {join_words(METHODS, 'or')}.")]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="First mask e-mail addresses, card numbers, IBANs and telephone numbers.")
]
MaxLogsOption = Annotated[
    int, typer.Option(help="Distinct utterances of the logs to learn from: larger logs are sampled.")
]
TimeColumnOption = Annotated[
    str | None,
    typer.Option(help="The column of the logs that holds times. By default one is found by its values and name."),
]
NumberOfNewOption = Annotated[str, typer.Option("--n-new", help="How many new intents to look for, or auto.")]
NoIntentOption = Annotated[
    str,
    typer.Option(
        "--no-intent", help="Utterances of the logs that are to have no intent: auto, a share such as 10%, or none."
    ),
]
SeveralOption = Annotated[
    bool | None,
    typer.Option(
        "--several/--no-several",
        show_default=False,
        help="Divide messages of the logs that state several wishes, and learn their parts; by default, if many do.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an earlier model at --out.")]
ModelOutOption = Annotated[Path, typer.Option("--out", help="The model folder to write.")]
data = typer.Typer(help="Write example data.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class InputFileOptions(options.FileOptions):
    """How known intents and logs are read, where they may differ."""

    logs_text_column: Annotated[
        str | None, typer.Option(help="The column of the utterances in the logs, if not --text-column.")
    ] = None
    logs_format: Annotated[str | None, typer.Option(help="The format of the logs, if it differs from --format.")] = None
    time_column: TimeColumnOption = defaults.TIME_COLUMN
    conflicts: Annotated[
        Conflicts,
        typer.Option(
            help="What to do with a text of several labels: error, first (keep its first label) or drop.",
            metavar="<how>",
        ),
    ] = defaults.CONFLICTS
    redact: RedactOption = False
    max_logs: MaxLogsOption = defaults.MAX_LOGS

    def keywords(self) -> dict[str, Any]:
        read = self.read_options()
        text_column, format = self.logs_text_column or read.text_column, self.logs_format or read.format
        chosen = {"conflicts": self.conflicts, "redact": self.redact, "max_logs": self.max_logs}
        return {"read": read, "read_logs": replace(read, text_column=text_column, format=format), **chosen}


@dataclass(frozen=True, slots=True)
class NewerLogOptions(options.LogOptions):
    time_column: TimeColumnOption = defaults.TIME_COLUMN
    redact: RedactOption = False
    max_logs: MaxLogsOption = defaults.MAX_LOGS


@dataclass(frozen=True, slots=True)
class FitOptions:
    PANEL: ClassVar = "Fitting"
    effort: options.EffortOption = defaults.EFFORT
    tune: options.TuneOption = defaults.TUNE
    device: options.DeviceOption = defaults.DEVICE
    seed: options.SeedOption = defaults.SEED


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run can be resumed or repeated."""

    PANEL: ClassVar = "Repeating and resuming"
    overwrite: ForceOption = False
    resume: Annotated[bool, typer.Option("--resume", help="Continue a stopped run with the same --out.")] = False
    checkpoint_seconds: Annotated[float, typer.Option(help="The minimum time between two checkpoints, in seconds.")] = (
        defaults.CHECKPOINT_SECONDS
    )


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """What a model folder contains besides the model."""

    PANEL: ClassVar = "The model folder"
    with_encoder: Annotated[bool, typer.Option("--with-encoder", help="Copy the encoder into the model folder.")] = (
        False
    )
    keep_utterances: Annotated[
        bool,
        typer.Option(
            "--keep-utterances/--no-keep-utterances",
            help="Store utterances in the model folder. Review, export and update need them. Without them, only the "
            "intents' names and keywords are stored.",
        ),
    ] = True


@data.command("get")
def get(
    name: Annotated[Literal["demo"], typer.Argument(help="demo.")],
    to: Annotated[Path, typer.Option(help="The folder for its files: known.csv, logs.csv and held-out.csv.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace its files.")] = False,
) -> None:
    """Write the demo corpus as the files of a user."""
    from newfound.data.demo_corpus import write_demo

    for path, rows in write_demo(to, overwrite=force).items():
        print(f"{path}: {rows:,} utterances")


def demo(
    fit: FitOptions,
    out: ModelOutOption = Path("newfound-demo"),
    force: ForceOption = False,
) -> None:
    """Discover intents in the files that `newfound data get demo` writes, as `discover` does, and score the result."""
    from newfound.algorithms.metrics import strict_scores
    from newfound.data.demo_corpus import load_demo_of_a_user
    from newfound.files import check_replaceable
    from newfound.workflows.discovery import discover as run_workflow

    check_replaceable(out, force)
    task = load_demo_of_a_user()
    known, logs = task.observed_train.labelled(), task.observed_train.unlabelled()
    print(
        f"A utility company's bot: {len(known):,} labelled utterances of {len(task.known)} known intents, and "
        f"{len(logs):,} from its logs,\nof known intents, new ones and none. Which new intents are there?\n"
    )
    reporter = show.reporter_for_terminal()
    result = run_workflow(known, logs, out, overwrite=force, **asdict(fit), reporter=reporter)
    _print_findings(result, out)
    score = strict_scores(task.gold_ids(task.test), result.model.predict_ids(task.test.texts), len(task.known))
    print(
        f"\nIn truth there are {len(task.new)} new intents; {result.n_new} were found. Of {len(task.test)} held-out "
        f"utterances,\n{score.all_acc:.1f} % get the right intent: {score.ind_acc:.1f} % of the known intents', "
        f"{score.ood_acc:.1f} % of the new ones' (docs/protocols.md, strict)."
    )
    show.print_next(out, "my smart meter went blank")


def discover(
    known: KnownArgument,
    files: InputFileOptions,
    fit: FitOptions,
    run: RunOptions,
    folder: FolderOptions,
    asking: options.LanguageModelOptions,
    out: ModelOutOption,
    logs: LogsArgument = None,
    method: MethodOption = defaults.METHOD,
    n_new: NumberOfNewOption = "auto",
    holds: Annotated[
        LogsHold | None,
        typer.Option(
            "--logs-contain",
            help="mixed: the logs contain known intents too; novel: only new intents, as in the paper.",
        ),
    ] = None,
    no_intent: NoIntentOption = "auto",
    several: SeveralOption = None,
    encoder: options.EncoderOption = defaults.ENCODER,
) -> None:
    """Find new intents in logs, and train one classifier for known and new intents."""
    from newfound.workflows.discovery import discover as run_workflow

    result = run_workflow(
        known,
        logs,
        out,
        method=method,
        n_new=options.whole_number_or_auto(n_new, "--n-new"),
        logs_hold=holds,
        no_intent=options.share_without_intent(no_intent),
        several=several,
        encoder=encoder,
        llm=asking.settings(),
        **files.keywords(),
        **asdict(fit),
        **asdict(run),
        **asdict(folder),
        reporter=show.reporter_for_terminal(),
    )
    _print_result(result, out)


def estimate(
    known: KnownArgument,
    files: InputFileOptions,
    logs: LogsArgument = None,
    holds: Annotated[
        LogsHold,
        typer.Option("--logs-contain", help="mixed: the logs hold known intents too; novel: new intents only."),
    ] = defaults.LOGS_HOLD,
    encoder: options.EncoderOption = defaults.ENCODER,
) -> None:
    """Estimate how many new intents the logs contain, with an interval. Nothing is trained."""
    from newfound.workflows.discovery import estimate as run_workflow

    result = run_workflow(
        known,
        logs,
        logs_hold=holds,
        encoder=encoder,
        **files.keywords(),
        reporter=show.reporter_for_terminal(),
    )
    if result.is_vague:
        print(f"About {result.n_new} new intents, but the data hardly say how many there are.")
    else:
        print(f"About {result.n_new} new intents; {result.low} to {result.high} in nine of ten cases.")


def update(
    model: Annotated[Path, typer.Argument(help="A model folder whose intents were reviewed.")],
    logs: Annotated[Path, typer.Argument(help="Newer unlabelled utterances (text).")],
    files: NewerLogOptions,
    fit: FitOptions,
    asking: options.LanguageModelOptions,
    out: ModelOutOption,
    n_new: NumberOfNewOption = "auto",
    accept_all: Annotated[
        bool, typer.Option("--accept-all", help="Treat all intents of the model as known, reviewed or not.")
    ] = False,
    no_intent: NoIntentOption = "auto",
    several: SeveralOption = None,
    encoder: options.ModelEncoderOption = None,
    force: ForceOption = False,
) -> None:
    """Find new intents in newer logs. Intents that were accepted in the review count as known."""
    from newfound.workflows.updating import update as run_workflow

    result = run_workflow(
        model,
        logs,
        out,
        n_new=options.whole_number_or_auto(n_new, "--n-new"),
        no_intent=options.share_without_intent(no_intent),
        several=several,
        accept_all=accept_all,
        encoder=encoder,
        read=files.read_options(),
        redact=files.redact,
        max_logs=files.max_logs,
        llm=asking.settings(),
        overwrite=force,
        **asdict(fit),
        reporter=show.reporter_for_terminal(),
    )
    _print_result(result, out)
    show.print_update(result.changes)


def _print_result(result: DiscoverResult, out: Path) -> None:
    _print_findings(result, out)
    show.print_next(out, result.logs.texts[0])


def _print_findings(result: DiscoverResult, out: Path) -> None:
    show.print_new_intents(result.intents)
    show.print_without_intent(result.model.utterances)
    show.print_known_check(result.known_check, out)
