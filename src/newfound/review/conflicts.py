"""Whether a decision contradicts what others decided since its author looked.

Each kind of decision says what it changes and what it relies on (`newfound.review.decisions`). Two decisions are in
conflict if the later one relies on something that the earlier one, which its author had not seen, has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from newfound.errors import ConflictError, DecisionError
from newfound.review.decisions import UTTERANCE, Decision, Kind
from newfound.review.entries import Entry, Event, events

Thing = tuple[str, str]  # what of an intent or an utterance, and which


def check_conflicts(entries: Sequence[Entry], seen: int | None, decisions: Sequence[Decision]) -> None:
    """Refuse decisions that contradict what was recorded since their author looked.

    Args:
        entries: All entries of the log.
        seen: The version that the author saw; None if it is not to be checked.
        decisions: The new decisions, which need not be valid.

    Raises:
        ConflictError: Somebody decided something else about the same intent or utterance.
    """
    unseen = _since(entries, seen)
    times = Counter(event.entry.id for event in unseen)
    relied: dict[Thing, set[object]] = {}
    for decision in decisions:
        for thing, becomes in _touched_things(decision, "relies_on"):
            relied.setdefault(thing, set()).add(becomes)
    for event in unseen:
        is_taken_back = times[event.entry.id] > 1  # decided and undone: the state is what the author saw
        changed = () if is_taken_back else _touched_things(event.entry.decision, "changes")
        if any(relied.get(thing, set()) - {becomes} for thing, becomes in changed):
            raise ConflictError(f"{event.words} in the meantime; look at it, then decide again")


def check_nothing_decided(entries: Sequence[Entry], seen: int | None) -> None:
    """Refuse what follows from all intents together, if anything but comments was recorded since its author looked.

    Args:
        entries: All entries of the log.
        seen: The version that the author saw; None if it is not to be checked.

    Raises:
        ConflictError: Somebody decided or undid something.
    """
    for event in _since(entries, seen):
        if any(_touched_things(event.entry.decision, "changes")):
            raise ConflictError(f"{event.words} in the meantime; look at the preview again")


def _since(entries: Sequence[Entry], seen: int | None) -> list[Event]:
    if seen is None:
        return []
    recorded = events(entries)
    if seen > len(recorded):
        raise ConflictError("the review was begun anew in the meantime; look at it, then decide again")
    return recorded[seen:]


def _touched_things(decision: Decision, what: str) -> Iterator[tuple[Thing, object]]:
    """Yield what a decision changes or relies on, and what it makes of it: two moves to the same intent agree."""
    try:
        checked_decision: Kind = decision.read()
    except DecisionError:  # refused elsewhere
        return
    for field, aspects in getattr(checked_decision, what).items():
        value = getattr(checked_decision, field)
        for name in [value] if isinstance(value, str) else value or ():
            for aspect in aspects:
                yield (aspect, name), getattr(checked_decision, "to", None) if aspect == UTTERANCE else what
