"""The bodies of answers, as the OpenAPI description shows them. Those about a review are in `reviews`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from newfound.algorithms.estimation import Estimate
from newfound.model.types import Intent, Prediction, Status
from newfound.workflows.checking import CheckResult
from newfound.workflows.evaluation import Evaluation
from newfound.workflows.refitting import RefitChanges


class RankedOut(BaseModel):
    """An intent that a text may belong to."""

    intent: str
    probability: float


class Predicted(BaseModel):
    """The intent of one text."""

    intent: str | None = Field(
        description="The fallback label if the text belongs to no intent, is too unlike all of them, or too unsure"
    )
    known: bool
    status: Status | None = Field(description="None if the text belongs to no intent")
    probability: float = Field(description="Of the most probable intent")
    outlier: float = Field(description="Share of labelled training utterances that lie closer to their intent")
    top: list[RankedOut] = Field(description="The most probable intents, as many as were asked for")

    @classmethod
    def of(cls, prediction: Prediction, *, top: int = 0) -> Self:
        """Return the body for a prediction, with its `top` most probable intents."""
        return cls(
            intent=prediction.intent,
            known=prediction.known,
            status=prediction.status,
            probability=prediction.probability,
            outlier=prediction.outlier,
            top=[RankedOut(intent=r.intent, probability=r.probability) for r in prediction.top[:top]],
        )


class Predictions(BaseModel):
    """The intents of a batch of texts, in the order of the texts."""

    predictions: list[Predicted]


class IntentMatchOut(BaseModel):
    """An intent that was found in logs and the label it is matched to."""

    intent: str
    status: Literal["new", "accepted"] = Field(description="Accepted intents are matched like new ones")
    label: str | None
    shared: int = Field(description="Utterances that have both")
    of_intent: int = Field(description="Utterances that are predicted as the intent")
    of_label: int = Field(description="Utterances that have the label")
    suggests_rename: bool = Field(description="Whether an accepted intent should have the label's name")


class ConfusionOut(BaseModel):
    """A label and an intent that its utterances are mistaken for."""

    label: str
    intent: str | None
    count: int
    share: float = Field(description="Of all utterances that have the label")


class NoIntentOut(BaseModel):
    """How well utterances of no intent are told from the others. Scores are in percent."""

    utterances: int
    predicted: int = Field(description="Utterances for which no intent is predicted")
    precision: float | None
    recall: float | None
    f1: float


class EvaluationOut(BaseModel):
    """How well the model does on labelled utterances. Scores are in percent."""

    utterances: int
    labels: int
    labels_by_name: int = Field(description="Labels that are the name of an intent of the model")
    accuracy: float
    macro_f1: float
    accuracy_by_name: float | None
    accuracy_matched: float | None = Field(description="On utterances whose label the model does not know")
    mean_confidence: float
    calibration_error: float = Field(description="The expected calibration error")
    matches: list[IntentMatchOut]
    confusions: list[ConfusionOut]
    no_intent: NoIntentOut | None = Field(description="None unless a label stands for no intent")

    @classmethod
    def of(cls, evaluation: Evaluation) -> Self:
        """Return the body for an evaluation."""
        return cls(**evaluation.as_dict())


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


class MovedOut(BaseModel):
    """An utterance whose intent differs after a refit."""

    text: str
    before: str | None
    after: str | None


class ChangesOut(BaseModel):
    """What a refit changed, compared with the reviewed model."""

    intents_before: int
    intents_after: int
    now_known: list[str]
    gone: list[str]
    expected_error_before: float
    expected_error_after: float
    utterances: int
    moved: int
    examples: list[MovedOut]
    reclustered: int = Field(description="Utterances that followed those that a person moved, before the training")

    @classmethod
    def of(cls, changes: RefitChanges) -> Self:
        """Return the body for the changes of a refit."""
        fields = {**fields_of(changes), "examples": [MovedOut(**fields_of(moved)) for moved in changes.examples]}
        return cls(**fields)


class JobState(BaseModel):
    """The last job in the background, and its progress."""

    kind: str = ""
    status: Literal["idle", "running", "done", "failed", "cancelled"] = "idle"
    author: str = ""
    step: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    folder: str | None = Field(
        default=None, description="The name of the folder that was written, beside the served one"
    )
    steps: list[str] = Field(default=[], description="All steps, if they are known in advance")
    step_titles: dict[str, str] = Field(default={}, description="What these steps do, in words")
    seconds: float = Field(default=0.0, description="How long it has run")
    changes: ChangesOut | None = Field(default=None, description="What a refit changed")
    warnings: list[str] = Field(default=[], description="What went wrong without ending the job, in its order")


class ExportOut(BaseModel):
    """A format to export to."""

    name: str
    title: str
    about: str = Field(description="What the platform or the reader gets")
    suffix: str


class CountsOut(BaseModel):
    """What an export holds."""

    intents: int = 0
    utterances: int = 0
    labelled: int = Field(default=0, description="Utterances that a person labelled or assigned")
    accepted: int = Field(default=0, description="Utterances that the model put into accepted intents")
    guesses: int = Field(default=0, description="Utterances that the model put into other intents, or less surely")
    left_out: int = Field(default=0, description="Utterances of these intents that the export does not hold")
    new_intents: int = Field(default=0, description="Intents that nobody has accepted yet")


class Exports(BaseModel):
    """The formats, and what an export holds as the review stands."""

    formats: list[ExportOut]
    default: CountsOut = Field(description="What people labelled or accepted")
    accepted: CountsOut = Field(description="With `only=accepted`: the accepted intents")
    all: CountsOut = Field(description="With `with_guesses=true`: what nobody labelled or accepted as well")


class Served(BaseModel):
    """The model that is served now."""

    model: str
    name: str


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
    misspelt: dict[str, str] = Field(description="Labels that are likely misspelt, and the label that is likely meant")

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
            misspelt=dict(result.misspelt),
        )


class Health(BaseModel):
    """Whether the server works."""

    status: str


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name. Unlike `asdict`, it leaves nested dataclasses as they are."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
