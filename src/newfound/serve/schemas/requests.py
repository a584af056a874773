"""The bodies of requests, as the OpenAPI description shows them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from newfound import defaults
from newfound.defaults import Conflicts, LogsHold
from newfound.exports.registry import EXPORTS
from newfound.methods.registry import METHODS
from newfound.review.decisions import KINDS
from newfound.review.views import MAX_UTTERANCES_TO_MOVE
from newfound.serve.settings import MAX_NAME_LENGTH
from newfound.text import has_half_character
from newfound.workflows.auditing import DEFAULT_QUESTIONS

MAX_TEXTS_IN_A_REQUEST = 256
MAX_TEXTS_TO_LEARN_FROM = 1_000_000
MAX_TEXT_LENGTH = 10_000
MAX_DECISIONS_IN_A_REQUEST = 1_000
MAX_NEW_INTENTS = 100_000
MAX_QUESTIONS = 10_000  # of an audit
MAX_TOP = 20  # intents of one prediction


def _no_half_characters(text: str) -> str:
    if has_half_character(text):
        raise ValueError("half a character (a lone surrogate)")
    return text


TextOrNothing = Annotated[str, Field(max_length=MAX_TEXT_LENGTH), AfterValidator(_no_half_characters)]
Text = Annotated[TextOrNothing, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(_no_half_characters)]
Author = Annotated[
    Name | None, Field(description="Who asks. It may be left out, and must not differ, if the token is a person's own.")
]
Version = Annotated[int, Field(ge=0, lt=2**53, description="The version of the state that the reviewer saw")]
Model = Annotated[
    str | None, Field(max_length=100, description="The model that the reviewer saw; another one is a conflict")
]
UtteranceNumber = Annotated[int, Field(ge=0, lt=2**31)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ExportName = Enum("ExportName", {name: name for name in EXPORTS}, type=str)  # type: ignore[misc]
DecisionKind = Enum("DecisionKind", {kind: kind for kind in KINDS}, type=str)  # type: ignore[misc]
MethodName = Enum("MethodName", {name: name for name in METHODS}, type=str)  # type: ignore[misc]


def _example(**values: Any) -> ConfigDict:
    """Return a model's configuration with the example that the OpenAPI description shows."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [values]})


KNOWN_EXAMPLE = [{"text": "where is my card?", "label": "card_arrival"}, {"text": "pay my bill", "label": "pay_bill"}]
LOGS_EXAMPLE = ["is there a power cut in my street", "no electricity since noon"]


class Body(BaseModel):
    """The body of a request; fields that are not in the schema are refused."""

    model_config = ConfigDict(extra="forbid")


class PredictBody(Body):
    """A batch of utterances."""

    texts: Annotated[list[TextOrNothing], Field(min_length=1, max_length=MAX_TEXTS_IN_A_REQUEST)]
    max_outliers: Share | None = Field(
        default=None,
        description="Return no intent for texts less typical than all but this share of the labelled data",
    )
    top: int = Field(default=0, ge=0, le=MAX_TOP, description="How many of the most probable intents to return")
    threshold: Share | None = Field(
        default=None, description="Return no intent for texts whose most probable intent is less probable"
    )
    fallback: Name | None = Field(default=None, description="The label of texts of no intent; null by default")
    model_config = _example(texts=["where is my card?"])


class TextBody(Body):
    """One utterance."""

    text: Text
    model_config = _example(text="where is my card?")


class ReviewBody(Body):
    """Who changes the review, and what they saw of it."""

    author: Author = None
    version: Version
    model: Model = None


class SelectionBody(Body):
    """Some utterances by their numbers."""

    ids: Annotated[list[UtteranceNumber], Field(min_length=1, max_length=MAX_UTTERANCES_TO_MOVE)]
    model_config = _example(ids=[0, 1])


class DecisionsBody(ReviewBody):
    """Decisions as in `newfound review apply`; either all of them are recorded or none."""

    decisions: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_DECISIONS_IN_A_REQUEST)]
    model_config = _example(author="ana", version=0, decisions=[{"rename": {"intent": "refund_money", "to": "refund"}}])


class UndoBody(ReviewBody):
    """Which decision to undo."""

    id: int | None = Field(
        default=None, ge=0, lt=2**53, description="The number of the decision; without it, the author's last step"
    )
    step: bool = Field(default=False, description="Undo all that was recorded together with the decision as well")
    model_config = _example(author="ana", version=1)


class ResizeBody(ReviewBody):
    """How many new intents there are to be."""

    to: Annotated[int, Field(ge=1, le=MAX_NEW_INTENTS, description="The wanted number of new intents")]
    model_config = _example(author="ana", version=0, to=20)


class GroupBody(Body):
    """Into how many groups the intents are put."""

    author: Author = None
    model: Model = None
    levels: list[Annotated[int, Field(ge=2, le=MAX_NEW_INTENTS)]] | None = Field(
        default=None, min_length=1, max_length=5, description="Numbers of groups, one for each level; by default one"
    )
    model_config = _example(author="ana", levels=[8, 30])


class RefitBody(Body):
    """Who asks for a refit, and how it is to be done."""

    author: Author = None
    recluster: bool = Field(
        default=True,
        description="Utterances around those that a person moved follow them; otherwise only what was decided changes",
    )
    model_config = _example(author="ana")


class CancelBody(Body):
    """Who cancels the running job."""

    model_config = _example(author="ana")

    author: Author = None


class ServeBody(Body):
    """Which model to serve: the one that the last job has written, or the one that was served before."""

    author: Author = None
    which: Literal["result", "earlier"] = "result"
    model_config = _example(author="ana", which="result")


class KnownText(Body):
    """An utterance of a known intent."""

    text: Text
    label: Name


class EvaluateBody(Body):
    """Labelled utterances that predictions are compared with."""

    labelled: Annotated[list[KnownText], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    out_of_scope: Name | None = Field(default=None, description="The label of utterances that belong to no intent")
    model_config = _example(labelled=KNOWN_EXAMPLE)


class ThresholdsBody(Body):
    """The promised precision, and labelled utterances that the model has not learned from."""

    precision: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        description="The share of predictions above their thresholds to be right; null takes the thresholds away"
    )
    labelled: Annotated[list[KnownText], Field(max_length=MAX_TEXTS_TO_LEARN_FROM)] = []
    model_config = _example(precision=0.95)


class AuditAnswer(Body):
    """Whether an utterance belongs to an intent."""

    text: Text
    id: Annotated[str, Field(max_length=1_000, description="The id of the intent")]
    belongs: Annotated[bool | None, Field(description="null takes the answer back")]


class AuditBody(Body):
    """Answers to questions of an audit."""

    answers: Annotated[list[AuditAnswer], Field(min_length=1, max_length=MAX_QUESTIONS)]
    questions: Annotated[int, Field(ge=0, le=MAX_QUESTIONS)] = DEFAULT_QUESTIONS
    model: Model = None
    model_config = _example(answers=[{"text": "where is my card?", "id": "0c9f1b2a", "belongs": True}])


class TrendsBody(Body):
    """Newer logs that those of the model are compared with."""

    logs: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    model_config = _example(logs=["where is my card?"])


class LabelledText(Body):
    """An utterance of a known intent; without a label, if there are no other logs, it is one of the logs."""

    text: Text
    label: Name | None = None


FileId = Annotated[str, Field(max_length=100, description="The `id` that `/v1/files` has answered")]


class KnownAndLogs(Body):
    """Labelled utterances of the known intents, and the logs."""

    known: Annotated[list[LabelledText], Field(max_length=MAX_TEXTS_TO_LEARN_FROM)] = Field(
        default=[], description="Labelled utterances; without any, no intent is known and all are discovered in `logs`"
    )
    logs: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)] | None = Field(
        default=None, description="Unlabelled utterances; without them, those of `known` that have no label"
    )
    conflicts: Conflicts = Field(
        default=defaults.CONFLICTS,
        description="What becomes of a text with several labels: an error, its first label is kept, or it is dropped",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_sources()
        return self

    def check_sources(self) -> None:
        """Refuse a body without logs, or with known utterances that have no label beside logs."""
        if self.logs is None and not self.known:
            raise ValueError("nothing to discover intents in; give the logs")
        if self.logs is not None and any(example.label is None for example in self.known):
            raise ValueError("a known utterance has no label; label it, or move it to the logs")


NoIntent = Annotated[
    Annotated[float, Field(gt=0, lt=1)] | Literal["auto", "none"],
    Field(description="Utterances of the logs that are to belong to no intent: a share, auto or none"),
]


class CheckBody(Body):
    """The known data to check."""

    known: Annotated[list[KnownText], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)]
    seed: int = Field(default=defaults.SEED, ge=0, le=defaults.MAX_SEED)
    model_config = _example(known=KNOWN_EXAMPLE)


class EstimateBody(KnownAndLogs):
    """The data in which to estimate the number of new intents."""

    logs_hold: LogsHold = defaults.LOGS_HOLD
    redact: bool = False
    seed: int = Field(default=defaults.SEED, ge=0, le=defaults.MAX_SEED)
    model_config = _example(known=KNOWN_EXAMPLE, logs=LOGS_EXAMPLE)


class DiscoverBody(KnownAndLogs):
    """The data in which to discover new intents. The encoder is that of the served model."""

    author: Author = None
    known_file: FileId | None = Field(default=None, description="A file in place of `known`")
    logs_file: FileId | None = Field(default=None, description="A file in place of `logs`")
    method: MethodName = MethodName(defaults.METHOD)
    n_new: Annotated[int, Field(ge=1, le=MAX_NEW_INTENTS)] | Literal["auto"] = "auto"
    logs_hold: LogsHold | None = None
    no_intent: NoIntent = defaults.NO_INTENT
    redact: bool = False
    seed: int = Field(default=defaults.SEED, ge=0, le=defaults.MAX_SEED)
    model_config = _example(author="ana", known=KNOWN_EXAMPLE, logs=LOGS_EXAMPLE)

    def check_sources(self) -> None:
        """Refuse a body without logs, or one that mixes files and texts."""
        if self.logs_file is None and self.known_file is None:
            super().check_sources()
        elif self.logs_file is None or self.logs is not None or self.known:
            raise ValueError("with files, give the logs and the known intents as files, or the logs alone")


class UpdateBody(Body):
    """Newer logs in which to discover further intents."""

    author: Author = None
    logs: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS_TO_LEARN_FROM)] | None = None
    logs_file: FileId | None = Field(default=None, description="A file in place of `logs`")
    n_new: Annotated[int, Field(ge=1, le=MAX_NEW_INTENTS)] | Literal["auto"] = "auto"
    no_intent: NoIntent = defaults.NO_INTENT
    accept_all: bool = False
    redact: bool = False
    seed: int = Field(default=defaults.SEED, ge=0, le=defaults.MAX_SEED)
    model_config = _example(author="ana", logs=LOGS_EXAMPLE)

    @model_validator(mode="after")
    def _check_logs(self) -> Self:
        if (self.logs is None) == (self.logs_file is None):
            raise ValueError("give either `logs` or `logs_file`")
        return self
