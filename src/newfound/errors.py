"""The exceptions a user can meet.

An error states the facts and carries keys for what can be done about it. `REMEDIES` has the words for these keys that
hold in Python and over HTTP alike; the command line has its own, which name its options (`newfound.cli.errors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REMEDIES = {
    "accept": "accept intents in the review",
    "accept_all": "accept all of them",
    "accept_some": "accept some first",
    "address": "check its address",
    "anew": "start anew",
    "conflicts": "keep one of them, or have the first label kept, or have such texts dropped",
    "conversation_column": "say which column holds the conversations",
    "cpu": "use the CPU",
    "discover": "discover intents first and save the model there",
    "encoder": "say where its encoder is",
    "encoding": "name its encoding",
    "fewer_workers": "choose fewer workers",
    "format": "say which format it has",
    "guesses": "include what the model has guessed, with a lower probability",
    "heads": "train heads only (tune='heads')",
    "host": "choose another host or port",
    "hub_token": "log in to the hub, or set HF_TOKEN",
    "known": "give more of them",
    "label_column": "say which column holds the label",
    "label_some": "label some utterances of at least two intents",
    "local": "use 127.0.0.1",
    "logs_text_column": "say which column of the logs holds the text",
    "method": "use consensus or kmeans, which need none",
    "no_header": "say that there is no header line",
    "other_encoder": "use an encoder of another family",
    "place": "choose another place",
    "publish_texts": "refit the model first, or publish its utterances as well",
    "put_none_aside": "put no utterance aside",
    "quick": "use effort quick, which leaves the encoder as it is",
    "repeat": "repeat that fit",
    "replace": "allow it to be replaced",
    "resume": "resume it",
    "speaker": "say whose turns are the customers'",
    "speaker_column": "say which column says who speaks",
    "text_column": "say which column holds the text",
    "time_column": "say which column holds the times",
    "token": "give a token",
    "user_column": "say which column holds the people",
    "utf8": "save the file as UTF-8",
    "values_column": "name columns that are there",
    "words": "give logs that hold words",
}
"""What can be done about an error, by key. Every interface may have other words for a key."""


class NewfoundError(Exception):
    """Base of every error that newfound raises on purpose.

    Attributes:
        message: What is wrong.
        remedies: Keys of what can be done about it, any one of them; see `REMEDIES`.
    """

    def __init__(self, message: str, *remedies: str) -> None:
        super().__init__(message)
        self.message, self.remedies = message, remedies

    def __str__(self) -> str:
        return self.in_words_of({})

    def in_words_of(self, remedies: Mapping[str, str]) -> str:
        """Return the message and its remedies in the words of an interface, and in those of `REMEDIES` by default."""
        words = [remedies.get(key) or REMEDIES[key] for key in self.remedies]
        return "; ".join([self.message, *([", or ".join(words)] if words else [])])


class DataError(NewfoundError):
    """A file of utterances cannot be used as it is."""


class ColumnMissing(DataError):
    """A file has no column of the wanted name, or several that could be meant; `role` is "text", "label" or "time"."""

    def __init__(
        self,
        where: str,
        column: str,
        role: str,
        names: Sequence[str] = (),
        *,
        ambiguous: bool = False,
        may_lack_header: bool = False,
    ) -> None:
        self.role, self.names = role, tuple(names)
        shown = ", ".join(names[:8])[:120] or "nothing"
        problem = f"{shown} could each hold the {role}" if ambiguous else f"no column {column!r} (found: {shown})"
        super().__init__(f"{where}: {problem}", f"{role}_column", *(["no_header"] if may_lack_header else []))


class NoKnownIntents(DataError):
    """A method that needs known intents got none, or a single one."""

    def __init__(self, method: str, n_known: int) -> None:
        what = "only one known intent" if n_known == 1 else "no known intents (no utterance has a label)"
        super().__init__(f"{what}, and {method} needs at least two", "known", "method")


class NothingToFineTuneOn(DataError):
    """Fine-tuning was asked for without two known intents to learn from."""

    def __init__(self, known: int) -> None:
        what = "only one intent is known" if known == 1 else "no intents are known"
        problem = "so there is nothing to fine-tune the encoder on; without labels fine-tuning spoils its vectors"
        super().__init__(f"{what}, {problem}", "quick", "label_some")


class ConflictingLabels(DataError):
    """Texts have more than one label.

    Attributes:
        conflicts: The texts, each with its lines and labels (`newfound.data.validation.Conflict`).
    """

    def __init__(self, message: str, conflicts: Sequence[Any]) -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(message, "conflicts")


class NothingToExport(DataError):
    """An export would hold nothing; `left_out` utterances are neither labelled nor accepted by a person."""

    def __init__(self, left_out: int) -> None:
        self.left_out = left_out
        if left_out:
            problem = f"nobody has labelled or accepted any of the {left_out:,} utterances"
            super().__init__(f"nothing to export: {problem}", "accept", "guesses")
        else:
            super().__init__(
                "nothing to export: the chosen intents have no utterance; accept some, or export all of them"
            )


class SettingsError(NewfoundError):
    """An option or parameter has a value that cannot work."""


class TargetExists(SettingsError):
    """Something is in the place that was to be written. It may be replaced if the caller says so, and if it may be."""

    def __init__(self, path: Path, reason: str = "exists", *, replaceable: bool = True) -> None:
        super().__init__(f"{path} {reason}", "place", *(["replace"] if replaceable else []))


class MissingExtra(SettingsError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}; install it with: pip install 'newfound[{extra}]'")


class OutputError(NewfoundError):
    """What was computed cannot be written: the disk is full, the folder is read-only, or the reader has gone."""


class EngineError(NewfoundError):
    """A cluster cannot be reached, or its workers die again and again."""


class EncoderError(NewfoundError):
    """An encoder cannot be found, verified or split."""


class OtherWeights(EncoderError):
    """An encoder was found, but it is not the one that was expected: weights, tokenizer or pooling differ."""

    def __init__(self, name: str) -> None:
        super().__init__(f"encoder {name!r} has other weights, another tokenizer or another pooling than expected")


class NotSplittable(EncoderError):
    """An encoder's family has no known layers, so that only heads on its vectors can be trained."""

    def __init__(self, family: str, families: Sequence[str]) -> None:
        problem = f"encoders of the family {family!r} cannot be split into trunk and tail, only those of "
        super().__init__(problem + ", ".join(families), "heads", "other_encoder")


class ModelError(NewfoundError):
    """A saved model folder is missing, damaged or of another version."""


class EncoderMismatch(ModelError):
    """The encoder that a model was fitted on is not the one that was found, or was not found at all."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: {reason}", "encoder")


class HubError(NewfoundError):
    """A model cannot be fetched from the Hugging Face hub, or put there."""


class Interrupted(NewfoundError):
    """The user pressed Ctrl-C; what had been reached is kept and can be resumed."""

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            super().__init__("stopped; nothing was reached yet")
        else:
            super().__init__(f"stopped; what was reached lies in {folder}", "resume")


class DecisionError(NewfoundError):
    """A review decision cannot be applied to the intents as they are."""


class ConflictError(NewfoundError):
    """Somebody else decided in the meantime; look again before you decide.

    Attributes:
        entry: The number of the decision that is in the way and can be undone; None if there is none.
    """

    def __init__(self, message: str, *, entry: int | None = None) -> None:
        super().__init__(message)
        self.entry = entry
