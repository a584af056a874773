"""Decisions and what follows from them. A decision is data; the state of a review is the decisions, replayed in order.

A model predicts columns. A review maps columns to names: renaming, merging, accepting and rejecting change the mapping;
splitting divides a column into parts, each described by some utterances; moving an utterance overrules them all for
that very text. An utterance that was moved to an intent which is split later belongs to one of the parts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from newfound.errors import DecisionError
from newfound.model.types import Status

WHOLE = -1  # the part of a column that was never split
Slot = tuple[int, int]  # column of the model, part of it
MAX_NAME_LENGTH = 200
MAX_PARTS = 20  # of one split
MAX_DESCRIBING_TEXTS = 200  # of one part
# Marks that change the direction of the text around them: a name with one can pass for another.
DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
INVISIBLE_AT_THE_ENDS = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")


@dataclass(frozen=True, slots=True)
class Decision:
    """`kind` is one of `KINDS`; `arguments` are what it needs."""

    kind: str
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class Review:
    """The names that a model's columns go by after some decisions. `None` is no intent.

    Attributes:
        slots: The name of each column, or of each part of a column that was split.
        known: Names of the known intents.
        accepted: Names of new intents that a person accepted.
        parts: The utterances that describe each part of a column that was split.
        moved: Utterances that a person assigned, with their intent.
        among: Utterances that a person assigned to an intent that was split later, with the parts it may be in.
        created: Intents that so far consist of moved utterances alone.
    """

    slots: dict[Slot, str | None]
    known: set[str]
    accepted: set[str] = field(default_factory=set)
    parts: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)
    moved: dict[str, str | None] = field(default_factory=dict)
    among: dict[str, tuple[str, ...]] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, names: Sequence[str], known: Iterable[str]) -> Review:
        return cls({(column, WHOLE): name for column, name in enumerate(names)}, set(known))

    @property
    def names(self) -> list[str]:
        """All intents, in the order of the model's columns."""
        used = (name for name in (*self.slots.values(), *sorted(self.created)) if name is not None)
        return list(dict.fromkeys(used))

    def status(self, name: str) -> Status:
        return "known" if name in self.known else "accepted" if name in self.accepted else "new"

    @property
    def checked(self) -> set[str]:
        """The utterances that a person has assigned."""
        return {*self.moved, *self.among}

    def apply(self, decision: Decision) -> None:
        """Change the state, or raise a `DecisionError` and leave it as it was."""
        if decision.kind not in KINDS:
            raise DecisionError(f"no decision {decision.kind!r}; one of {', '.join(KINDS)}")
        KINDS[decision.kind](self, dict(decision.arguments))

    def check_consistent(self) -> None:
        """Raise a `DecisionError` if anything points to an intent that does not exist."""
        names = set(self.names)
        targets = {name for name in self.moved.values() if name is not None}
        targets |= {name for among in self.among.values() for name in among}
        lost = sorted((targets | self.known | self.accepted) - names)
        if lost:
            raise DecisionError(f"this would leave utterances in {lost[0]!r}, which would no longer exist")
        if len(names) < 2:
            raise DecisionError("this would leave fewer than two intents")
        for column, part in self.slots:
            if part != WHOLE and part >= len(self.parts.get(column, [])):
                raise DecisionError("this would leave a part of an intent without a description")

    def _rename(self, arguments: dict[str, Any]) -> None:
        old, new = _texts(arguments, "intent", "to")
        self._check_exists(old)
        self._check_free(new)
        self._replace(old, new)

    def _merge(self, arguments: dict[str, Any]) -> None:
        (into,) = _texts(arguments, "into", more=("intents",))
        names = _list_of_texts(arguments, "intents")
        for name in (*names, into):
            self._check_exists(name)
        if not set(names) - {into}:
            raise DecisionError(f"merge: give at least one intent besides {into!r}")
        lost = sorted(set(names) & self.known - {into})
        if lost:
            raise DecisionError(f"merge: {lost[0]!r} is a known intent; merge the others into it instead")
        for name in set(names) - {into}:
            self._replace(name, into)

    def _split(self, arguments: dict[str, Any]) -> None:
        (intent,) = _texts(arguments, "intent", more=("into",))
        self._check_exists(intent)
        into = arguments.get("into")
        if not isinstance(into, dict) or len(into) < 2:
            raise DecisionError("split: `into` needs at least two names, each with a few utterances")
        groups = {name: tuple(_list_of_texts(into, name)) for name in into}
        for name in groups:
            if name != intent:
                self._check_free(name)
        slots = [slot for slot, name in self.slots.items() if name == intent]
        if not slots:
            raise DecisionError(f"split: {intent!r} consists of moved utterances alone; move them instead")
        for slot in slots:
            del self.slots[slot]
            parts = self.parts.setdefault(slot[0], [])
            if slot[1] != WHOLE:
                parts[slot[1]] = ()  # its utterances describe it no longer
            for name, texts in groups.items():
                self.slots[slot[0], len(parts)] = name
                parts.append(texts)
        self._divide_moved(intent, tuple(groups))
        if intent not in groups:
            self._forget(intent)

    def _divide_moved(self, intent: str, into: tuple[str, ...]) -> None:
        """What a person had assigned to an intent that is split belongs to one of its parts."""
        for text in [text for text, name in self.moved.items() if name == intent]:
            del self.moved[text]
            self.among[text] = into
        self._replace_among(intent, into)

    def _replace_among(self, old: str, new: tuple[str, ...]) -> None:
        for text, names in list(self.among.items()):
            if old in names:
                left = tuple(dict.fromkeys(n for name in names for n in (new if name == old else (name,))))
                if len(left) > 1:
                    self.among[text] = left
                else:  # only one part is left: that is its intent, or it has none
                    del self.among[text]
                    self.moved[text] = left[0] if left else None

    def _reject(self, arguments: dict[str, Any]) -> None:
        (intent,) = _texts(arguments, "intent")
        self._check_exists(intent)
        if intent in self.known:
            raise DecisionError(f"reject: {intent!r} is a known intent")
        self._replace(intent, None)

    def _accept(self, arguments: dict[str, Any]) -> None:
        (intent,) = _texts(arguments, "intent")
        self._check_exists(intent)
        if intent not in self.known:
            self.accepted.add(intent)

    def _move(self, arguments: dict[str, Any]) -> None:
        """To an intent, to one that is created for it, or, with `to: null`, out of all intents."""
        texts = _list_of_texts(arguments, "texts")
        if "to" in arguments and arguments["to"] is None:
            _texts(arguments, more=("texts", "to"))
            self._assign(texts, None)
            return
        (to,) = _texts(arguments, "to", more=("texts", "create"))
        if not isinstance(arguments.get("create", False), bool):
            raise DecisionError("move: `create` is true or false")
        if to not in self.names:
            if arguments.get("create") is not True:
                raise DecisionError(f"move: no intent {to!r}; add `create: true` to make it")
            self._check_free(to)
            self.created.add(to)
        self._assign(texts, to)

    def _assign(self, texts: Sequence[str], to: str | None) -> None:
        for text in texts:
            self.among.pop(text, None)
            self.moved[text] = to

    def _replace(self, old: str, new: str | None) -> None:
        """Give another name to everything that goes by the old one; `None` makes it no intent."""
        was_known, was_accepted = old in self.known, old in self.accepted
        self._forget(old)
        self.slots = {slot: new if name == old else name for slot, name in self.slots.items()}
        self.moved = {text: new if name == old else name for text, name in self.moved.items()}
        self._replace_among(old, () if new is None else (new,))
        if new is None:
            return
        if was_known:
            self.known.add(new)
        elif was_accepted and new not in self.known:
            self.accepted.add(new)
        if new not in self.slots.values():
            self.created.add(new)

    def _forget(self, name: str) -> None:
        for names in (self.known, self.accepted, self.created):
            names.discard(name)

    def _check_exists(self, name: str) -> None:
        if name not in self.names:
            raise DecisionError(f"no intent {name!r}")

    def _check_free(self, name: str) -> None:
        if not name.strip() or len(name) > MAX_NAME_LENGTH:
            raise DecisionError(f"an intent's name needs 1 to {MAX_NAME_LENGTH} characters")
        if name in self.names:
            raise DecisionError(f"there is an intent {name!r} already; merge into it, or choose another name")


KINDS: dict[str, Callable[[Review, dict[str, Any]], None]] = {
    "rename": Review._rename,
    "merge": Review._merge,
    "split": Review._split,
    "reject": Review._reject,
    "accept": Review._accept,
    "move": Review._move,
}


def replay(names: Sequence[str], known: Iterable[str], decisions: Iterable[Decision]) -> Review:
    review = Review.begin(names, known)
    for decision in decisions:
        review.apply(decision)
    return review


def parse(entry: Any) -> Decision:
    """A decision as YAML and JSON write it: one kind, and its arguments; `accept: some_intent` is short for one."""
    if not isinstance(entry, dict) or len(entry) != 1:
        raise DecisionError(f"a decision is one of {', '.join(KINDS)} with its arguments, not {str(entry)[:60]!r}")
    ((kind, arguments),) = entry.items()
    if isinstance(arguments, str) and kind in ("accept", "reject"):
        arguments = {"intent": arguments}
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(arguments, dict):
        raise DecisionError(f"a decision is one of {', '.join(KINDS)} with its arguments, not {str(entry)[:60]!r}")
    return Decision(kind, arguments)


def check_new(decision: Decision, texts: Collection[str]) -> None:
    """Raise a `DecisionError` for what a new decision must not hold. Decisions taken earlier are replayed without.

    Args:
        decision: The decision to be taken.
        texts: The utterances of the model; empty if they are not kept.
    """
    arguments = decision.arguments
    for name in _new_names(decision):
        _check_visible(name)
    if decision.kind == "split":
        into = arguments.get("into")
        if isinstance(into, dict) and len(into) > MAX_PARTS:
            raise DecisionError(f"split: at most {MAX_PARTS} parts at a time; split one of them again")
        if isinstance(into, dict) and any(isinstance(t, list) and len(t) > MAX_DESCRIBING_TEXTS for t in into.values()):
            raise DecisionError(f"split: at most {MAX_DESCRIBING_TEXTS} utterances describe a part; give the clearest")
    if decision.kind == "move" and texts:
        strange = [text for text in _list_of_texts(arguments, "texts") if text not in texts]
        if strange:
            raise DecisionError(f"move: {strange[0][:80]!r} is not among the utterances of this model")


def _new_names(decision: Decision) -> list[str]:
    arguments = decision.arguments
    into = arguments.get("into")
    given = {
        "rename": [arguments.get("to")],
        "move": [arguments.get("to")] if arguments.get("create") is True else [],
        "split": list(into) if isinstance(into, dict) else [],
    }.get(decision.kind, [])
    return [name for name in given if isinstance(name, str)]


def _check_visible(name: str) -> None:
    """Refuse a name that a person cannot read as it is: line breaks, marks that turn the text, nothing visible."""
    hidden = [c for c in name if c in DIRECTION_MARKS or unicodedata.category(c) in ("Cc", "Zl", "Zp", "Co", "Cn")]
    if hidden:
        raise DecisionError(f"an intent's name must not hold the invisible character U+{ord(hidden[0]):04X}")
    if name and (name[0] in INVISIBLE_AT_THE_ENDS or name[-1] in INVISIBLE_AT_THE_ENDS or name != name.strip()):
        raise DecisionError("an intent's name must not begin or end with a space or an invisible character")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise DecisionError("an intent's name needs something visible")


def _texts(arguments: dict[str, Any], *names: str, more: Sequence[str] = ()) -> tuple[str, ...]:
    odd = set(arguments) - set(names) - set(more)
    if odd:
        raise DecisionError(f"unknown argument {sorted(map(str, odd))[0]!r}; expected {', '.join((*names, *more))}")
    for name in names:
        if not isinstance(arguments.get(name), str) or not arguments[name]:
            raise DecisionError(f"the argument {name!r} is missing or not a text")
    return tuple(arguments[name] for name in names)


def _list_of_texts(arguments: Mapping[str, Any], name: str) -> list[str]:
    found = arguments.get(name)
    if not isinstance(found, list) or not found or not all(isinstance(text, str) and text for text in found):
        raise DecisionError(f"{name!r} needs a list of at least one text")
    return found
