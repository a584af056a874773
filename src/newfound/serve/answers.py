"""The bodies of answers that are not values of the review or of a workflow as they are, and those of refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from newfound.exports.registry import LANGUAGE_CODE
from newfound.model.types import Prediction
from newfound.review.decisions import MAX_COMMENT_LENGTH
from newfound.review.entries import Entry, Event
from newfound.review.proposals import MIN_SEPARATION_TO_SUGGEST
from newfound.review.store import Training
from newfound.review.views import MAX_UTTERANCES_TO_MOVE, IntentDetails, QueueItem, ReviewState
from newfound.serve.bodies import MAX_TEXTS_IN_A_REQUEST
from newfound.serve.jobs import JobState
from newfound.serve.settings import MAX_NAME_LENGTH
from newfound.workflows.exporting import ExportCounts

MAX_UTTERANCES_IN_A_REQUEST = 500
MAX_QUEUE_IN_A_REQUEST = 200


@dataclass(frozen=True, slots=True)
class Predictions:
    """The intents of a batch of texts, in the order of the texts."""

    predictions: list[Prediction]


@dataclass(frozen=True, slots=True)
class Exports:
    """The formats, and what an export holds as the review stands.

    Attributes:
        formats: Of each its name, its title, what it is about, and the suffix of its files.
        default: What people labelled or accepted.
        accepted: With `only=accepted`: the accepted intents.
        all: With `with_guesses=true`: what nobody labelled or accepted as well.
    """

    formats: list[dict[str, str]]
    default: ExportCounts
    accepted: ExportCounts
    all: ExportCounts


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
        min_separation: Silhouette of two parts of an intent that are clearly apart.
        max_typical_outlier: Texts with a higher outlier score are unlike all intents.
        max_utterances_to_move: Utterances that one decision moves if they are named by their numbers.
        seconds_between_news: How often the page asks what other reviewers have decided.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Served):
    """What happened since a version of the review.

    Attributes:
        events: The latest ones, in their order.
        job: The status of the last job in the background.
    """

    version: int
    events: list[Event]
    job: str


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What a training would learn from, the last job, and the models that can be served.

    Attributes:
        name: The name of the served model's folder.
        earlier: The name of the model that was served before; None if none was.
        decided: What was decided since the model was trained, and is in effect: how many utterances have an answer, and
            how many intents are accepted, merged, renamed, split and rejected.
        undecided: New intents that nobody has accepted.
        max_bytes: The largest file that can be sent.
        endings: The endings of names of files that can be sent.
    """

    version: int
    name: str
    earlier: str | None
    decided: Mapping[str, int]
    undecided: int
    job: JobState
    max_bytes: int
    endings: list[str]


@dataclass(frozen=True, slots=True)
class AllDetails:
    """Examples of all intents, and proposals."""

    version: int
    intents: list[IntentDetails]


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
    """The decisions that were recorded or undone, and the version after them."""

    version: int
    entries: list[Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTraining(Training):
    """A training that led to the served model, and the latest decisions that it learned from. They cannot be undone.

    Attributes:
        total: The number of its decisions.
    """

    total: int


@dataclass(frozen=True, slots=True)
class Log:
    """The latest decisions, in their order.

    Attributes:
        total: The number of all decisions that were asked for.
        earlier: What was decided before the model was trained, the first training first.
    """

    total: int
    entries: list[Entry]
    earlier: list[EarlierTraining]


class WrongField(BaseModel):
    """A field of a request that is not valid."""

    where: list[str] = Field(description="The way to the field, for instance body, texts, 0")
    what: str = Field(description="What is wrong with it")


class Problem(BaseModel):
    """Why a request was not answered."""

    detail: str | list[WrongField] = Field(description="One sentence, or what is wrong with which field")
    entry: int | None = Field(None, description="The number of the decision in the way (409), if it can be undone")


REFUSALS: dict[int | str, dict[str, Any]] = {  # what any request may be answered with
    "4XX": {"model": Problem, "description": "The request cannot be answered as it is"},
    "5XX": {"model": Problem, "description": "The server cannot answer it now; a 503 can be tried again"},
}
