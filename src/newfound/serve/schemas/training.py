"""The bodies of answers about jobs that train, and about files for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from newfound.model.types import KnownCheck
from newfound.workflows.refitting import RefitChanges
from newfound.workflows.updating import UpdateChanges


@dataclass(frozen=True, slots=True)
class Discovered:
    """What a discovery or an update has found.

    Attributes:
        new: The names of the new intents.
        known: The number of known intents.
        utterances: The number of distinct utterances of the logs.
        known_check: How well known intents are classified, on held-out labels; None if that was not measured.
        changes: What an update changed; None for a discovery.
    """

    new: tuple[str, ...]
    known: int
    utterances: int
    known_check: KnownCheck | None = None
    changes: UpdateChanges | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """The last job in the background, and its progress.

    Attributes:
        step: The step under way.
        done: How much of this step is done, of `total`; both are 0 if that is not known.
        folder: The name of the folder that was written, beside the served one.
        steps: All steps, as far as they are known.
        step_titles: What steps do, in words.
        seconds: How long it has run.
        changes: What a refit changed.
        discovered: What a discovery or an update has found.
        warnings: What went wrong without ending the job, in its order.
        version: The version of the review that it learns from.
    """

    kind: str = ""
    status: Literal["idle", "running", "done", "failed", "cancelled"] = "idle"
    author: str = ""
    step: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    folder: str | None = None
    steps: Sequence[str] = ()
    step_titles: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    changes: RefitChanges | None = None
    discovered: Discovered | None = None
    warnings: Sequence[str] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """What was decided since the served model was trained, and is in effect.

    Attributes:
        answers: Utterances that a person has put into an intent, or confirmed.
        accepted: New intents that were accepted.
        merged: Intents that were merged into others.
        renamed: Intents that were renamed.
        split: Intents that were split.
        rejected: Intents that were rejected.
    """

    answers: int
    accepted: int
    merged: int
    renamed: int
    split: int
    rejected: int


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What a training would learn from, the last job, and the models that can be served.

    Attributes:
        version: The version of the review.
        name: The name of the served model's folder.
        earlier: The name of the model that was served before; None if none was.
        decided: What was decided since the model was trained.
        undecided: New intents that nobody has accepted.
        job: The last job.
        max_bytes: The largest file that can be sent.
        endings: The endings of names of files that can be sent.
    """

    version: int
    name: str
    earlier: str | None
    decided: ReviewCounts
    undecided: int
    job: JobState
    max_bytes: int
    endings: list[str]


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A row of a file, and its label if labels are read."""

    text: str
    label: str | None


@dataclass(frozen=True, slots=True)
class FilePreview:
    """What a file of utterances holds, or why it cannot be used.

    Attributes:
        id: Send it with `/v1/update` or `/v1/discover`; None if the file cannot be used.
        name: The name of the file.
        problem: Why it cannot be used, and what to do about it.
        remedies: Keys of what can be done about it: text_column, label_column, no_header and others.
        columns: The names of its columns.
        text_column: The column that the utterances are read from.
        label_column: The column that the intents are read from.
        utterances: The number of utterances.
        intents: The number of intents; 0 if labels are not read.
        first: The first rows.
        notes: What is unusual in it.
    """

    id: str | None
    name: str
    problem: str | None = None
    remedies: Sequence[str] = ()
    columns: Sequence[str] = ()
    text_column: str | None = None
    label_column: str | None = None
    utterances: int = 0
    intents: int = 0
    first: Sequence[PreviewRow] = ()
    notes: Sequence[str] = ()
