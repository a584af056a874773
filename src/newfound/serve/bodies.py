"""The bodies of requests, as the OpenAPI description shows them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from newfound import defaults
from newfound.defaults import Conflicts, LogsHold
from newfound.exports.registry import EXPORTS
from newfound.methods.registry import METHODS
from newfound.review.decisions import KINDS
from newfound.review.views import MAX_UTTERANCES_TO_MOVE
from newfound.serve.settings import MAX_NAME_LENGTH
from newfound.workflows.auditing import DEFAULT_QUESTIONS

MAX_TEXTS_IN_A_REQUEST = 256
MAX_TEXT_LENGTH = 10_000
MAX_DECISIONS_IN_A_REQUEST = 1_000
MAX_NEW_INTENTS = 100_000
MAX_QUESTIONS = 10_000  # of an audit
MAX_TOP = 20  # intents of one prediction

TextOrNothing = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
Text = Annotated[TextOrNothing, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
Version = Annotated[int, Field(ge=0, lt=2**53, description="The version of the state that the reviewer saw")]
Model = Annotated[
    str | None, Field(max_length=100, description="The model that the reviewer saw; another one is a conflict")
]
Texts = Annotated[list[Text], Field(min_length=1)]
FileId = Annotated[str, Field(max_length=100, description="The `id` that `/v1/files` has answered")]
NewIntents = Annotated[int, Field(ge=1, le=MAX_NEW_INTENTS)]
Seed = Annotated[int, Field(ge=0, le=defaults.MAX_SEED)]
UtteranceNumber = Annotated[int, Field(ge=0, lt=2**31)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
NoIntent = Annotated[
    Annotated[float, Field(gt=0, lt=1)] | Literal["auto", "none"],
    Field(description="Utterances of the logs that are to belong to no intent: a share, auto or none"),
]
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

    def options(self) -> dict[str, Any]:
        """Return the fields that a workflow has as keywords."""
        return self.model_dump(mode="json", exclude={"author", "known", "known_file", "logs", "logs_file"})


class SignedBody(Body):
    """Who asks for something."""

    author: Name | None = Field(
        default=None,
        description="Who asks. It may be left out, and must not differ, if the token is a person's own.",
    )
    model_config = _example(author="ana")


class PredictBody(Body):
    """A batch of utterances."""

    texts: Annotated[list[TextOrNothing], Field(min_length=1, max_length=MAX_TEXTS_IN_A_REQUEST)]
    top: int = Field(default=0, ge=0, le=MAX_TOP, description="How many of the most probable intents to return")
    threshold: Share | None = Field(
        default=None, description="Return no intent for texts whose most probable intent is less probable"
    )
    several: bool = Field(default=False, description="Return the parts of messages that state several wishes")
    model_config = _example(texts=["where is my card?"])


class TextBody(Body):
    """One utterance."""

    text: Text
    model_config = _example(text="where is my card?")


class ReviewBody(SignedBody):
    """Who changes the review, and what they saw of it."""

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

    to: NewIntents = Field(description="The wanted number of new intents")
    model_config = _example(author="ana", version=0, to=20)


class ServeBody(SignedBody):
    """Which model to serve: the one that the last job has written, or the one that was served before."""

    which: Literal["result", "earlier"] = "result"
    model_config = _example(author="ana", which="result")


class KnownText(Body):
    """An utterance of a known intent."""

    text: Text
    label: Name


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


class TrainBody(SignedBody):
    """Logs, and what is discovered in them."""

    logs: Texts | None = None
    logs_file: FileId | None = Field(default=None, description="A file in place of `logs`")
    n_new: NewIntents | Literal["auto"] = "auto"
    no_intent: NoIntent = defaults.NO_INTENT
    several: bool | None = None
    redact: bool = False
    seed: Seed = defaults.SEED

    @model_validator(mode="after")
    def _check_logs(self) -> Self:
        if (self.logs is None) == (self.logs_file is None):
            raise ValueError("give either `logs` or `logs_file`")
        return self


class DiscoverBody(TrainBody):
    """The data in which to discover new intents. The encoder is that of the served model."""

    known: list[KnownText] = Field(default=[], description="Labelled utterances; without any, no intent is known")
    known_file: FileId | None = Field(default=None, description="A file in place of `known`")
    conflicts: Conflicts = Field(
        default=defaults.CONFLICTS,
        description="What becomes of a text with several labels: an error, its first label is kept, or it is dropped",
    )
    method: MethodName = MethodName(defaults.METHOD)
    logs_hold: LogsHold | None = None
    model_config = _example(author="ana", known=KNOWN_EXAMPLE, logs=LOGS_EXAMPLE)

    @model_validator(mode="after")
    def _check_known(self) -> Self:
        if self.known and self.known_file is not None:
            raise ValueError("give either `known` or `known_file`")
        return self


class UpdateBody(TrainBody):
    """Newer logs in which to discover further intents."""

    accept_all: bool = False
    model_config = _example(author="ana", logs=LOGS_EXAMPLE)


def pairs(known: Sequence[KnownText]) -> tuple[list[str], list[str]] | None:
    """Return the texts and the labels, as workflows take them; None if there are none."""
    return ([example.text for example in known], [example.label for example in known]) if known else None
