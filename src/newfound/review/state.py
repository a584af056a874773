"""The state of a review: the names of a model's columns after some decisions, which are replayed in order.

A model predicts one of its columns. A review maps columns to names of intents. Renaming, merging, accepting and
rejecting change this mapping; splitting divides a column into parts, each described by some utterances. Moving an
utterance sets the intent of that very text, whatever the model predicts. If the intent it was moved to is split later,
the utterance belongs to one of the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from newfound.errors import DecisionError
from newfound.model.types import Status
from newfound.text import did_you_mean

if TYPE_CHECKING:
    from newfound.review.decisions import Decision

WHOLE = -1  # in place of the number of a part, for a column that was never split
Slot = tuple[int, int]  # a column of the model, and a part of it
MAX_NAME_LENGTH = 200  # characters


@dataclass(slots=True)
class Review:
    """The state of a review. `None` is no intent.

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
        decision.read().apply(self)

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

    def check_exists(self, name: str) -> None:
        """Raise a `DecisionError` if there is no intent of this name."""
        if name not in self.names:
            raise DecisionError(f"no intent {name!r}{did_you_mean(name, self.names)}")

    def check_free(self, name: str) -> None:
        """Raise a `DecisionError` if an intent cannot get this name."""
        if not name.strip() or len(name) > MAX_NAME_LENGTH:
            raise DecisionError(f"an intent's name needs 1 to {MAX_NAME_LENGTH} characters")
        if name in self.names:
            raise DecisionError(f"there is an intent {name!r} already; merge into it, or choose another name")

    def replace(self, old: str, new: str | None) -> None:
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

    def split(self, intent: str, groups: Mapping[str, tuple[str, ...]]) -> None:
        """Divide an intent into parts.

        Args:
            intent: Its present name, which one of the parts may keep.
            groups: The utterances that describe each part, by its name.
        """
        for slot in [slot for slot, name in self.slots.items() if name == intent]:
            del self.slots[slot]
            parts = self.parts.setdefault(slot[0], [])
            if slot[1] != WHOLE:
                parts[slot[1]] = ()  # replaced by the new parts
            for name, texts in groups.items():
                self.slots[slot[0], len(parts)] = name
                parts.append(texts)
        for text in [text for text, name in self.moved.items() if name == intent]:
            del self.moved[text]
            self.possible_parts[text] = tuple(groups)
        self._replace_in_possible_parts(intent, tuple(groups))
        number, comments = self.numbers.pop(intent), self.comments.pop(intent, ())
        if intent not in groups:
            self._forget(intent)
        heir = intent if intent in groups else next(iter(groups))
        for name in groups:
            self.numbers[name] = number if name == heir else self._next_number()
            if comments:
                self.comments[name] = comments

    def create(self, name: str) -> None:
        """Add an intent that consists only of the utterances that will be moved into it."""
        self.created.add(name)
        self.numbers[name] = self._next_number()

    def assign(self, texts: Sequence[str], to: str | None) -> None:
        """Set the intent of utterances."""
        for text in texts:
            self.possible_parts.pop(text, None)
            self.moved[text] = to

    def _replace_in_possible_parts(self, old: str, new: tuple[str, ...]) -> None:
        for text, names in list(self.possible_parts.items()):
            if old in names:
                remaining = tuple(dict.fromkeys(n for name in names for n in (new if name == old else (name,))))
                if len(remaining) > 1:
                    self.possible_parts[text] = remaining
                else:  # With one part left, that is its intent; with none, it has no intent.
                    del self.possible_parts[text]
                    self.moved[text] = remaining[0] if remaining else None

    def _next_number(self) -> int:
        self.issued += 1
        return self.issued - 1

    def _forget(self, name: str) -> None:
        for names in (self.known, self.accepted, self.created):
            names.discard(name)
