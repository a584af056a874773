"""The bodies of requests and responses, as the OpenAPI page shows them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from newfound import defaults
from newfound.algorithms.estimation import Estimate, Strategy
from newfound.defaults import LogsHold
from newfound.exports.registry import EXPORTS
from newfound.methods.registry import METHODS
from newfound.model.types import Intent, Prediction, Status
from newfound.review.session import (
    Candidate,
    Explanation,
    IntentPage,
    ListedUtterance,
    LogMap,
    QueueItem,
    ReviewState,
)
from newfound.review.store import Entry
from newfound.text import has_half_character


def _no_half_characters(text: str) -> str:
    if has_half_character(text):
        raise ValueError("half a character (a lone surrogate)")
    return text


Text = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_no_half_characters)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_no_half_characters)]
Version = Annotated[int, Field(ge=0, lt=2**53, description="Of the state that the reviewer saw")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ExportName = Enum("ExportName", {name: name for name in EXPORTS}, type=str)  # type: ignore[misc]
MethodName = Enum("MethodName", {name: name for name in METHODS}, type=str)  # type: ignore[misc]
MAX_TEXTS_TO_LEARN_FROM = 1_000_000


class Body(BaseModel):
    """A request's body; what is not in the schema is refused."""

    model_config = ConfigDict(extra="forbid")


class PredictBody(Body):
    """A batch of utterances."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=256)]
    max_outliers: Share | None = Field(
        default=None,
        description="Return no intent for texts less typical than all but this share of the labelled data",
    )
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"texts": ["where is my card?"]}]})


class TextBody(Body):
    text: Text
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "where is my card?"}]})


class DecisionsBody(Body):
    """Decisions as in `newfound review apply`; all of them are taken or none."""

    author: Name
    version: Version
    decisions: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1_000)]
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"author": "ana", "version": 0, "decisions": [{"rename": {"intent": "refund_money", "to": "refund"}}]}
            ]
        },
    )


class UndoBody(Body):
    author: Name
    version: Version
    id: int | None = Field(default=None, ge=0, lt=2**53, description="The last decision otherwise")


class AuthorBody(Body):
    author: Name


class LabelledText(Body):
    text: Text
    label: Name


class EstimateBody(Body):
    """What to count new intents in."""

    known: Annotated[list[LabelledText], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    logs: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    strategy: Strategy = "resolution"
    logs_hold: LogsHold = defaults.LOGS_HOLD
    seed: int = Field(default=defaults.SEED, ge=0, lt=2**31)


class DiscoverBody(Body):
    """What to discover new intents in; the encoder is the served model's."""

    author: Name
    known: Annotated[list[LabelledText], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    logs: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    method: MethodName = MethodName(defaults.METHOD)
    n_new: Annotated[int, Field(ge=1, le=100_000)] | Literal["auto"] = "auto"
    logs_hold: LogsHold | None = None
    redact: bool = False
    seed: int = Field(default=defaults.SEED, ge=0, lt=2**31)


class UpdateBody(Body):
    """Newer logs for another round."""

    author: Name
    logs: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    n_new: Annotated[int, Field(ge=1, le=100_000)] | Literal["auto"] = "auto"
    accept_all: bool = False
    redact: bool = False
    seed: int = Field(default=defaults.SEED, ge=0, lt=2**31)


class Predicted(BaseModel):
    """What one text was classified as."""

    intent: str | None = Field(description="None: of no intent, or too unlike all of them")
    known: bool
    probability: float
    outlier: float = Field(description="Share of labelled training utterances that lie closer to their intent")

    @classmethod
    def of(cls, prediction: Prediction) -> Self:
        return cls(
            intent=prediction.intent,
            known=prediction.known,
            probability=prediction.probability,
            outlier=prediction.outlier,
        )


class Predictions(BaseModel):
    predictions: list[Predicted]


class OverlapOut(BaseModel):
    """An intent that another one borders on."""

    name: str
    share: float = Field(description="Of the nearest neighbours of this intent's utterances")


class IntentOut(BaseModel):
    """The description of one intent."""

    name: str
    status: Status
    known: bool
    size: int = Field(description="Utterances, each counted as often as it occurred")
    labelled: int = Field(description="Utterances that a person labelled")
    certainty: float | None = Field(description="Mean probability of its utterances from the logs")
    expected_error: float | None = Field(description="Share of them that is expected to be wrong")
    keywords: list[str]
    exemplars: list[str] = Field(description="Central utterances")
    border: list[str] = Field(description="Utterances closest to belonging to another intent")
    overlaps: list[OverlapOut]
    position: tuple[float, float] | None = Field(description="On the map of the logs")

    @classmethod
    def of(cls, intent: Intent) -> Self:
        return cls(**{key: value for key, value in intent.as_dict().items() if key in cls.model_fields})


class Intents(BaseModel):
    intents: list[IntentOut]


class UtteranceOut(BaseModel):
    """A training utterance with its intent as the review stands."""

    id: int
    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int
    source: str

    @classmethod
    def of(cls, utterance: ListedUtterance) -> Self:
        return cls(**_fields(utterance))


class Utterances(BaseModel):
    utterances: list[UtteranceOut]


class ProgressOut(BaseModel):
    """How far the review is."""

    accepted: int
    new: int
    checked: int = Field(description="Utterances that a person has assigned")
    expected_error: float = Field(description="Share of the logs whose intent is expected to be wrong")


class JobState(BaseModel):
    """What is trained in the background, and how far it is."""

    kind: str = ""
    status: Literal["idle", "running", "done", "failed"] = "idle"
    author: str = ""
    step: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    folder: str | None = Field(default=None, description="The name of the model that was written, beside this one")


class StateOut(BaseModel):
    """The intents in brief, the progress, and the version to send with a decision."""

    version: int
    intents: list[IntentOut]
    progress: ProgressOut
    refit: JobState

    @classmethod
    def of(cls, state: ReviewState, job: JobState) -> Self:
        return cls(
            version=state.version,
            intents=[IntentOut.of(intent) for intent in state.intents],
            progress=ProgressOut(**_fields(state.progress)),
            refit=job,
        )


class MergeOut(BaseModel):
    """Another intent that may be the same, and pairs of close utterances as evidence."""

    name: str
    status: Status
    overlap: float
    evidence: list[tuple[str, str]]


class PartOut(BaseModel):
    name: str
    size: int
    utterances: list[str]


class SplitOut(BaseModel):
    """Two parts that an intent may really be."""

    separation: float = Field(description="Silhouette of the two parts")
    parts: list[PartOut]


class IntentPageOut(IntentOut):
    """All about one intent, with some of its utterances, the least certain first."""

    merges: list[MergeOut]
    split: SplitOut | None
    total: int
    utterances: list[UtteranceOut]

    @classmethod
    def of_page(cls, page: IntentPage) -> Self:
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
    """An utterance that needs a look."""

    candidates: list[tuple[str, float]] = Field(description="Intents it may belong to, with their probability")
    agreement: float = Field(description="Share of its neighbours that have its intent")

    @classmethod
    def of_item(cls, item: QueueItem) -> Self:
        return cls(**_fields(item.utterance), candidates=_pairs(item.candidates), agreement=item.agreement)


class QueueOut(BaseModel):
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
    def of(cls, found: LogMap) -> Self:
        return cls(
            version=found.version, names=list(found.names), status=list(found.statuses), points=list(found.points)
        )


class NearUtteranceOut(UtteranceOut):
    similarity: float


class ExplanationOut(Predicted):
    """What one text is classified as, the likely intents, and the utterances it is closest to."""

    intents: list[tuple[str, float]]
    utterances: list[NearUtteranceOut]

    @classmethod
    def of_explanation(cls, explanation: Explanation) -> Self:
        return cls(
            **Predicted.of(explanation.prediction).model_dump(),
            intents=_pairs(explanation.intents),
            utterances=[
                NearUtteranceOut(**_fields(near.utterance), similarity=near.similarity)
                for near in explanation.utterances
            ],
        )


class EntryOut(BaseModel):
    """A decision with who took it and when, and who took it back."""

    id: int
    at: str
    author: str
    kind: str
    arguments: dict[str, Any]
    undone_at: str | None
    undone_by: str | None

    @classmethod
    def of(cls, entry: Entry) -> Self:
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
    version: int
    entries: list[EntryOut]


class Undone(BaseModel):
    version: int
    undone: EntryOut


class Log(BaseModel):
    entries: list[EntryOut]


class EstimateOut(BaseModel):
    """How many new intents there are, and between which two numbers in nine of ten cases."""

    n_new: int
    low: int
    high: int

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        return cls(n_new=estimate.n_new, low=estimate.low, high=estimate.high)


class Health(BaseModel):
    status: str


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass with slots, one level deep."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _pairs(candidates: tuple[Candidate, ...]) -> list[tuple[str, float]]:
    return [(candidate.name, candidate.probability) for candidate in candidates]
