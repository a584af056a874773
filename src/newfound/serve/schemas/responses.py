"""The bodies of answers that are not values of the review or of a workflow as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from newfound.exports.registry import LANGUAGE_CODE
from newfound.model.types import Intent, Prediction
from newfound.review.decisions import MAX_COMMENT_LENGTH
from newfound.review.proposals import MIN_SEPARATION_TO_SUGGEST
from newfound.review.views import (
    MAX_UTTERANCES_TO_MOVE,
    ConfusedPair,
    IntentDetails,
    QueueItem,
    ReviewState,
)
from newfound.serve.schemas.requests import MAX_TEXTS_IN_A_REQUEST
from newfound.serve.settings import MAX_NAME_LENGTH
from newfound.workflows.checking import LabelError, NearDuplicate
from newfound.workflows.exporting import ExportCounts

MAX_UTTERANCES_IN_A_REQUEST = 500
MAX_QUEUE_IN_A_REQUEST = 200


@dataclass(frozen=True, slots=True)
class Predictions:
    """The intents of a batch of texts, in the order of the texts."""

    predictions: list[Prediction]


@dataclass(frozen=True, slots=True)
class Intents:
    """All intents."""

    intents: list[Intent]


@dataclass(frozen=True, slots=True)
class Grouped(Intents):
    """All intents in the order of their groups, and the number of groups at each level, coarsest first."""

    levels: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSummary(ExportCounts):
    """What an export holds."""

    intents: int
    utterances: int


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format to export to.

    Attributes:
        about: What the platform or the reader gets.
    """

    name: str
    title: str
    about: str
    suffix: str


@dataclass(frozen=True, slots=True)
class Exports:
    """The formats, and what an export holds as the review stands.

    Attributes:
        default: What people labelled or accepted.
        accepted: With `only=accepted`: the accepted intents.
        all: With `with_guesses=true`: what nobody labelled or accepted as well.
    """

    formats: list[ExportFormat]
    default: ExportSummary
    accepted: ExportSummary
    all: ExportSummary


@dataclass(frozen=True, slots=True)
class Served:
    """The model that is served now.

    Attributes:
        model: Identifies it; send it with a decision.
        name: The name of its folder.
    """

    model: str
    name: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of requests, and thresholds above or below which something is pointed out to a reviewer.

    Attributes:
        low_certainty: Intents that are less certain need attention.
        min_separation: Silhouette of two parts of an intent that are clearly apart.
        max_typical_outlier: Texts with a higher outlier score are unlike all intents.
        max_name_length: Characters of an intent's name.
        max_comment_length: Characters of a comment.
        max_texts_to_classify: Texts in a request of /v1/predict.
        max_utterances_to_move: Utterances that one decision moves if they are named by their numbers.
        max_queue: Utterances of the queue in a request.
        language_pattern: Regular expression of a language code.
        seconds_between_news: How often the page asks what other reviewers have decided.
    """

    low_certainty: float = 0.8
    min_separation: float = MIN_SEPARATION_TO_SUGGEST
    max_typical_outlier: float = 0.95
    max_name_length: int = MAX_NAME_LENGTH
    max_comment_length: int = MAX_COMMENT_LENGTH
    max_texts_to_classify: int = MAX_TEXTS_IN_A_REQUEST
    max_utterances_to_move: int = MAX_UTTERANCES_TO_MOVE
    max_queue: int = MAX_QUEUE_IN_A_REQUEST
    language_pattern: str = LANGUAGE_CODE.pattern
    seconds_between_news: float = field(kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedState(ReviewState):
    """All intents, the progress, and the version to send with a decision.

    Attributes:
        model: Identifies the served model; send it with a decision.
        name: The name of its folder.
        limits: What the page must know of the server's limits and thresholds.
    """

    model: str
    name: str
    limits: Limits


class FromAttributes(BaseModel):
    """A body that `model_validate` makes of an object with these attributes and others that are not sent."""

    model_config = ConfigDict(from_attributes=True)


class EventOut(FromAttributes):
    """Something that somebody decided or undid."""

    at: str
    author: str
    words: str = Field(description="What happened, as a sentence without its full stop")


class EntryOut(FromAttributes):
    """A decision: who made it and when, and who undid it."""

    id: int
    at: str
    author: str
    kind: str
    words: str = Field(description="What was decided, as the rest of a sentence that begins with the author's name")
    arguments: dict[str, Any]
    undone_at: str | None
    undone_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Served):
    """What happened since a version of the review.

    Attributes:
        events: The latest ones, in their order.
        job: The status of the last job in the background.
    """

    version: int
    events: list[EventOut]
    job: str


@dataclass(frozen=True, slots=True)
class AllDetails:
    """Examples of all intents, and proposals."""

    version: int
    intents: list[IntentDetails]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of intents that are most often mixed up."""

    pairs: list[ConfusedPair]


@dataclass(frozen=True, slots=True)
class Queue:
    """The utterances that should be checked first.

    Attributes:
        expected_error: The expected share of the logs whose intent is wrong.
    """

    version: int
    items: list[QueueItem]
    expected_error: float


@dataclass(frozen=True, slots=True)
class Decided:
    """The recorded decisions, and the version after them."""

    version: int
    entries: list[EntryOut]


@dataclass(frozen=True, slots=True)
class Undone:
    """What was undone, and the version after it.

    Attributes:
        undone: The last decision, if several were undone together.
        entries: All that were undone.
    """

    version: int
    undone: EntryOut
    entries: list[EntryOut]


@dataclass(frozen=True, slots=True)
class EarlierTraining:
    """A training that led to the served model, and the decisions that it learned from. They cannot be undone.

    Attributes:
        kind: refit or update.
        model: The name of the model that was trained from.
        at: When the training began.
        author: Who started it; None if that is not known.
        total: The number of its decisions.
        entries: The latest of them, in their order.
    """

    kind: str
    model: str
    at: str
    author: str | None
    total: int
    entries: list[EntryOut]


@dataclass(frozen=True, slots=True)
class Log:
    """The latest decisions, in their order.

    Attributes:
        total: The number of all decisions that were asked for.
        earlier: What was decided before the model was trained, the first training first.
    """

    total: int
    entries: list[EntryOut]
    earlier: list[EarlierTraining]


class EstimateOut(FromAttributes):
    """The estimated number of new intents, with a 90 % interval."""

    n_new: int
    low: int
    high: int


class LabelUse(BaseModel):
    """A label that a text has."""

    line: int
    label: str


def _with_names(uses: Sequence[tuple[int, str]]) -> list[LabelUse]:
    return [LabelUse(line=line, label=label) for line, label in uses]


class LabelConflict(FromAttributes):
    """A text with several labels."""

    text: str
    uses: Annotated[list[LabelUse], BeforeValidator(_with_names)]


class CheckOut(FromAttributes):
    """What known data should be looked at for."""

    utterances: int
    intents: int
    label_errors: list[LabelError]
    near_duplicates: list[NearDuplicate]
    conflicts: list[LabelConflict]
    few_examples: Annotated[dict[str, int], BeforeValidator(dict)] = Field(
        description="Intents with few examples, and how many they have"
    )
    misspelt: Annotated[dict[str, str], BeforeValidator(dict)] = Field(
        description="Labels that are likely misspelt, and the label that is likely meant"
    )


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the server works."""

    status: str
