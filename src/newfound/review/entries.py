"""The entries of a review's log, their order, and whether new decisions contradict what others have recorded since.

Each kind of decision says what it changes and what it relies on (`newfound.review.decisions`). Two decisions are in
conflict if the later one relies on something that the earlier one, which its author had not seen, has changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from newfound.errors import ConflictError, DecisionError
from newfound.review.decisions import UTTERANCE, Decision

Thing = tuple[str, str]  # what of an intent or an utterance, and which


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded decision; it is in effect if it was not undone. Times are UTC, ISO 8601.

    Attributes:
        id: Its number in the log, from 1.
        words: What was decided, as the rest of a sentence that begins with the author's name.
    """

    id: int
    at: str
    author: str
    kind: str
    arguments: Mapping[str, Any]
    undone_at: str | None = None
    undone_by: str | None = None
    words: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", self.decision.words)

    @property
    def decision(self) -> Decision:
        return Decision(self.kind, self.arguments)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was recorded: a decision, or the undo of one.

    Attributes:
        words: What happened, as a sentence without its full stop.
        id: The number of the decision.
    """

    at: str
    author: str
    words: str
    id: int
    is_undo: bool


def events(entries: Sequence[Entry]) -> list[Event]:
    """Return all that was recorded, in its order. The number of events is the version of the review."""
    recorded = []
    for e in entries:
        words = f"{e.author} {e.words}"
        recorded.append(Event(e.at, e.author, words, e.id, False))
        if e.undone_at is not None:
            recorded.append(Event(e.undone_at, str(e.undone_by), f"{e.undone_by} took back that {words}", e.id, True))
    return sorted(recorded, key=lambda event: (event.at, event.is_undo, event.id))


def check_conflicts(entries: Sequence[Entry], seen: int | None, decisions: Sequence[Decision] | None) -> None:
    """Raise a `ConflictError` if somebody decided otherwise about the same since the author saw the version `seen`.

    Without `seen` nothing is checked. The new decisions need not be valid. None is for what follows from all intents
    together: it contradicts everything but comments.
    """
    if seen is None:
        return
    recorded = events(entries)
    if seen > len(recorded):
        raise ConflictError("the review was begun anew in the meantime; look at it, then decide again")
    decision_of = {entry.id: entry.decision for entry in entries}
    relied = defaultdict[Thing, set[object]](set)
    for decision in decisions or ():
        for thing, becomes in _touched_things(decision, "relies_on"):
            relied[thing].add(becomes)
    for event in recorded[seen:]:
        changed = _touched_things(decision_of[event.id], "changes")
        if any(decisions is None or relied[thing] - {becomes} for thing, becomes in changed):
            advice = "look at the preview again" if decisions is None else "look at it, then decide again"
            entry = None if event.is_undo else event.id
            raise ConflictError(f"{event.words} in the meantime; {advice}", entry=entry)


def _touched_things(decision: Decision, what: str) -> Iterator[tuple[Thing, object]]:
    """Yield what a decision changes or relies on, and what it makes of it: two moves to the same intent agree."""
    try:
        read = decision.read()
    except DecisionError:  # refused elsewhere
        return
    for argument, aspects in getattr(read, what).items():
        value = getattr(read, argument)
        for name in [value] if isinstance(value, str) else value or ():
            for aspect in aspects:
                yield (aspect, name), getattr(read, "to", None) if aspect == UTTERANCE else what
