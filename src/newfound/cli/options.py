"""The options that commands share, and option groups: dataclasses whose fields become options of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from newfound import defaults
from newfound.data.readers import READERS
from newfound.encoders.registry import RELEASES
from newfound.exports.registry import EXPORTS
from newfound.methods.registry import METHODS

Result = TypeVar("Result")


def _listed(names: Any, last: str = "or") -> str:
    *most, final = map(str, names)
    return f"{', '.join(most)} {last} {final}" if most else final


def with_option_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Let a command take option groups: each parameter of a dataclass type is replaced by the fields of that type."""
    hints = get_type_hints(command, include_extras=True)
    parameters, groups = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = hints[name]
        types = get_type_hints(hints[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=types[field.name],
            )
            for field in fields(hints[name])
        ]

    @wraps(command)
    def grouped(**given: Any) -> Result:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    grouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return grouped


KnownArgument = Annotated[Path, typer.Argument(help="Labelled utterances of the known intents (text, label).")]
LogsArgument = Annotated[Path, typer.Argument(help="Unlabelled utterances (text).")]
ModelArgument = Annotated[Path, typer.Argument(help="A model folder.")]
MethodOption = Annotated[str, typer.Option("--method", help=f"The discovery method: {_listed(METHODS)}.")]
EncoderOption = Annotated[str, typer.Option("--encoder", help=f"{', '.join(RELEASES)}, a folder, or owner/name.")]
TuneOption = Annotated[
    str, typer.Option("--tune", help="What trains: heads, last, last:K, all; auto is last on a GPU, else heads.")
]
EffortOption = Annotated[
    str,
    typer.Option(
        "--effort", help="quick (heads on frozen vectors) or best (trains the encoder's last layer); auto by device."
    ),
]
LogsHoldOption = Annotated[
    str | None,
    typer.Option("--logs", help="mixed: the logs hold known intents too; novel: new intents only, as in the paper."),
]
NumberOfNewOption = Annotated[str, typer.Option("--n-new", help="How many new intents to look for, or auto.")]
ModelEncoderOption = Annotated[str | None, typer.Option("--encoder", help="Where the model's encoder lies.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same device: the same result.")]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="Mask e-mail addresses, card numbers, IBANs and telephone numbers first.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what is at --out.")]
ModelOutOption = Annotated[Path, typer.Option("--out", help="The model folder to write.")]
ExportFormatOption = Annotated[str, typer.Option("--to", help=f"{_listed(EXPORTS)}.")]

TextColumnOption = Annotated[str, typer.Option("--text-column", help="The column that holds the utterance.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", help=f"{_listed(READERS)}; by the file's extension otherwise.")
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="The files' character encoding.")]


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How unlabelled utterances are read."""

    text_column: TextColumnOption = defaults.TEXT_COLUMN
    format: FormatOption = None
    encoding: EncodingOption = defaults.ENCODING


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How labelled and unlabelled utterances are read."""

    text_column: TextColumnOption = defaults.TEXT_COLUMN
    label_column: Annotated[str, typer.Option("--label-column", help="The column that holds the intent.")] = (
        defaults.LABEL_COLUMN
    )
    format: FormatOption = None
    encoding: EncodingOption = defaults.ENCODING


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How a model is fitted."""

    effort: EffortOption = defaults.EFFORT
    tune: TuneOption = defaults.TUNE
    device: DeviceOption = defaults.DEVICE
    seed: SeedOption = defaults.SEED


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What becomes of a run that is stopped."""

    force: ForceOption = False
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run with the same --out was.")] = False
    checkpoint_seconds: Annotated[
        float, typer.Option("--checkpoint-seconds", help="Least time between two checkpoints.")
    ] = defaults.CHECKPOINT_SECONDS


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """What a model folder holds besides the model."""

    with_encoder: Annotated[bool, typer.Option("--with-encoder", help="Put the encoder into the model folder too.")] = (
        False
    )
    keep_utterances: Annotated[
        bool,
        typer.Option(
            "--keep-utterances/--no-keep-utterances", help="In the model folder; review, export and update need them."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class NamerOptions:
    """Who names the new intents."""

    namer: Annotated[
        str | None,
        typer.Option(
            "--namer", help="An OpenAI-compatible endpoint that names the new intents; exemplars are sent to it."
        ),
    ] = None
    namer_model: Annotated[str, typer.Option("--namer-model", help="The model to ask for at --namer.")] = ""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where a server listens."""

    host: Annotated[str, typer.Option("--host", help="Where to listen; any but this machine needs a token.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")] = 8765
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file with the secret that every request must carry.")
    ] = None


RESULTS = Path("benchmarks/results")


@dataclass(frozen=True, slots=True)
class CellOptions:
    """Which runs of an experiment are meant, and where their results are."""

    methods: Annotated[str, typer.Option("--methods", help="Comma-separated; the experiment's own otherwise.")] = ""
    benchmarks: Annotated[str, typer.Option("--benchmarks", help="GID-SD, GID-CD, GID-MD.")] = ""
    ratios: Annotated[str, typer.Option("--ratios", help="Share of new intents: 20, 40, 60.")] = ""
    splits: Annotated[str, typer.Option("--splits", help="1, 2, 3.")] = ""
    seeds: Annotated[str, typer.Option("--seeds", help="Comma-separated.")] = ""
    encoder: EncoderOption = defaults.ENCODER
    tune: TuneOption = defaults.TUNE
    device: DeviceOption = defaults.DEVICE
    out: Annotated[Path, typer.Option("--out", help="Where the result files are.")] = RESULTS
