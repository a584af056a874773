"""What views of a review consist of. The HTTP API sends these values as they are.

The number of utterances counts each as often as it occurred in the files. Lists have each text once; `total` is the
length of such a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

from newfound.model.types import Intent, KnownCheck, Status, Utterance, one_sentence
from newfound.review.decisions import Decision
from newfound.review.entries import Entry
from newfound.untrusted import parse

MAX_UTTERANCES_TO_MOVE = 10_000  # by their numbers, with one decision
MAX_RATIO_IF_SURE = 1.5  # of the upper to the lower end of the interval around the estimated number
Shown = TypeVar("Shown")


def extend(kind: type[Shown], *values: Any, **more: Any) -> Shown:
    """Return an object of a dataclass that has the fields of the values, and further or other ones."""
    taken = {field.name: getattr(value, field.name) for value in values for field in fields(value) if field.init}
    return kind(**{**taken, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedUtterance(Utterance):
    """An utterance as the page shows it.

    Attributes:
        checked: Whether a person assigned it in the review.
    """

    id: int
    checked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueItem(ListedUtterance):
    """An utterance that a person should check.

    Attributes:
        candidates: The intents that it may belong to with their probabilities, the most probable first.
        stands_for: The number of utterances that follow it at the next refit if it is moved, itself included.
        asks_about: The intent that the utterance is the most central one of, if the question is whether that intent is
            the same as one of the candidates.
    """

    candidates: tuple[tuple[str, float], ...]
    stands_for: int = 1
    asks_about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedUtterance(ListedUtterance):
    """An utterance of one intent, with the probability of another intent."""

    other: float


@dataclass(frozen=True, slots=True)
class MergeProposal:
    """Another intent that may be the same.

    Attributes:
        overlap: The share of the neighbours of this intent's utterances that belong to the other one.
        evidence: Pairs of similar utterances, one of each intent.
    """

    name: str
    status: Status
    overlap: float
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a proposed split, or an intent before or after a proposed change."""

    name: str
    size: int
    utterances: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SplitProposal:
    """A proposal to split an intent in two parts, with the silhouette of these parts."""

    separation: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Intents that are merged, or one that is split.

    Attributes:
        before: The intents as they are, with two utterances each. Of a merger, the one that keeps its name is first.
        after: What becomes of them, with the sizes that they will have.
    """

    kind: Literal["merge", "split"]
    before: tuple[Part, ...]
    after: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class EstimatedNumber:
    """The number of new intents that was estimated before the fit.

    Attributes:
        low: The lower end of the interval that holds the true number in nine of ten cases.
        is_unsure: Whether the interval is wide.
    """

    n_new: int
    low: int
    high: int
    is_unsure: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_unsure", self.high > MAX_RATIO_IF_SURE * self.low)

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> EstimatedNumber | None:
        """Return what the provenance of a model says; None if the number was given, or is not recorded."""
        try:
            return parse(cls, provenance.get("estimate"))
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Resizing:
    """What leads to a number of new intents.

    Attributes:
        present: The present number of new intents, accepted ones included.
        estimate: What was estimated before the fit; None if the number was given.
    """

    version: int
    present: int
    n_new: int
    fewest: int
    most: int
    estimate: EstimatedNumber | None
    changes: tuple[Change, ...]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedIntent(Intent):
    """An intent as the list shows it.

    Attributes:
        colour: The number of its colour, which stays when it is renamed.
        share: The share of the logs that it has.
    """

    colour: int
    comments: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentPage(Intent):
    """One intent with some of its utterances, the least certain first (see `Page`), and the comments on it."""

    merges: tuple[MergeProposal, ...]
    split: SplitProposal | None
    total: int
    occurrences: int
    utterances: tuple[ListedUtterance, ...]
    ids: tuple[int, ...]
    comments: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class IntentDetails:
    """What the list of intents shows besides the summary of an intent.

    Attributes:
        merge: The intent that it may be the same as; None if there is none.
        separation: The silhouette of its two parts, if it should perhaps be split; None otherwise.
    """

    name: str
    keywords: tuple[str, ...]
    examples: tuple[str, ...]
    merge: str | None
    separation: float | None
    description: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "description", one_sentence(next(iter(self.examples), "")))


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """Two intents that are mixed up, and how many utterances of one are expected to belong to the other."""

    first: str
    second: str
    expected: float


@dataclass(frozen=True, slots=True)
class PairPage:
    """The unchecked utterances of two intents, those first that are closest to the other intent."""

    first: tuple[PairedUtterance, ...]
    second: tuple[PairedUtterance, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Some texts, and the number of all of them.

    Attributes:
        occurrences: The number of utterances that all of them are.
        ids: The numbers of all of them; of the first ones if there are more than can be moved at once.
    """

    total: int
    occurrences: int
    utterances: tuple[ListedUtterance, ...]
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loss:
    """What an intent would lose if some utterances were moved elsewhere.

    Attributes:
        intent: The intent; None for the utterances of no intent.
        taken: How many of them it has now.
        size: How many utterances it has in all.
    """

    intent: str | None
    taken: int
    size: int


@dataclass(frozen=True, slots=True)
class Selection:
    """Which intents some utterances belong to, those first that have most of them.

    Attributes:
        labelled: How many of the utterances have a label in the data that the model was made from.
        likely: The intents that they most probably belong to, with the mean of their probabilities.
    """

    losses: tuple[Loss, ...]
    labelled: int
    likely: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a review is.

    Attributes:
        logs: The number of utterances from the logs; of all if there are no logs.
        new: The number of intents that are not known, accepted ones included.
        checked: The number of utterances that a person assigned.
        expected_error: The expected share of the logs whose intent is wrong.
        without_intent: The number of utterances that belong to no intent.
        known_check: How well the model, as it was fitted, classifies known intents; None if that was not measured.
    """

    logs: int
    new_share: float
    known_share: float
    accepted: int
    new: int
    checked: int
    expected_error: float
    without_intent: int
    known_check: KnownCheck | None


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The intents in brief, new ones first, and how far the review is."""

    version: int
    intents: tuple[ListedIntent, ...]
    progress: Progress


@dataclass(frozen=True, slots=True)
class LogMap:
    """The map of the logs: one point for each utterance.

    The values of the points are in columns, which are numbers of a fixed size (little endian) in base64: as lists of
    points, 100,000 of them would be twice as long and take the server a second.

    Attributes:
        positions: x and y of each point, as unsigned numbers of 16 bits; 65,535 is the right or lower edge.
        intents: The number of its intent among the names, -1 for none, as 32 bits.
        counts: How often it occurred, as 32 bits.
        ids: The number of its utterance, as 32 bits.
        probabilities: In thousandths, as unsigned numbers of 16 bits.
        checked: 1 if a person assigned it, otherwise 0, as 8 bits.
        weeks: The week in which it was said last, counted from year 1, as 32 bits; 0 if that is not known.
        is_final: Whether the layout is the final one. Until that is computed, a simpler one is shown.
    """

    version: int
    names: tuple[str, ...]
    status: tuple[Status, ...]
    positions: str
    intents: str
    counts: str
    ids: str
    probabilities: str
    checked: str
    weeks: str
    is_final: bool
