"""Options that several commands have, alone and in groups (`newfound.cli.option_groups`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

import typer

from newfound import defaults
from newfound.cli.parsing import one_of
from newfound.data.readers import READERS
from newfound.data.rows import ReadOptions
from newfound.encoders.registry import RELEASES
from newfound.errors import SettingsError
from newfound.llm.settings import DEFAULT_ANSWER_TOKENS, DEFAULT_REQUEST_BUDGET, LanguageModelSettings
from newfound.methods.registry import METHODS


def join_names(names: Any, conjunction: str = "or") -> str:
    """Return names as `a, b or c`."""
    *others, last = map(str, names)
    return f"{', '.join(others)} {conjunction} {last}" if others else last


KnownArgument = Annotated[
    Path,
    typer.Argument(
        help="A file of labelled utterances of the known intents. Without a second file, its utterances without a "
        "label are the logs; if none has a label, no intent is known and all are discovered."
    ),
]
LogsArgument = Annotated[Path | None, typer.Argument(help="A file of unlabelled utterances.", show_default=False)]
ModelArgument = Annotated[Path, typer.Argument(help="A model folder.")]
MethodOption = Annotated[str, typer.Option("--method", help=f"The discovery method: {join_names(METHODS)}.")]
EncoderOption = Annotated[
    str, typer.Option("--encoder", help=f"{', '.join(RELEASES)}, a folder, or owner/name on the Hugging Face hub.")
]
TuneOption = Annotated[
    str, typer.Option("--tune", help="What trains: heads, last, last:K, layers, all; auto leaves it to the effort.")
]
EffortOption = Annotated[
    str,
    typer.Option(
        "--effort",
        help="quick (frozen encoder, seconds), standard (fine-tunes it, minutes on a CPU), best (and then in rounds); "
        "auto is standard on a GPU, else quick.",
    ),
]
ModelEncoderOption = Annotated[
    str | None,
    typer.Option("--encoder", help="The folder of the model's encoder, if the model folder does not have it."),
]
PrecisionOption = Annotated[
    str, typer.Option("--precision", help="fp32, or int8: faster on a CPU, with probabilities that differ a little.")
]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
SeedOption = Annotated[
    int, typer.Option("--seed", help="The random seed. The same seed on the same device gives the same result.")
]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="First mask e-mail addresses, card numbers, IBANs and telephone numbers.")
]
MaxLogsOption = Annotated[
    int, typer.Option("--max-logs", help="Distinct utterances of the logs to learn from: larger logs are sampled.")
]

TextColumnOption = Annotated[
    str | None,
    typer.Option(
        "--text-column", help="The column that holds the utterance. By default it is found by its name, such as text."
    ),
]
LabelColumnOption = Annotated[
    str | None,
    typer.Option(
        "--label-column", help="The column that holds the intent. By default it is found by its name, such as label."
    ),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help=f"{join_names(READERS)}. By default, the file's extension decides.")
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="The files' character encoding.")]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="What separates the fields of a table: a character, or tab. By default it is found out."
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether a table starts with a line of column names. Without one, columns are named 1, 2 and so on.",
        show_default=False,
    ),
]
ConflictsOption = Annotated[
    str,
    typer.Option(
        "--conflicts",
        help="What to do with a text that has several labels: error, first (keep its first label) or drop.",
    ),
]


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where texts are classified."""

    PANEL: ClassVar = "Where texts are classified"
    engine: Annotated[str, typer.Option(help="local, or ray: on a cluster, or on all cores of this machine.")] = (
        defaults.ENGINE
    )
    ray_address: Annotated[
        str | None,
        typer.Option(help="The cluster, such as `10.0.0.1:6379`. By default $RAY_ADDRESS, else this machine."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many Ray workers; by default one for each GPU, or else each core.")
    ] = None

    def request_fields(self) -> dict[str, Any]:
        """Return the fields of a request."""
        engine = one_of(self.engine, "--engine", *get_args(defaults.Engine))
        if engine == "local" and (self.ray_address is not None or self.workers is not None):
            raise SettingsError("--ray-address and --workers are for --engine ray")
        return {"engine": engine, "ray_address": self.ray_address, "workers": self.workers}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How unlabelled utterances are read."""

    PANEL: ClassVar = "Reading files"
    text_column: TextColumnOption = defaults.TEXT_COLUMN
    format: FormatOption = None
    encoding: EncodingOption = defaults.ENCODING
    delimiter: DelimiterOption = None
    header: HeaderOption = None

    def read_options(self) -> ReadOptions:
        """Return how the file is read."""
        return ReadOptions(**asdict(self))


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How labelled utterances are read."""

    PANEL: ClassVar = "Reading files"
    text_column: TextColumnOption = defaults.TEXT_COLUMN
    label_column: LabelColumnOption = defaults.LABEL_COLUMN
    format: FormatOption = None
    encoding: EncodingOption = defaults.ENCODING
    delimiter: DelimiterOption = None
    header: HeaderOption = None

    def read_options(self) -> ReadOptions:
        """Return how the file is read."""
        return ReadOptions(**asdict(self))


@dataclass(frozen=True, slots=True)
class LogsFileOptions:
    """How the logs are read where they differ from the known intents."""

    PANEL: ClassVar = "Reading files"
    logs_text_column: Annotated[
        str | None, typer.Option(help="The column of the utterances in the logs, if not --text-column.")
    ] = None
    logs_format: Annotated[str | None, typer.Option(help="The format of the logs, if it differs from --format.")] = None

    def read_options(self, files: FileOptions) -> ReadOptions:
        """Return how the logs are read, where the options for both files are given."""
        both = files.read_options()
        text_column = self.logs_text_column or both.text_column
        return replace(both, text_column=text_column, format=self.logs_format or both.format)


@dataclass(frozen=True, slots=True)
class LanguageModelOptions:
    """Which language model may be asked."""

    PANEL: ClassVar = "A language model"
    llm: Annotated[
        str | None,
        typer.Option(
            help="The address of an OpenAI-compatible endpoint of a language model that may be asked. Utterances are "
            "sent to it (docs/howto/language-model.md says which).",
            metavar="URL",
        ),
    ] = None
    llm_model: Annotated[str, typer.Option(help="The model to ask for at --llm.")] = ""
    llm_budget: Annotated[int, typer.Option(min=0, help="How many requests may be sent to --llm in one run.")] = (
        DEFAULT_REQUEST_BUDGET
    )
    llm_answer_tokens: Annotated[int, typer.Option(min=1, help="The longest answer of --llm, in tokens.")] = (
        DEFAULT_ANSWER_TOKENS
    )
    llm_transcript: Annotated[
        Path | None, typer.Option(help="Append what --llm was asked and answered to this file, as JSON lines.")
    ] = None

    def settings(self) -> LanguageModelSettings | None:
        """Return which language model may be asked; None for none."""
        if self.llm is None:
            return None
        return LanguageModelSettings(
            self.llm,
            self.llm_model,
            self.llm_budget,
            transcript=self.llm_transcript,
            answer_tokens=self.llm_answer_tokens,
        )
