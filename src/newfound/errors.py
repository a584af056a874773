"""The exceptions a user can meet.

Each carries the facts, and its message says what is wrong and what can be done about it in words that hold for every
door. The command line adds the flags to use (`newfound.cli.errors`), the server its status codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class NewfoundError(Exception):
    """Base of every error that newfound raises on purpose."""


class DataError(NewfoundError):
    """A file of utterances cannot be used as it is."""


class ColumnMissing(DataError):
    """A file has no column of the wanted name, or several that could be meant.

    Attributes:
        role: What the column holds: "text" or "label".
        in_logs: Whether the file holds the logs, where another file holds the known intents.
    """

    def __init__(
        self,
        where: str,
        column: str,
        role: str,
        found: Sequence[str] = (),
        *,
        ambiguous: bool = False,
        may_lack_header: bool = False,
    ) -> None:
        self.where, self.column, self.role, self.found = where, column, role, tuple(found)
        self.in_logs = False
        names = ", ".join(self.found[:8])[:120] or "nothing"
        problem = f"{names} could each hold the {role}" if ambiguous else f"no column {column!r} (found: {names})"
        header = ", or that there is no header line" if may_lack_header else ""
        super().__init__(f"{where}: {problem}; say which column holds the {role}{header}")


class HeaderMissing(DataError):
    """The first line of a table looks like data, not like names of columns."""

    def __init__(self, where: str, found: Sequence[str]) -> None:
        self.where, self.found = where, tuple(found)
        shown = ", ".join(repr(name) for name in self.found[:4])[:120]
        super().__init__(
            f"{where}: this looks like an utterance, not like column names ({shown}); say that there is no header "
            "line, or which column holds the text"
        )


class NoKnownIntents(DataError):
    """A method that needs known intents got none, or a single one."""

    def __init__(self, method: str, found: int) -> None:
        what = "only one known intent" if found == 1 else "no known intents (no utterance has a label)"
        super().__init__(
            f"{what}, and {method} needs at least two; give more of them, or use consensus or kmeans, which need none"
        )


class NothingToFineTuneOn(DataError):
    """Fine-tuning was asked for without two known intents to learn from."""

    def __init__(self, known: int) -> None:
        what = "only one intent is known" if known == 1 else "no intents are known"
        super().__init__(
            f"{what}, so there is nothing to fine-tune the encoder on; without labels fine-tuning spoils its vectors. "
            "Use effort quick, which leaves the encoder as it is, or label some utterances of at least two intents"
        )


class ConflictingLabels(DataError):
    """Texts have more than one label.

    Attributes:
        conflicts: The texts, each with its lines and labels (`newfound.data.conflicts.Conflict`).
        shown: The message without the remedy.
    """

    def __init__(self, shown: str, conflicts: Sequence[Any], listed: Path | None = None) -> None:
        self.shown, self.conflicts = shown, tuple(conflicts)
        where = "" if listed is None else f" (all: {listed})"
        super().__init__(f"{shown}{where}; keep one of them, or have the first label kept, or have such texts dropped")


class FormatUnknown(DataError):
    """Neither the caller nor the file's name says which format a file has."""

    def __init__(self, path: str, seen: str, formats: Sequence[str]) -> None:
        self.path, self.formats = path, tuple(formats)
        super().__init__(f"{path}: cannot tell the format from {seen}; say which it is (one of {', '.join(formats)})")


class FormatMismatch(DataError):
    """A file is readable, but is not of the format it was read as."""


class WrongEncoding(DataError):
    """A file's bytes are not in the character encoding it was read with."""

    def __init__(self, where: str, byte: int, encoding: str, likely: str | None) -> None:
        guess = "" if likely is None else f" (likely {likely})"
        super().__init__(
            f"{where}: byte 0x{byte:02x} is not {encoding.upper()}; save the file as UTF-8, or name its encoding{guess}"
        )


class NothingToExport(DataError):
    """An export would hold nothing.

    Attributes:
        left_out: The number of utterances that were left out because nobody labelled or accepted them.
    """

    def __init__(self, left_out: int, *, only_accepted: bool = False) -> None:
        self.left_out = left_out
        if left_out:
            message = (
                f"nobody has labelled or accepted any of the {left_out:,} utterances; accept intents in the review, or "
                "include what the model has guessed, with a lower probability"
            )
        elif only_accepted:
            message = "no intent was accepted yet; accept some in the review, or export all of them"
        else:
            message = "no intent that was asked for has an utterance; ask for others"
        super().__init__(f"nothing to export: {message}")


class SettingsError(NewfoundError):
    """An option or parameter has a value that cannot work."""


class TargetExists(SettingsError):
    """Something is in the place that was to be written.

    Attributes:
        path: The place.
        replaceable: Whether it may be replaced if the caller says so.
    """

    def __init__(self, path: Path, reason: str = "exists", *, replaceable: bool = True) -> None:
        self.path, self.replaceable = path, replaceable
        remedy = "choose another place, or allow it to be replaced" if replaceable else "choose another place"
        super().__init__(f"{path} {reason}; {remedy}")


class UnfinishedRun(SettingsError):
    """A folder holds the checkpoints of a fit that was stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"{folder} holds an unfinished run; resume it, or start anew")


class RunMismatch(SettingsError):
    """Checkpoints cannot be resumed: they belong to another fit, or are damaged."""

    def __init__(self, folder: Path, reason: str, *, repeatable: bool = False) -> None:
        self.folder = folder
        super().__init__(f"{folder}: {reason}; {'repeat that fit, or start anew' if repeatable else 'start anew'}")


class NoGpu(SettingsError):
    """A GPU was asked for on a machine on which torch sees none."""

    def __init__(self) -> None:
        super().__init__("device='cuda', but torch sees no GPU here; use the CPU")


class NoInt8(SettingsError):
    """int8 was asked for where it cannot be computed: on a GPU, or of an encoder that is to be trained."""

    def __init__(self, *, training: bool = False) -> None:
        super().__init__(
            "precision='int8' is for a frozen encoder (tune='heads'); training needs fp32"
            if training
            else "precision='int8' is for the CPU; choose device='cpu', or fp32"
        )


class MissingExtra(SettingsError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{what} needs {package}; install it with: pip install 'newfound[{extra}]'")


class ProcessLost(NewfoundError):
    """One of several processes that train together has ended, or does not answer any more.

    Attributes:
        rank: The number of the process that noticed it, counted from 0.
        count: How many processes there were.
    """

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count
        super().__init__(
            f"one of the {count} processes has ended or does not answer; see its own message, and start all of them "
            "again"
        )


class OutputError(NewfoundError):
    """What was computed cannot be written: the disk is full, the folder is read-only, or the reader has gone."""


class EngineError(NewfoundError):
    """A cluster cannot be reached, or its workers die again and again."""


class EncoderError(NewfoundError):
    """An encoder cannot be found, verified or split."""


class OtherWeights(EncoderError):
    """An encoder was found, but it is not the one that was expected: weights, tokenizer or pooling differ."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"encoder {name!r} has other weights, another tokenizer or another pooling than expected")


class NotSplittable(EncoderError):
    """An encoder's family has no known layers, so that only heads on its vectors can be trained."""

    def __init__(self, family: str, families: Sequence[str]) -> None:
        self.family = family
        super().__init__(
            f"encoders of the family {family!r} cannot be split into trunk and tail; train heads only (tune='heads'), "
            f"or use an encoder of one of these families: {', '.join(families)}"
        )


class ModelError(NewfoundError):
    """A saved model folder is missing, damaged or of another version."""


class ModelMissing(ModelError):
    """There is no model folder at a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"{folder}: no such model folder; discover intents first and save the model there")


class EncoderMismatch(ModelError):
    """The encoder that a model was fitted on is not the one that was found, or was not found at all."""

    def __init__(self, folder: Path, reason: str) -> None:
        self.folder = folder
        super().__init__(f"{folder}: {reason}; say where its encoder is")


class Interrupted(NewfoundError):
    """The user pressed Ctrl-C; what had been reached is kept and can be resumed.

    Attributes:
        folder: Where the checkpoints are; None if there are none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        kept = "nothing was reached yet" if folder is None else f"what was reached lies in {folder}"
        super().__init__(f"stopped; {kept}")


class ExperimentError(NewfoundError):
    """Some runs of an experiment failed; the finished ones are kept."""


class DecisionError(NewfoundError):
    """A review decision cannot be applied to the intents as they are."""


class NothingAccepted(DecisionError):
    """Another round was asked for before any new intent was accepted."""

    def __init__(self) -> None:
        super().__init__("no new intent was accepted yet; accept some first, or accept all of them")


class ConflictError(NewfoundError):
    """Somebody else decided in the meantime; look again before you decide."""
