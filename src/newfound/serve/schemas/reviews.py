"""The bodies of answers about a review."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from newfound.model.types import Status
from newfound.review.entries import Entry
from newfound.review.views import (
    Candidate,
    Explanation,
    IntentDetails,
    IntentPage,
    ListedUtterance,
    LogMap,
    Page,
    PairedUtterance,
    QueueItem,
    ReviewState,
)
from newfound.review.words import in_words
from newfound.serve.schemas.limits import Limits
from newfound.serve.schemas.responses import IntentOut, JobState, Predicted, fields_of


class UtteranceOut(BaseModel):
    """A training utterance and its intent after the review so far."""

    id: int
    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int
    source: str
    checked: bool = Field(description="Whether a person assigned it in the review")

    @classmethod
    def of(cls, utterance: ListedUtterance) -> Self:
        """Return the body for an utterance."""
        return cls(**fields_of(utterance))


class Utterances(BaseModel):
    """Some training utterances."""

    utterances: list[UtteranceOut]


class UtterancePage(Utterances):
    """Some utterances out of many."""

    total: int

    @classmethod
    def of(cls, page: Page) -> Self:
        """Return the body for some utterances."""
        return cls(total=page.total, utterances=[UtteranceOut.of(utterance) for utterance in page.utterances])


class ProgressOut(BaseModel):
    """The progress of the review."""

    accepted: int
    new: int
    checked: int = Field(description="Utterances that a person has assigned")
    expected_error: float = Field(description="Share of the logs whose intent is expected to be wrong")
    without_intent: int = Field(description="Utterances that belong to no intent")


class ListedIntentOut(IntentOut):
    """An intent as the list shows it."""

    number: int = Field(default=0, description="Stays with the intent when it is renamed; its colour is chosen by it")
    comments: int = Field(default=0, description="The number of comments on it")


class StateOut(BaseModel):
    """All intents, the progress, and the version to send with a decision."""

    model: str = Field(description="Identifies the served model; send it with a decision")
    name: str = Field(description="The name of the model's folder")
    version: int
    intents: list[ListedIntentOut]
    progress: ProgressOut
    refit: JobState
    limits: Limits = Limits()

    @classmethod
    def of(cls, state: ReviewState, job: JobState, *, model: str, name: str) -> Self:
        """Return the body for a state of the review."""
        intents = [
            ListedIntentOut.of(intent).model_copy(
                update={"number": state.numbers.get(intent.name, 0), "comments": state.comments.get(intent.name, 0)}
            )
            for intent in state.intents
        ]
        return cls(
            model=model,
            name=name,
            version=state.version,
            intents=intents,
            progress=ProgressOut(**fields_of(state.progress)),
            refit=job,
        )


class EventOut(BaseModel):
    """Something that somebody decided or undid."""

    at: str
    author: str
    words: str = Field(description="What happened, as a sentence without its full stop")


class News(BaseModel):
    """What happened since a version of the review."""

    model: str
    name: str
    version: int
    events: list[EventOut] = Field(description="The latest ones, in their order")
    job: str = Field(description="The status of the last job in the background")
    can_go_back: bool = Field(description="Whether another model was served before this one")


class DetailsOut(BaseModel):
    """What the list shows of an intent besides its summary."""

    name: str
    examples: list[str]
    merge: str | None = Field(description="The intent that it may be the same as")
    overlap: float | None = Field(description="Share of its utterances' neighbours that belong to that intent")
    separation: float | None = Field(description="Silhouette of its two parts, if it should perhaps be split")


class AllDetails(BaseModel):
    """Examples of all intents, and proposals."""

    version: int
    intents: list[DetailsOut]

    @classmethod
    def of(cls, version: int, details: list[IntentDetails]) -> Self:
        """Return the body for the details of all intents."""
        return cls(version=version, intents=[DetailsOut(**fields_of(one)) for one in details])


class PairOut(BaseModel):
    """Two intents that are mixed up."""

    first: str
    second: str
    expected: float = Field(description="How many utterances of one are expected to belong to the other")


class Pairs(BaseModel):
    """The pairs of intents that are most often mixed up."""

    pairs: list[PairOut]


class PairedOut(UtteranceOut):
    """An utterance of one intent, compared with another intent."""

    other: float = Field(description="The probability of the other intent")


class PairPage(BaseModel):
    """The unchecked utterances of two intents, those first that are closest to the other intent."""

    first: list[PairedOut]
    second: list[PairedOut]

    @classmethod
    def of(cls, sides: tuple[list[PairedUtterance], list[PairedUtterance]]) -> Self:
        """Return the body for two intents side by side."""
        first, second = ([PairedOut(**fields_of(p.utterance), other=p.other) for p in side] for side in sides)
        return cls(first=first, second=second)


class MergeOut(BaseModel):
    """Another intent that may mean the same, and pairs of close utterances as evidence."""

    name: str
    status: Status
    overlap: float
    evidence: list[tuple[str, str]]


class PartOut(BaseModel):
    """One part of a proposed split."""

    name: str
    size: int
    utterances: list[str]


class SplitOut(BaseModel):
    """A proposal to split an intent in two."""

    separation: float = Field(description="Silhouette coefficient of the two parts")
    parts: list[PartOut]


class CommentOut(BaseModel):
    """What somebody said about an intent."""

    id: int
    at: str
    author: str
    text: str

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Return the body for a recorded comment."""
        return cls(id=entry.id, at=entry.at, author=entry.author, text=entry.decision.arguments["text"])


class IntentPageOut(IntentOut):
    """One intent in detail, with some of its utterances, the least certain first."""

    merges: list[MergeOut]
    split: SplitOut | None
    total: int
    utterances: list[UtteranceOut]
    comments: list[CommentOut] = Field(description="The latest ones")
    n_comments: int = Field(description="The number of all comments on it")

    @classmethod
    def of_page(cls, page: IntentPage) -> Self:
        """Return the body for the page of an intent."""
        split = page.split
        return cls(
            **IntentOut.of(page.intent).model_dump(),
            merges=[MergeOut(**fields_of(merge)) for merge in page.merges],
            split=None
            if split is None
            else SplitOut(separation=split.separation, parts=[PartOut(**fields_of(part)) for part in split.parts]),
            total=page.total,
            utterances=[UtteranceOut.of(utterance) for utterance in page.utterances],
            comments=[CommentOut.of(entry) for entry in page.comments],
            n_comments=page.n_comments,
        )


class QueueItemOut(UtteranceOut):
    """An utterance that should be checked."""

    candidates: list[tuple[str, float]] = Field(description="Intents it may belong to, with their probability")
    agreement: float = Field(description="Share of its neighbours that have its intent")
    stands_for: int = Field(description="Number of utterances that follow it at the next refit if it is moved")
    asks_about: str | None = Field(description="Intent that may be the same as a candidate; it stands for all of it")

    @classmethod
    def of_item(cls, item: QueueItem) -> Self:
        """Return the body for an item of the queue."""
        return cls(
            **fields_of(item.utterance),
            candidates=_pairs(item.candidates),
            agreement=item.agreement,
            stands_for=item.stands_for,
            asks_about=item.asks_about,
        )


class QueueOut(BaseModel):
    """The utterances that should be checked first."""

    version: int
    items: list[QueueItemOut]
    expected_error: float


class MapOut(BaseModel):
    """The logs in two dimensions."""

    version: int
    names: list[str]
    status: list[Status]
    points: list[tuple[float, float, int, int, float, int]] = Field(
        description="x, y, number of the intent (-1 for none), number of the utterance, probability, "
        "1 if a person assigned it"
    )
    is_final: bool = Field(description="False while a better layout is being computed")

    @classmethod
    def of(cls, log_map: LogMap) -> Self:
        """Return the body for a map."""
        return cls(
            version=log_map.version,
            names=list(log_map.names),
            status=list(log_map.statuses),
            points=list(log_map.points),
            is_final=log_map.is_final,
        )


class NearUtteranceOut(UtteranceOut):
    """An utterance that is similar to a text."""

    similarity: float


class ExplanationOut(Predicted):
    """The intent of one text, its likely intents, and the most similar utterances."""

    intents: list[tuple[str, float]]
    utterances: list[NearUtteranceOut]

    @classmethod
    def of_explanation(cls, explanation: Explanation) -> Self:
        """Return the body for an explanation."""
        return cls(
            **Predicted.of(explanation.prediction).model_dump(),
            intents=_pairs(explanation.intents),
            utterances=[
                NearUtteranceOut(**fields_of(near.utterance), similarity=near.similarity)
                for near in explanation.utterances
            ],
        )


class EntryOut(BaseModel):
    """A decision: who made it and when, and who undid it."""

    id: int
    at: str
    author: str
    kind: str
    words: str = Field(description="What was decided, as the rest of a sentence that begins with the author's name")
    arguments: dict[str, Any]
    undone_at: str | None
    undone_by: str | None

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Return the body for a recorded decision."""
        return cls(
            id=entry.id,
            at=entry.at,
            author=entry.author,
            kind=entry.decision.kind,
            words=in_words(entry.decision),
            arguments=dict(entry.decision.arguments),
            undone_at=entry.undone_at,
            undone_by=entry.undone_by,
        )


class Decided(BaseModel):
    """The recorded decisions, and the version after them."""

    version: int
    entries: list[EntryOut]


class Undone(BaseModel):
    """The decision that was undone, and the version after it."""

    version: int
    undone: EntryOut = Field(description="The last one, if several were undone together")
    entries: list[EntryOut] = Field(description="All that were undone")


class Log(BaseModel):
    """The latest decisions, in their order."""

    total: int = Field(description="The number of all decisions that were asked for")
    entries: list[EntryOut]


def _pairs(candidates: tuple[Candidate, ...]) -> list[tuple[str, float]]:
    return [(candidate.name, candidate.probability) for candidate in candidates]
