"""Review decisions and their effect. The state of a review is computed by replaying its decisions in order.

A model predicts one of its columns. A review maps columns to names of intents. Renaming, merging, accepting and
rejecting change this mapping; splitting divides a column into parts, each described by some utterances. Moving an
utterance sets the intent of that very text, whatever the model predicts. If the intent it was moved to is split later,
the utterance belongs to one of the parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from newfound.errors import DecisionError
from newfound.model.types import Status
from newfound.text import did_you_mean

WHOLE = -1  # in place of the number of a part, for a column that was never split
Slot = tuple[int, int]  # a column of the model, and a part of it
MAX_NAME_LENGTH = 200  # characters
MAX_COMMENT_LENGTH = 2_000  # characters


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision.

    Attributes:
        kind: One of `KINDS`.
        arguments: The arguments of this kind of decision.
    """

    kind: str
    arguments: Mapping[str, Any]


@dataclass(slots=True)
class Review:
    """The state of a review: the names of a model's columns after some decisions. `None` is no intent.

    Attributes:
        slots: The name of each column, or of each part of a column that was split.
        known: Names of the known intents.
        accepted: Names of new intents that a person accepted.
        parts: The utterances that describe each part of a column that was split.
        moved: Utterances that a person assigned, with their intent.
        possible_parts: Utterances that a person assigned to an intent that was split later, with the parts that they
            may belong to.
        created: Intents that consist only of moved utterances.
        numbers: A number for each intent, which stays with it when it is renamed. Colours are chosen by it.
        issued: How many of these numbers were given away.
        comments: The comments on each intent: the positions of the decisions among all comments that are in effect.
        n_comments: How many comments there are.
    """

    slots: dict[Slot, str | None]
    known: set[str]
    accepted: set[str] = field(default_factory=set)
    parts: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)
    moved: dict[str, str | None] = field(default_factory=dict)
    possible_parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    issued: int = 0
    comments: dict[str, tuple[int, ...]] = field(default_factory=dict)
    n_comments: int = 0

    @classmethod
    def begin(cls, names: Sequence[str], known: Iterable[str]) -> Review:
        """Return the state before any decision.

        Args:
            names: The names of the model's columns.
            known: The names of the known intents.
        """
        slots: dict[Slot, str | None] = {(column, WHOLE): name for column, name in enumerate(names)}
        return cls(slots, set(known), numbers={name: n for n, name in enumerate(names)}, issued=len(names))

    @property
    def names(self) -> list[str]:
        """All intents, in the order of the model's columns."""
        used = (name for name in (*self.slots.values(), *sorted(self.created)) if name is not None)
        return list(dict.fromkeys(used))

    def status(self, name: str) -> Status:
        """Return whether an intent is known, accepted or new."""
        return "known" if name in self.known else "accepted" if name in self.accepted else "new"

    @property
    def checked(self) -> set[str]:
        """The utterances that a person has assigned."""
        return {*self.moved, *self.possible_parts}

    def apply(self, decision: Decision) -> None:
        """Apply a decision to the state.

        Raises:
            DecisionError: The decision is not possible; the state is as before.
        """
        if decision.kind not in KINDS:
            raise DecisionError(f"no decision {decision.kind!r}; one of {', '.join(KINDS)}")
        KINDS[decision.kind](self, dict(decision.arguments))

    def check_consistent(self) -> None:
        """Raise a `DecisionError` if the state refers to an intent that does not exist, or has too few intents."""
        names = set(self.names)
        targets = {name for name in self.moved.values() if name is not None}
        targets |= {name for parts in self.possible_parts.values() for name in parts}
        missing = sorted((targets | self.known | self.accepted) - names)
        if missing:
            raise DecisionError(f"this would leave utterances in {missing[0]!r}, which would no longer exist")
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
        (into,) = _texts(arguments, "into", other_arguments=("intents",))
        names = list_of_texts(arguments, "intents")
        for name in (*names, into):
            self._check_exists(name)
        if not set(names) - {into}:
            raise DecisionError(f"merge: give at least one intent besides {into!r}")
        known = sorted(set(names) & self.known - {into})
        if known:
            raise DecisionError(f"merge: {known[0]!r} is a known intent; merge the others into it instead")
        for name in set(names) - {into}:
            self._replace(name, into)

    def _split(self, arguments: dict[str, Any]) -> None:
        (intent,) = _texts(arguments, "intent", other_arguments=("into",))
        self._check_exists(intent)
        into = arguments.get("into")
        if not isinstance(into, dict) or len(into) < 2:
            raise DecisionError("split: `into` needs at least two names, each with a few utterances")
        groups = {name: tuple(list_of_texts(into, name)) for name in into}
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
                parts[slot[1]] = ()  # replaced by the new parts
            for name, texts in groups.items():
                self.slots[slot[0], len(parts)] = name
                parts.append(texts)
        self._divide_moved(intent, tuple(groups))
        number, comments = self.numbers.pop(intent), self.comments.pop(intent, ())
        if intent not in groups:
            self._forget(intent)
        heir = intent if intent in groups else next(iter(groups))
        for name in groups:
            self.numbers[name] = number if name == heir else self._next_number()
            if comments:
                self.comments[name] = comments

    def _divide_moved(self, intent: str, into: tuple[str, ...]) -> None:
        """Note that utterances which a person assigned to an intent belong to one of its parts after a split."""
        for text in [text for text, name in self.moved.items() if name == intent]:
            del self.moved[text]
            self.possible_parts[text] = into
        self._replace_in_possible_parts(intent, into)

    def _replace_in_possible_parts(self, old: str, new: tuple[str, ...]) -> None:
        for text, names in list(self.possible_parts.items()):
            if old in names:
                remaining = tuple(dict.fromkeys(n for name in names for n in (new if name == old else (name,))))
                if len(remaining) > 1:
                    self.possible_parts[text] = remaining
                else:  # With one part left, that is its intent; with none, it has no intent.
                    del self.possible_parts[text]
                    self.moved[text] = remaining[0] if remaining else None

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

    def _comment(self, arguments: dict[str, Any]) -> None:
        """Note what somebody says about an intent. It changes nothing else."""
        intent, text = _texts(arguments, "intent", "text")
        self._check_exists(intent)
        if not text.strip() or len(text) > MAX_COMMENT_LENGTH:
            raise DecisionError(f"a comment needs 1 to {MAX_COMMENT_LENGTH} characters")
        self.comments[intent] = (*self.comments.get(intent, ()), self.n_comments)
        self.n_comments += 1

    def _move(self, arguments: dict[str, Any]) -> None:
        """Move utterances to an intent, to a new intent (`create: true`), or to no intent (`to: null`)."""
        texts = list_of_texts(arguments, "texts")
        if "to" in arguments and arguments["to"] is None:
            _texts(arguments, other_arguments=("texts", "to"))
            self._assign(texts, None)
            return
        (to,) = _texts(arguments, "to", other_arguments=("texts", "create"))
        if not isinstance(arguments.get("create", False), bool):
            raise DecisionError("move: `create` is true or false")
        if to not in self.names:
            if arguments.get("create") is not True:
                meant = did_you_mean(to, self.names)
                raise DecisionError(f"move: no intent {to!r}{meant}; add `create: true` to make it")
            self._check_free(to)
            self.created.add(to)
            self.numbers[to] = self._next_number()
        self._assign(texts, to)

    def _assign(self, texts: Sequence[str], to: str | None) -> None:
        for text in texts:
            self.possible_parts.pop(text, None)
            self.moved[text] = to

    def _replace(self, old: str, new: str | None) -> None:
        """Replace the name of an intent everywhere; `None` makes it no intent."""
        was_known, was_accepted = old in self.known, old in self.accepted
        self._forget(old)
        self.slots = {slot: new if name == old else name for slot, name in self.slots.items()}
        self.moved = {text: new if name == old else name for text, name in self.moved.items()}
        self._replace_in_possible_parts(old, () if new is None else (new,))
        number, comments = self.numbers.pop(old), self.comments.pop(old, ())
        if new is None:
            return
        self.numbers.setdefault(new, number)
        if comments:
            self.comments[new] = tuple(sorted({*self.comments.get(new, ()), *comments}))  # parts share comments
        if was_known:
            self.known.add(new)
        elif was_accepted and new not in self.known:
            self.accepted.add(new)
        if new not in self.slots.values():
            self.created.add(new)

    def _next_number(self) -> int:
        self.issued += 1
        return self.issued - 1

    def _forget(self, name: str) -> None:
        for names in (self.known, self.accepted, self.created):
            names.discard(name)

    def _check_exists(self, name: str) -> None:
        if name not in self.names:
            raise DecisionError(f"no intent {name!r}{did_you_mean(name, self.names)}")

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
    "comment": Review._comment,
}


def replay(names: Sequence[str], known: Iterable[str], decisions: Iterable[Decision]) -> Review:
    """Return the state of a review after some decisions.

    Args:
        names: The names of the model's columns.
        known: The names of the known intents.
        decisions: The decisions, in order.
    """
    review = Review.begin(names, known)
    for decision in decisions:
        review.apply(decision)
    return review


def parse(entry: Any) -> Decision:
    """Return the decision that a YAML or JSON value describes.

    The value is a mapping of one kind to its arguments, such as `{rename: {intent: a, to: b}}`. `accept: some_intent`
    is short for `accept: {intent: some_intent}`, and likewise for `reject`.

    Raises:
        DecisionError: The value does not describe a decision.
    """
    if not isinstance(entry, dict) or len(entry) != 1:
        raise DecisionError(f"a decision is one of {', '.join(KINDS)} with its arguments, not {str(entry)[:60]!r}")
    ((kind, arguments),) = entry.items()
    if isinstance(kind, str) and kind not in KINDS:
        raise DecisionError(f"no decision {kind[:60]!r}{did_you_mean(kind, KINDS)}; one of {', '.join(KINDS)}")
    if isinstance(arguments, str) and kind in ("accept", "reject"):
        arguments = {"intent": arguments}
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(arguments, dict):
        raise DecisionError(f"a decision is one of {', '.join(KINDS)} with its arguments, not {str(entry)[:60]!r}")
    return Decision(kind, arguments)


def shown(decision: Decision, width: int = 100) -> str:
    """Return a decision on one line, as it is written in a file of decisions, for error messages."""
    text = f"{decision.kind}: {json.dumps(dict(decision.arguments), ensure_ascii=False, default=str)}"
    return text if len(text) <= width else text[: width - 1] + "…"


def _texts(arguments: dict[str, Any], *names: str, other_arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the arguments with these names, which must be texts; any but these and `other_arguments` is refused."""
    expected = (*names, *other_arguments)
    unknown = set(arguments) - set(expected)
    if unknown:
        name = sorted(map(str, unknown))[0]
        meant = did_you_mean(name, expected)
        raise DecisionError(f"unknown argument {name[:60]!r}{meant}; expected {', '.join(expected)}")
    for name in names:
        if not isinstance(arguments.get(name), str) or not arguments[name]:
            raise DecisionError(f"the argument {name!r} is missing or not a text")
    return tuple(arguments[name] for name in names)


def list_of_texts(arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return an argument that must be a list of at least one text.

    Args:
        arguments: The arguments of a decision.
        name: The name of the argument.
    """
    texts = arguments.get(name)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise DecisionError(f"{name!r} needs a list of at least one text")
    return texts
