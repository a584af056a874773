"""The bodies of answers, as the OpenAPI description shows them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from newfound.algorithms.estimation import Estimate
from newfound.model.types import Intent, Prediction, Status
from newfound.review.store import Entry
from newfound.review.views import (
    Candidate,
    Explanation,
    IntentPage,
    ListedUtterance,
    LogMap,
    QueueItem,
    ReviewState,
)
from newfound.workflows.checking import CheckResult


class Predicted(BaseModel):
    """The intent of one text."""

    intent: str | None = Field(description="None if the text belongs to no intent, or is too unlike all of them")
    known: bool
    probability: float
    outlier: float = Field(description="Share of labelled training utterances that lie closer to their intent")

    @classmethod
    def of(cls, prediction: Prediction) -> Self:
        """Return the body for a prediction."""
        return cls(
            intent=prediction.intent,
            known=prediction.known,
            probability=prediction.probability,
            outlier=prediction.outlier,
        )


class Predictions(BaseModel):
    """The intents of a batch of texts, in the order of the texts."""

    predictions: list[Predicted]


class OverlapOut(BaseModel):
    """An intent that overlaps with another one."""

    name: str
    share: float = Field(
        description="Share of the nearest neighbours of the intent's utterances that belong to this one"
    )


class IntentOut(BaseModel):
    """The description of one intent."""

    name: str
    status: Status
    known: bool
    size: int = Field(description="Utterances, each counted as often as it occurred")
    labelled: int = Field(description="Utterances that a person labelled")
    certainty: float | None = Field(description="Mean probability of its utterances from the logs")
    expected_error: float | None = Field(description="Expected share of these utterances that is wrong")
    keywords: list[str]
    exemplars: list[str] = Field(description="Central utterances")
    border: list[str] = Field(description="Utterances closest to belonging to another intent")
    overlaps: list[OverlapOut]
    position: tuple[float, float] | None = Field(description="On the map of the logs")

    @classmethod
    def of(cls, intent: Intent) -> Self:
        """Return the body for an intent."""
        return cls(**{key: value for key, value in intent.as_dict().items() if key in cls.model_fields})


class Intents(BaseModel):
    """All intents."""

    intents: list[IntentOut]


class UtteranceOut(BaseModel):
    """A training utterance and its intent after the review so far."""

    id: int
    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int
    source: str

    @classmethod
    def of(cls, utterance: ListedUtterance) -> Self:
        """Return the body for an utterance."""
        return cls(**_fields(utterance))


class Utterances(BaseModel):
    """Some training utterances."""

    utterances: list[UtteranceOut]


class ProgressOut(BaseModel):
    """The progress of the review."""

    accepted: int
    new: int
    checked: int = Field(description="Utterances that a person has assigned")
    expected_error: float = Field(description="Share of the logs whose intent is expected to be wrong")


class JobState(BaseModel):
    """The last job in the background, and its progress."""

    kind: str = ""
    status: Literal["idle", "running", "done", "failed"] = "idle"
    author: str = ""
    step: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    folder: str | None = Field(
        default=None, description="The name of the folder that was written, beside the served one"
    )


class StateOut(BaseModel):
    """All intents, the progress, and the version to send with a decision."""

    version: int
    intents: list[IntentOut]
    progress: ProgressOut
    refit: JobState

    @classmethod
    def of(cls, state: ReviewState, job: JobState) -> Self:
        """Return the body for a state of the review."""
        return cls(
            version=state.version,
            intents=[IntentOut.of(intent) for intent in state.intents],
            progress=ProgressOut(**_fields(state.progress)),
            refit=job,
        )


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


class IntentPageOut(IntentOut):
    """One intent in detail, with some of its utterances, the least certain first."""

    merges: list[MergeOut]
    split: SplitOut | None
    total: int
    utterances: list[UtteranceOut]

    @classmethod
    def of_page(cls, page: IntentPage) -> Self:
        """Return the body for the page of an intent."""
        split = page.split
        return cls(
            **IntentOut.of(page.intent).model_dump(),
            merges=[MergeOut(**_fields(merge)) for merge in page.merges],
            split=None
            if split is None
            else SplitOut(separation=split.separation, parts=[PartOut(**_fields(part)) for part in split.parts]),
            total=page.total,
            utterances=[UtteranceOut.of(utterance) for utterance in page.utterances],
        )


class QueueItemOut(UtteranceOut):
    """An utterance that should be checked."""

    candidates: list[tuple[str, float]] = Field(description="Intents it may belong to, with their probability")
    agreement: float = Field(description="Share of its neighbours that have its intent")

    @classmethod
    def of_item(cls, item: QueueItem) -> Self:
        """Return the body for an item of the queue."""
        return cls(**_fields(item.utterance), candidates=_pairs(item.candidates), agreement=item.agreement)


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
    points: list[tuple[float, float, int, int]] = Field(
        description="x, y, number of the intent (-1 for none), number of the utterance"
    )

    @classmethod
    def of(cls, log_map: LogMap) -> Self:
        """Return the body for a map."""
        return cls(
            version=log_map.version,
            names=list(log_map.names),
            status=list(log_map.statuses),
            points=list(log_map.points),
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
                NearUtteranceOut(**_fields(near.utterance), similarity=near.similarity)
                for near in explanation.utterances
            ],
        )


class EntryOut(BaseModel):
    """A decision: who made it and when, and who undid it."""

    id: int
    at: str
    author: str
    kind: str
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
    undone: EntryOut


class Log(BaseModel):
    """All decisions, in their order."""

    entries: list[EntryOut]


class EstimateOut(BaseModel):
    """The estimated number of new intents, with a 90 % interval."""

    n_new: int
    low: int
    high: int

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        """Return the body for an estimate."""
        return cls(n_new=estimate.n_new, low=estimate.low, high=estimate.high)


class LabelErrorOut(BaseModel):
    """An utterance whose label is likely wrong."""

    line: int = Field(description="The position of the utterance in the request, from 1")
    text: str
    label: str
    likely: str
    margin: float


class NearDuplicateOut(BaseModel):
    """Two intents that are nearly one."""

    first: str
    second: str
    confusion: float
    similarity: float


class LabelUseOut(BaseModel):
    """A label that a text has."""

    line: int
    label: str


class LabelConflictOut(BaseModel):
    """A text with several labels."""

    text: str
    uses: list[LabelUseOut]


class CheckOut(BaseModel):
    """What known data should be looked at for."""

    utterances: int
    intents: int
    label_errors: list[LabelErrorOut]
    near_duplicates: list[NearDuplicateOut]
    conflicts: list[LabelConflictOut]
    few_examples: dict[str, int] = Field(description="Intents with few examples, and how many they have")

    @classmethod
    def of(cls, result: CheckResult) -> Self:
        """Return the body for a check."""
        return cls(
            utterances=result.utterances,
            intents=result.intents,
            label_errors=[LabelErrorOut(**asdict(error)) for error in result.label_errors],
            near_duplicates=[NearDuplicateOut(**asdict(pair)) for pair in result.near_duplicates],
            conflicts=[
                LabelConflictOut(text=c.text, uses=[LabelUseOut(line=line, label=label) for line, label in c.uses])
                for c in result.conflicts
            ],
            few_examples=dict(result.few_examples),
        )


class Health(BaseModel):
    """Whether the server works."""

    status: str


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name. Unlike `asdict`, it leaves nested dataclasses as they are."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _pairs(candidates: tuple[Candidate, ...]) -> list[tuple[str, float]]:
    return [(candidate.name, candidate.probability) for candidate in candidates]
