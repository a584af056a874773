"""The state of a review: the names of a model's columns after some decisions, which are replayed in order.

A model predicts one of its columns. A review maps columns to names of intents. Renaming, merging, accepting and
rejecting change this mapping; splitting divides a column into parts, each described by some utterances. Moving an
utterance sets the intent of that very text, whatever the model predicts. If the intent it was moved to is split later,
the utterance belongs to one of the parts.

The functions at the end say what can be said of a reviewed model without its network, and so without torch. Renaming,
accepting and moving do not change what the model predicts for other utterances, so that the stored intents of its
utterances still hold. Merging, splitting and rejecting change which intent is the most probable one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from newfound.errors import DecisionError
from newfound.model.types import Intent, Status, Utterance, intent_id, unused_id
from newfound.review.checks import check_name
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
        rejected: The name that each column, or part of one, had when it was rejected.
        accepted: New intents that a person accepted.
        parts: The utterances that describe each part of a column that was split.
        moved: Utterances that a person assigned, with their intent.
        possible_parts: Utterances that a person assigned to an intent that was split later, with the parts that they
            may belong to.
        created: Intents that consist only of moved utterances.
        numbers: A number for each intent, which stays with it when it is renamed. Colours are chosen by it.
        issued: How many of these numbers were given away.
        comments: The comments on each intent: the positions of the decisions among all comments that are in effect.
        texts: The utterances that a new decision may move; if empty, any.
    """

    slots: dict[Slot, str | None]
    known: set[str]
    rejected: dict[Slot, str] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    parts: dict[int, list[tuple[str, ...]]] = field(default_factory=dict)
    moved: dict[str, str | None] = field(default_factory=dict)
    possible_parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    issued: int = 0
    comments: dict[str, tuple[int, ...]] = field(default_factory=dict)
    n_comments: int = 0
    texts: Collection[str] = ()

    @classmethod
    def begin(cls, names: Sequence[str], known: Iterable[str]) -> Review:
        """Return the state before any decision, of a model with columns of these names."""
        slots: dict[Slot, str | None] = {(column, WHOLE): name for column, name in enumerate(names)}
        return cls(slots, set(known), numbers={name: n for n, name in enumerate(names)}, issued=len(names))

    @classmethod
    def of(cls, intents: Sequence[Intent]) -> Review:
        """Return the state before any decision, of a model with these intents, one for each column."""
        return cls.begin([intent.name for intent in intents], [intent.name for intent in intents if intent.known])

    def copy(self) -> Review:
        """Return the same state, which can be changed without this one."""
        values = {field.name: copy(getattr(self, field.name)) for field in fields(self)}
        return Review(**{**values, "parts": {column: list(parts) for column, parts in self.parts.items()}})

    @property
    def names(self) -> list[str]:
        """All intents, in the order of the model's columns."""
        used = (name for name in (*self.slots.values(), *sorted(self.created)) if name is not None)
        return list(dict.fromkeys(used))

    def status(self, name: str) -> Status:
        """Return whether an intent is known, accepted or new."""
        return "known" if name in self.known else "accepted" if name in self.accepted else "new"

    def ids(self, intents: Sequence[Intent]) -> dict[str, str]:
        """Return the id of each intent; `intents` has one for each column.

        A merged intent has the id of the first column that went into it, and a part of a split one an id of its own.
        """
        ids: dict[str, str] = {}
        for (column, part), name in sorted(self.slots.items()):
            if name is not None:
                ids.setdefault(name, intents[column].id if part == WHOLE else f"{intents[column].id}.{part}")
        for name in sorted(self.created - set(ids)):
            ids[name] = unused_id(intent_id(name), ids.values())
        return ids

    def names_of_parts(self, column: int) -> dict[int, str | None]:
        """Return the name of each part of a column that was split; None for one that was rejected."""
        return {part: name for (of, part), name in self.slots.items() if of == column and part != WHOLE}

    @property
    def checked(self) -> set[str]:
        """The utterances that a person has assigned."""
        return {*self.moved, *self.possible_parts}

    def apply(self, decision: Decision) -> None:
        """Apply a decision, or raise a `DecisionError` and leave the state as it is if that is not possible."""
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
        check_name(name)
        if name in self.names:
            raise DecisionError(f"there is an intent {name!r} already; merge into it, or choose another name")

    def replace(self, old: str, new: str | None) -> None:
        """Replace the name of an intent everywhere; `None` makes it no intent."""
        was_known, was_accepted = old in self.known, old in self.accepted
        self._forget(old)
        renamed = [slot for slot, name in self.slots.items() if name == old]
        self.slots = {slot: new if name == old else name for slot, name in self.slots.items()}
        self.moved = {text: new if name == old else name for text, name in self.moved.items()}
        self._replace_in_possible_parts(old, () if new is None else (new,))
        number, comments = self.numbers.pop(old), self.comments.pop(old, ())
        if new is None:
            self.rejected |= dict.fromkeys(renamed, old)
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
        """Divide an intent into parts, one of which may keep its name; `groups` has the texts that describe each."""
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


def assigned_without_network(
    review: Review, intents: Sequence[Intent], utterances: Iterable[Utterance]
) -> Iterator[Utterance] | None:
    """Return the stored utterances of a model with their intents after the review; None if that takes the network.

    `intents` has one for each column.
    """
    names = _name_of_each_column(review)
    if names is None or review.possible_parts:
        return None
    new_name = {intent.name: name for intent, name in zip(intents, names, strict=True)}
    return (_assigned(review, new_name, u) for u in utterances)


def _assigned(review: Review, new_name: Mapping[str, str], u: Utterance) -> Utterance:
    is_moved = u.text in review.moved
    name = review.moved[u.text] if is_moved else None if u.intent is None else new_name[u.intent]
    return Utterance(
        u.text, name, u.labelled, 1.0 if is_moved or u.labelled else u.probability, u.count, u.source, u.days
    )


def described_without_network(review: Review, intents: Sequence[Intent]) -> tuple[Intent, ...] | None:
    """Return a model's stored intents as they are after the review; None if their utterances have changed."""
    names = _name_of_each_column(review)
    if names is None or review.checked or review.created:
        return None
    new_name = {intent.name: names[column] for column, intent in enumerate(intents)}
    return tuple(
        replace(
            intent,
            name=new_name[intent.name],
            accepted=intent.accepted or new_name[intent.name] in review.accepted,
            overlaps=tuple(replace(o, name=new_name.get(o.name, o.name)) for o in intent.overlaps),
        )
        for intent in intents
    )


def discovered_intents(review: Review, intents: Sequence[Intent]) -> set[str]:
    """Return the intents found in logs, in this round or an earlier one; `intents` has one for each column."""
    named_by_labels = {name for (column, _), name in review.slots.items() if not intents[column].discovered}
    return set(review.names) - named_by_labels


def accepted_intents(review: Review, intents: Sequence[Intent]) -> set[str]:
    """Return the discovered intents that a person accepted, in this round or an earlier one."""
    return discovered_intents(review, intents) & (review.known | review.accepted)


def named_by_people(review: Review, names_of_model: set[str]) -> set[str]:
    """Return the intents that a person has named, merged, split or put utterances into, accepted or not."""
    columns = Counter(name for name in review.slots.values() if name is not None)
    parts = {name for (_, part), name in review.slots.items() if part != WHOLE}
    assigned = {*review.moved.values(), *(name for names in review.possible_parts.values() for name in names)}
    merged = {name for name, count in columns.items() if count > 1}
    names = set(review.names)
    return names & (merged | parts | assigned | (names - names_of_model))


def _name_of_each_column(review: Review) -> list[str] | None:
    """Return the names of the model's columns; None if a column is split or rejected, or if two have one name."""
    names = [name for (_, part), name in sorted(review.slots.items()) if part == WHOLE and name is not None]
    return names if len(names) == len(review.slots) and len(set(names)) == len(names) else None
