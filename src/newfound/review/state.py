"""The state of a review: the names of a model's columns after some decisions, which are replayed in order.

A model predicts one of its columns. A review maps columns to names of intents. Renaming, merging, accepting and
rejecting change this mapping; splitting divides a column into parts, each described by some utterances. Moving an
utterance assigns that very text to an intent, whatever the model predicts. If that intent is split later, the utterance
belongs to one of the parts.

The functions at the end say what can be said of a reviewed model without its network, and so without torch. Renaming,
accepting and moving do not change what the model predicts for other utterances, so that the stored intents of its
utterances still hold. Merging, splitting and rejecting change which intent is the most probable one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field, fields, replace

from newfound.errors import DecisionError
from newfound.model.types import Intent, Status, Utterance, intent_id, unused_id
from newfound.review.decisions import Decision, check_name
from newfound.text import did_you_mean

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
        assigned: Utterances that a person assigned, with their intent: nothing for no intent, and several intents that
            it may be one of if it was split later.
        divided: The parts of utterances that a person divided, which are assigned, too.
        created: Intents that consist only of assigned utterances.
        numbers: A number for each intent, which stays with it when it is renamed. Colours are chosen by it.
        comments: The comments on each intent: the positions of the decisions among all comments that are in effect.
        texts: The utterances that a new decision may move; if empty, any.
    """

    slots: dict[Slot, str | None]
    known: set[str]
    rejected: dict[Slot, str] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    parts: dict[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    assigned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    divided: dict[str, tuple[str, ...]] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    comments: dict[str, tuple[int, ...]] = field(default_factory=dict)
    n_comments: int = 0
    texts: Collection[str] = ()

    @classmethod
    def begin(cls, names: Sequence[str], known: Iterable[str]) -> Review:
        """Return the state before any decision, of a model with columns of these names."""
        slots: dict[Slot, str | None] = {(column, WHOLE): name for column, name in enumerate(names)}
        return cls(slots, set(known), numbers={name: n for n, name in enumerate(names)})

    @classmethod
    def of(cls, intents: Sequence[Intent]) -> Review:
        """Return the state before any decision, of a model with these intents, one for each column."""
        return cls.begin([intent.name for intent in intents], [intent.name for intent in intents if intent.known])

    def copy(self) -> Review:
        """Return the same state, which can be changed without this one."""
        return Review(**{field.name: copy(getattr(self, field.name)) for field in fields(self)})

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
    def checked(self) -> Set[str]:
        """The utterances that a person has assigned."""
        return self.assigned.keys()

    def apply(self, decision: Decision) -> None:
        """Apply a decision, or raise a `DecisionError` and leave the state as it is if that is not possible."""
        decision.read().apply(self)

    def check_consistent(self) -> None:
        """Raise a `DecisionError` if the state has too few intents."""
        if len(self.names) < 2:
            raise DecisionError("this would leave fewer than two intents")

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

    def check_has(self, texts: Iterable[str]) -> None:
        """Raise a `DecisionError` if a new decision may not move one of these utterances."""
        unknown = next((text for text in texts if self.texts and text not in self.texts), None)
        if unknown is not None:
            meant = did_you_mean(unknown, self.texts)
            raise DecisionError(f"{unknown[:80]!r} is not among the utterances of this model{meant}")

    def replace(self, old: str, new: str | None) -> None:
        """Replace the name of an intent everywhere; `None` makes it no intent."""
        status = self.status(old)
        self._forget(old)
        renamed = [slot for slot, name in self.slots.items() if name == old]
        self.slots = {slot: new if name == old else name for slot, name in self.slots.items()}
        self._reassign(old, () if new is None else (new,))
        number, comments = self.numbers.pop(old), self.comments.pop(old, ())
        if new is None:
            self.rejected |= dict.fromkeys(renamed, old)
            return
        self.numbers.setdefault(new, number)
        if comments:
            self.comments[new] = tuple(sorted({*self.comments.get(new, ()), *comments}))  # parts share comments
        if status == "known":
            self.known.add(new)
        elif status == "accepted" and new not in self.known:
            self.accepted.add(new)
        if new not in self.slots.values():
            self.created.add(new)

    def split(self, intent: str, groups: Mapping[str, tuple[str, ...]]) -> None:
        """Divide an intent into parts, one of which may keep its name; `groups` has the texts that describe each."""
        for slot in [slot for slot, name in self.slots.items() if name == intent]:
            del self.slots[slot]
            parts = list(self.parts.get(slot[0], ()))
            if slot[1] != WHOLE:
                parts[slot[1]] = ()  # replaced by the new parts
            self.slots |= {(slot[0], part): name for part, name in enumerate(groups, len(parts))}
            self.parts[slot[0]] = (*parts, *groups.values())
        self._reassign(intent, tuple(groups))
        comments = self.comments.pop(intent, ())
        if intent not in groups:
            self._forget(intent)
            self.numbers[next(iter(groups))] = self.numbers.pop(intent)
        for name in groups:
            self.numbers.setdefault(name, self._unused_number())
            if comments:
                self.comments[name] = comments

    def create(self, name: str) -> None:
        """Add an intent that consists only of the utterances that will be moved into it."""
        self.created.add(name)
        self.numbers[name] = self._unused_number()

    def assign(self, texts: Sequence[str], to: str | None) -> None:
        """Set the intent of utterances, which then are whole."""
        parts = {part for text in texts for part in self.divided.get(text, ())}
        self.divided = {text: own for text, own in self.divided.items() if text not in texts}
        self.assigned = {text: names for text, names in self.assigned.items() if text not in parts}
        self.assigned |= dict.fromkeys(texts, () if to is None else (to,))

    def divide(self, text: str, parts: Mapping[str, str]) -> None:
        """Put an utterance into no intent, and its parts into theirs."""
        self.assign([text], None)
        for part, intent in parts.items():
            self.assign([part], intent)
        self.divided[text] = tuple(parts)

    def _reassign(self, old: str, new: tuple[str, ...]) -> None:
        """Assign the utterances of an intent to what becomes of it."""
        for text, names in self.assigned.items():
            if old in names:
                self.assigned[text] = tuple(
                    dict.fromkeys(n for name in names for n in (new if name == old else [name]))
                )

    def _unused_number(self) -> int:
        return 1 + max(self.numbers.values(), default=-1)

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
    if names is None or any(len(possible) > 1 for possible in review.assigned.values()):
        return None
    new_name: dict[str | None, str] = {intent.name: name for intent, name in zip(intents, names, strict=True)}
    return (_assigned(review, new_name, u) for u in utterances)


def _assigned(review: Review, new_name: Mapping[str | None, str], u: Utterance) -> Utterance:
    by_person = review.assigned.get(u.text)
    name = new_name.get(u.intent) if by_person is None else next(iter(by_person), None)
    is_certain = u.labelled or by_person is not None
    return Utterance(u.text, name, u.labelled, 1.0 if is_certain else u.probability, u.count, u.source, u.days, u.said)


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
    assigned = {name for names in review.assigned.values() for name in names}
    merged = {name for name, count in columns.items() if count > 1}
    names = set(review.names)
    return names & (merged | parts | assigned | (names - names_of_model))


def _name_of_each_column(review: Review) -> list[str] | None:
    """Return the names of the model's columns; None if a column is split or rejected, or if two have one name."""
    names = [name for (_, part), name in sorted(review.slots.items()) if part == WHOLE and name is not None]
    return names if len(names) == len(review.slots) and len(set(names)) == len(names) else None
