"""The values that a model deals in: intents, training utterances and predictions. No torch here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["known", "accepted", "new"]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Another intent that an intent borders on.

    Attributes:
        name: The other intent.
        share: Share of the nearest neighbours of this intent's utterances that belong to the other one.
    """

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Intent:
    """The description of one intent: what the report, the review page, `inspect` and the HTTP API show.

    Attributes:
        name: Its name, unique within a model.
        known: Whether its examples were labelled before the discovery.
        size: How many utterances it has, each counted as often as it occurred.
        exemplars: Central utterances, each of another kind.
        keywords: The words that tell it from the other intents, best first.
        border: The utterances that are closest to belonging to another intent.
        accepted: Whether a person has accepted it as an intent.
        labelled: How many of its utterances a person labelled.
        certainty: Mean probability of its utterances from the logs; 1 where it has none; None in older models.
        overlaps: The intents it borders on, the closest first.
        position: Its place on the map of the logs, between 0 and 1; None where no map was drawn.
    """

    name: str
    known: bool
    size: int
    exemplars: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    border: tuple[str, ...] = ()
    accepted: bool = False
    labelled: int = 0
    certainty: float | None = None
    overlaps: tuple[Overlap, ...] = ()
    position: tuple[float, float] | None = None

    @property
    def status(self) -> Status:
        return "known" if self.known else "accepted" if self.accepted else "new"

    @property
    def expected_error(self) -> float | None:
        """The share of its utterances from the logs that is expected to be wrong."""
        return None if self.certainty is None else round(1 - self.certainty, 4)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "status": self.status, "expected_error": self.expected_error}


@dataclass(frozen=True, slots=True)
class Utterance:
    """A training utterance as the fitted model sees it: what reviews, reports and later rounds start from.

    Attributes:
        text: The utterance.
        intent: Position of its intent in the model's intents.
        labelled: Whether a person labelled it; otherwise it came from the logs.
        probability: Of its intent, by the model.
        count: How often it occurred.
        source: Where it came from, for instance the name of a file; empty if nobody said.
    """

    text: str
    intent: int
    labelled: bool
    probability: float
    count: int = 1
    source: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a text was classified as.

    Attributes:
        text: The text.
        intent: The intent's name; None if it belongs to no intent.
        known: Whether the intent is a known one.
        probability: Of that intent.
        outlier: Share of the labelled training utterances that lie closer to their intent; 1 is like nothing known.
    """

    text: str
    intent: str | None
    known: bool
    probability: float
    outlier: float
