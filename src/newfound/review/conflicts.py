"""Whether a decision contradicts what others decided since its author looked.

Two decisions are in conflict only if they are about the same intent or the same utterance and do not go together. To
accept an intent, to add utterances to it and to comment on it go together; two moves of different utterances do; two
ways to change the same intent do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from newfound.errors import ConflictError
from newfound.review.decisions import Decision
from newfound.review.entries import Entry, Event, events


class Effect(Enum):
    """What a decision does to an intent."""

    RENAME = "rename"
    RESHAPE = "reshape"  # it is split, or merged into another one
    REJECT = "reject"
    ACCEPT = "accept"
    GROW = "grow"  # another intent is merged into it
    ADD = "add"  # utterances are moved into it
    COMMENT = "comment"


# After an unseen decision with the effect on the left, these effects on the same intent contradict it.
_CONTRADICTIONS: dict[Effect, frozenset[Effect]] = {
    Effect.RENAME: frozenset(Effect),  # there is no intent of that name any more
    Effect.RESHAPE: frozenset(Effect),
    Effect.REJECT: frozenset(Effect),
    Effect.ACCEPT: frozenset({Effect.RESHAPE, Effect.REJECT}),
    Effect.GROW: frozenset({Effect.RESHAPE, Effect.REJECT, Effect.ACCEPT}),
    Effect.ADD: frozenset({Effect.REJECT}),
    Effect.COMMENT: frozenset(),
}


def check_conflicts(entries: Sequence[Entry], seen: int | None, decisions: Sequence[Decision]) -> None:
    """Refuse decisions that contradict what was recorded since their author looked.

    Args:
        entries: All entries of the log.
        seen: The version that the author saw; None if it is not to be checked.
        decisions: The new decisions, which need not be valid.

    Raises:
        ConflictError: Somebody decided something else about the same intent or utterance.
    """
    if seen is None:
        return
    unseen = _since(entries, seen)
    times = Counter(event.entry.id for event in unseen)
    made = _Effects(decisions)
    for event in unseen:
        is_taken_back = times[event.entry.id] > 1  # decided and undone: the state is what the author saw
        if not is_taken_back and made.contradict(event.entry.decision):
            raise ConflictError(f"{event.words} in the meantime; look at it, then decide again")


def check_nothing_decided(entries: Sequence[Entry], seen: int | None) -> None:
    """Refuse what follows from all intents together, if anything but comments was recorded since its author looked.

    Args:
        entries: All entries of the log.
        seen: The version that the author saw; None if it is not to be checked.

    Raises:
        ConflictError: Somebody decided or undid something.
    """
    for event in _since(entries, seen) if seen is not None else ():
        if event.entry.decision.kind != "comment":
            raise ConflictError(f"{event.words} in the meantime; look at the preview again")


def _since(entries: Sequence[Entry], seen: int) -> list[Event]:
    recorded = events(entries)
    if seen > len(recorded):
        raise ConflictError("the review was begun anew in the meantime; look at it, then decide again")
    return recorded[seen:]


def contradicts(first: Decision, second: Decision) -> bool:
    """Return whether a decision contradicts an earlier one that its author had not seen.

    Args:
        first: The decision that was recorded.
        second: The decision that was made without knowing it.
    """
    return _Effects([second]).contradict(first)


class _Effects:
    """What some decisions do, by intent and by utterance."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._on_intents: dict[str, set[Effect]] = {}
        self._targets: dict[str, list[Any]] = {}
        for decision in decisions:
            for name, effect in _effects(decision):
                self._on_intents.setdefault(name, set()).add(effect)
            if decision.kind == "move":
                for text in _texts(decision.arguments.get("texts")):
                    self._targets.setdefault(text, []).append(decision.arguments.get("to"))

    def contradict(self, earlier: Decision) -> bool:
        """Return whether one of the decisions contradicts an earlier one."""
        for name, effect in _effects(earlier):
            if self._on_intents.get(name, set()) & _CONTRADICTIONS[effect]:
                return True
        if earlier.kind != "move":
            return False
        target = earlier.arguments.get("to")
        return any(
            other != target for text in _texts(earlier.arguments.get("texts")) for other in self._targets.get(text, ())
        )


def _effects(decision: Decision) -> Iterator[tuple[str, Effect]]:
    """Yield the intents that a decision is about, and what it does to each."""
    get = decision.arguments.get
    effects: dict[str, list[tuple[Any, Effect]]] = {
        "rename": [([get("intent"), get("to")], Effect.RENAME)],
        "merge": [(get("intents"), Effect.RESHAPE), ([get("into")], Effect.GROW)],
        "split": [([get("intent")], Effect.RESHAPE), (get("into"), Effect.RESHAPE)],
        "reject": [([get("intent")], Effect.REJECT)],
        "accept": [([get("intent")], Effect.ACCEPT)],
        "comment": [([get("intent")], Effect.COMMENT)],
        "move": [([get("to")], Effect.ADD)],
    }
    for names, effect in effects.get(decision.kind, []):
        for name in _texts(names):
            if effect is not Effect.RESHAPE or name != get("into"):  # a merge may name its target among the others
                yield name, effect


def _texts(values: Any) -> Iterable[str]:
    """Return the texts among values that come from a request or a file and may be anything."""
    return [value for value in values if isinstance(value, str)] if isinstance(values, list | dict) else []
