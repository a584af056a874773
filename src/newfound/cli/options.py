"""Options that several commands have: alone, in groups, and the parsers of values that are given as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args, get_type_hints

import typer

from newfound import defaults
from newfound.data.readers import READERS
from newfound.data.rows import ReadOptions, Turns
from newfound.defaults import NoIntent
from newfound.encoders.registry import RELEASES
from newfound.errors import SettingsError
from newfound.llm.settings import DEFAULT_ANSWER_TOKENS, DEFAULT_REQUEST_BUDGET, LanguageModelSettings
from newfound.model.hub import model_folder
from newfound.text import join_words

Result = TypeVar("Result")


def whole_number_or_auto(text: str, option: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{option} {text}: give a whole number, or auto") from None


def parse_share(text: str | None, option: str) -> float | None:
    """Parse a share, such as `5%` or `0.05`; None stays None."""
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SettingsError(f"{option} {text}: give a share, such as 5% or 0.05")
    return value


def share_without_intent(text: str) -> NoIntent:
    """Parse how many utterances are to have no intent: a share, auto or none."""
    if text in ("auto", "none"):
        return cast(Literal["auto", "none"], text)
    return parse_share(text, "--no-intent") or "none"


ModelArgument = Annotated[
    Path, typer.Argument(help="A model folder, or hf://owner/name on the Hugging Face hub.", parser=model_folder)
]
EncoderOption = Annotated[
    str, typer.Option("--encoder", help=f"{', '.join(RELEASES)}, a folder, or owner/name on the Hugging Face hub.")
]
TuneOption = Annotated[
    str,
    typer.Option("--tune", help="What trains: heads, last, last:K, upper, layers, all; auto leaves it to the effort."),
]
EffortOption = Annotated[
    str,
    typer.Option(
        "--effort",
        help="quick (frozen encoder, seconds), standard (fine-tunes its upper half), best (the same, and all layers if "
        "the logs hold new intents only); auto is standard if there are enough labels.",
    ),
]
ModelEncoderOption = Annotated[
    str | None,
    typer.Option("--encoder", help="The folder of the model's encoder, if the model folder does not have it."),
]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
SeedOption = Annotated[
    int, typer.Option("--seed", help="The random seed. The same seed on the same device gives the same result.")
]


@dataclass(frozen=True, slots=True)
class LogOptions:
    PANEL: ClassVar = "Reading files"
    text_column: Annotated[
        str | None,
        typer.Option(help="The column that holds the utterance. By default it is found by its name, such as text."),
    ] = defaults.TEXT_COLUMN
    format: Annotated[
        str | None, typer.Option(help=f"{join_words(READERS, 'or')}. By default, the file's extension decides.")
    ] = None
    encoding: Annotated[str, typer.Option(help="The files' character encoding.")] = defaults.ENCODING
    delimiter: Annotated[
        str | None,
        typer.Option(help="What separates the fields of a table: a character, or tab. By default it is found out."),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether a table starts with a line of column names. Without one, columns are named 1, 2 and so on.",
            show_default=False,
        ),
    ] = None
    conversation_column: Annotated[
        str | None, typer.Option(help="The column that says to which conversation a turn belongs.")
    ] = None
    speaker_column: Annotated[str | None, typer.Option(help="The column that says who speaks.")] = None
    speaker: Annotated[
        str | None, typer.Option(help="Whose turns are the utterances. By default those of a customer or user.")
    ] = None
    user_column: Annotated[
        str | None, typer.Option(help="The column that says which person wrote an utterance; hashes of it are kept.")
    ] = None
    value_columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of numbers, or of yes and no, whose means each intent shows, such as `resolved,cost`.",
        ),
    ] = None
    turns: Annotated[
        Turns, typer.Option(help="Of conversations, learn from turns that state a wish (three at most), or from all.")
    ] = "wishes"
    mask: Annotated[
        str,
        typer.Option(
            help="What utterances are read without: mentions, links, numbers, ids, emails and files with a word on "
            "each line, such as `ids,cities.txt`; none; or auto, what most of the logs hold.",
        ),
    ] = "auto"

    def read_options(self) -> ReadOptions:
        names = [field.name for field in fields(ReadOptions) if hasattr(self, field.name)]
        values = {name: getattr(self, name) for name in names}
        mask = None if self.mask == "auto" else () if self.mask == "none" else _names_in(self.mask)
        return ReadOptions(**{**values, "value_columns": _names_in(self.value_columns), "mask": mask})


@dataclass(frozen=True, slots=True)
class FileOptions(LogOptions):
    label_column: Annotated[
        str | None,
        typer.Option(help="The column that holds the intent. By default it is found by its name, such as label."),
    ] = defaults.LABEL_COLUMN


@dataclass(frozen=True, slots=True)
class LanguageModelOptions:
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
        if self.llm is None:
            return None
        return LanguageModelSettings(
            self.llm,
            self.llm_model,
            self.llm_budget,
            transcript=self.llm_transcript,
            answer_tokens=self.llm_answer_tokens,
        )


def with_option_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Return a command in which each parameter of a dataclass type is replaced by the fields of that type.

    The help shows the options of each type in a panel of its own, which its class variable `PANEL` names.
    """
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
                annotation=_in_panel(types[field.name], hints[name].PANEL),
            )
            for field in fields(hints[name])
        ]

    @wraps(command)
    def grouped(**values: Any) -> Result:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    grouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return grouped


def _names_in(listed: str | None) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, (listed or "").split(","))))


def _in_panel(annotation: Any, panel: str) -> Any:
    """Return the annotation of an option with the panel of the help that shows it."""
    kind, option = get_args(annotation)
    option = copy(option)  # other commands may have the same option elsewhere
    option.rich_help_panel = panel
    return Annotated[kind, option]
