"""The kinds of decisions: one class for each, and a row in `KINDS`. Nothing else knows what a kind means.

A decision is stored as its kind and its arguments. `Decision.read` checks the arguments and returns the class of the
kind with them as fields; it says what the decision does to a review, how it reads in words, what is required of a new
one, and which decisions of others contradict it.
"""

from __future__ import annotations

import json
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from newfound.errors import DecisionError
from newfound.text import did_you_mean, has_half_character, join_words, shorten
from newfound.untrusted import parse as parse_untrusted

if TYPE_CHECKING:
    from newfound.review.state import Review

MAX_COMMENT_LENGTH = 2_000  # characters
MAX_COMMENTS = 200  # on one intent
MAX_PARTS = 200  # of one split
MAX_DESCRIBING_TEXTS = 200  # of one part
MAX_SHOWN_LENGTH = 60  # characters of an utterance or a comment in words
# Marks that change the direction of the text around them. A name that contains one can look like another name.
DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
INVISIBLE_AT_THE_ENDS = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")
# What an argument is, by the type that its field has, and what is said of any other value.
ARGUMENTS: dict[str, tuple[Any, str]] = {
    "str": (str, "is missing or not a text"),
    "str | None": (str | None, "is missing or not a text"),
    "tuple[str, ...]": (tuple[str, ...], "needs a list of at least one text"),
    "dict[str, tuple[str, ...]]": (dict[str, tuple[str, ...]], "needs at least two names, each with a list of texts"),
    "dict[str, str]": (dict[str, str], "needs at least two texts, each with a name"),
    "bool": (bool, "is true or false"),
}
# What two decisions can be in conflict about: that an intent exists under its name, whether it is accepted, the intents
# merged into it, the utterances moved into it, and the intent of one utterance.
EXISTS, STATUS, MEMBERS, MOVED, UTTERANCE = "exists", "status", "members", "moved", "utterance"
Touched = Mapping[str, tuple[str, ...]]  # a field that names intents or utterances -> what of them


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision.

    Attributes:
        kind: One of `KINDS`.
        arguments: The arguments of this kind of decision.
    """

    kind: str
    arguments: Mapping[str, Any]

    def read(self) -> Kind:
        """Return the decision with its arguments checked.

        Raises:
            DecisionError: There is no such kind, or it has other arguments.
        """
        return _class_of(self.kind).of(self.arguments)

    @property
    def words(self) -> str:
        """What somebody did, as the rest of a sentence that begins with the person's name.

        Stored decisions may be of a newer version or damaged; of those it is only the kind.
        """
        try:
            return self.read().words()
        except DecisionError:
            return self.kind


class Kind(ABC):
    """A kind of decision. Its fields are the arguments, whose types say how they are checked.

    Attributes:
        changes: What a decision changes, by the field that names it.
        relies_on: What must not have changed since its author looked.
    """

    changes: ClassVar[Touched] = {}
    relies_on: ClassVar[Touched] = {}

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Return a decision of this kind, or raise a `DecisionError` if its arguments are others."""
        expected = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]  # every kind is a dataclass
        unknown = sorted(map(str, set(arguments) - set(expected)))
        if unknown:
            meant = did_you_mean(unknown[0], expected)
            raise DecisionError(f"unknown argument {unknown[0][:60]!r}{meant}; expected {', '.join(expected)}")
        given = [field for field in expected.values() if field.name in arguments or field.default is MISSING]
        return cls(**{field.name: _read_argument(field, arguments) for field in given})

    @abstractmethod
    def apply(self, review: Review) -> None:
        """Change the state of a review; raise a `DecisionError` and leave it as it is if that is not possible."""

    @abstractmethod
    def words(self) -> str:
        """Return what somebody did, as the rest of a sentence that begins with the person's name."""


@dataclass(frozen=True, slots=True)
class Rename(Kind):
    """Give an intent another name."""

    changes: ClassVar[Touched] = {"intent": (EXISTS,), "to": (EXISTS,)}
    relies_on: ClassVar[Touched] = {"intent": (EXISTS,), "to": (EXISTS,)}
    intent: str
    to: str

    def apply(self, review: Review) -> None:
        review.check_exists(self.intent)
        review.check_free(self.to)
        review.replace(self.intent, self.to)

    def words(self) -> str:
        return f"renamed {self.intent} to {self.to}"


@dataclass(frozen=True, slots=True)
class Merge(Kind):
    """Add intents to another one."""

    changes: ClassVar[Touched] = {"others": (EXISTS,), "into": (MEMBERS,)}
    relies_on: ClassVar[Touched] = {"others": (EXISTS, STATUS, MEMBERS), "into": (EXISTS,)}
    intents: tuple[str, ...]
    into: str

    @property
    def others(self) -> list[str]:
        """The intents that are merged into another one, which may be named among them."""
        return [name for name in dict.fromkeys(self.intents) if name != self.into]

    def apply(self, review: Review) -> None:
        for name in self.intents:
            review.check_exists(name)
        if self.into not in review.names:
            meant = did_you_mean(self.into, review.names)
            raise DecisionError(f"merge: no intent {self.into!r}{meant}; merge into one of them, then rename that one")
        if not self.others:
            raise DecisionError(f"merge: give at least one intent besides {self.into!r}")
        known = sorted(set(self.others) & review.known)
        if known:
            raise DecisionError(f"merge: {known[0]!r} is a known intent; merge the others into it instead")
        for name in self.others:
            review.replace(name, self.into)

    def words(self) -> str:
        return f"merged {join_words(self.others or [self.into], 'and')} into {self.into}"


@dataclass(frozen=True, slots=True)
class Split(Kind):
    """Divide an intent into parts, each described by a few utterances."""

    changes: ClassVar[Touched] = {"intent": (EXISTS,), "into": (EXISTS,)}
    relies_on: ClassVar[Touched] = {"intent": (EXISTS, STATUS, MEMBERS), "into": (EXISTS, STATUS, MEMBERS)}
    intent: str
    into: dict[str, tuple[str, ...]]

    def apply(self, review: Review) -> None:
        review.check_exists(self.intent)
        if len(self.into) > MAX_PARTS:
            raise DecisionError(f"split: at most {MAX_PARTS} parts at a time; split one of them again")
        if any(len(texts) > MAX_DESCRIBING_TEXTS for texts in self.into.values()):
            raise DecisionError(f"split: at most {MAX_DESCRIBING_TEXTS} utterances describe a part; give the clearest")
        for name in self.into:
            if name != self.intent:
                review.check_free(name)
        if self.intent not in review.slots.values():
            raise DecisionError(f"split: {self.intent!r} consists of moved utterances alone; move them instead")
        review.split(self.intent, self.into)

    def words(self) -> str:
        return f"split {self.intent} into {join_words(list(self.into), 'and')}"


@dataclass(frozen=True, slots=True)
class Reject(Kind):
    """Make an intent no intent."""

    changes: ClassVar[Touched] = {"intent": (EXISTS,)}
    relies_on: ClassVar[Touched] = {"intent": (EXISTS, STATUS, MEMBERS, MOVED)}
    intent: str

    def apply(self, review: Review) -> None:
        review.check_exists(self.intent)
        if self.intent in review.known:
            raise DecisionError(f"reject: {self.intent!r} is a known intent")
        review.replace(self.intent, None)

    def words(self) -> str:
        return f"rejected {self.intent}"


@dataclass(frozen=True, slots=True)
class Accept(Kind):
    """Note that a new intent is one."""

    changes: ClassVar[Touched] = {"intent": (STATUS,)}
    relies_on: ClassVar[Touched] = {"intent": (EXISTS, MEMBERS)}
    intent: str

    def apply(self, review: Review) -> None:
        review.check_exists(self.intent)
        if self.intent not in review.known:
            review.accepted.add(self.intent)

    def words(self) -> str:
        return f"accepted {self.intent}"


@dataclass(frozen=True, slots=True)
class Move(Kind):
    """Move utterances to an intent, to a new intent (`create: true`), or to no intent (`to: null`)."""

    changes: ClassVar[Touched] = {"texts": (UTTERANCE,), "to": (MOVED,)}
    relies_on: ClassVar[Touched] = {"texts": (UTTERANCE,), "to": (EXISTS,)}
    texts: tuple[str, ...]
    to: str | None
    create: bool = False

    def apply(self, review: Review) -> None:
        review.check_has(self.texts)
        if self.to is not None and self.to not in review.names:
            if not self.create:
                meant = did_you_mean(self.to, review.names)
                raise DecisionError(f"move: no intent {self.to!r}{meant}; add `create: true` to make it")
            review.check_free(self.to)
            review.create(self.to)
        review.assign(self.texts, self.to)

    def words(self) -> str:
        first = _quote(self.texts[0])
        what = first if len(self.texts) == 1 else f"{len(self.texts)} utterances ({first}, …)"
        if self.to is None:
            return f"put {what} into no intent"
        return f"made the intent {self.to} of {what}" if self.create else f"put {what} into {self.to}"


@dataclass(frozen=True, slots=True)
class Divide(Kind):
    """Divide an utterance that states several wishes into parts, in order, each with its intent."""

    changes: ClassVar[Touched] = {"utterances": (UTTERANCE,), "intents": (MOVED,)}
    relies_on: ClassVar[Touched] = {"utterances": (UTTERANCE,), "intents": (EXISTS,)}
    text: str
    parts: dict[str, str]

    @property
    def utterances(self) -> tuple[str, ...]:
        return (self.text, *self.parts)

    @property
    def intents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.parts.values()))

    def apply(self, review: Review) -> None:
        review.check_has([self.text])
        start = 0
        for part in sorted(self.parts, key=self.text.find):  # JSON's objects may have their numbers first
            review.check_exists(self.parts[part])
            if not part.strip() or part not in self.text[start:]:
                raise DecisionError(f"divide: {part[:80]!r} does not follow in the utterance; give its parts in order")
            start = self.text.index(part, start) + len(part)
        review.divide(self.text, self.parts)

    def words(self) -> str:
        return f"divided {_quote(self.text)} into {join_words([_quote(part) for part in self.parts], 'and')}"


@dataclass(frozen=True, slots=True)
class Comment(Kind):
    """Say something about an intent. Nothing else changes."""

    relies_on: ClassVar[Touched] = {"intent": (EXISTS,)}
    intent: str
    text: str

    def apply(self, review: Review) -> None:
        review.check_exists(self.intent)
        if not self.text.strip() or len(self.text) > MAX_COMMENT_LENGTH:
            raise DecisionError(f"a comment needs 1 to {MAX_COMMENT_LENGTH} characters")
        _check_comment(self.text)
        if len(review.comments.get(self.intent, ())) >= MAX_COMMENTS:
            many = f"{self.intent!r} has {MAX_COMMENTS} comments"
            raise DecisionError(f"{many}, and more are not kept; undo some of them first")
        review.comments[self.intent] = (*review.comments.get(self.intent, ()), review.n_comments)
        review.n_comments += 1

    def words(self) -> str:
        return f"commented on {self.intent}: {_quote(self.text)}"


KINDS: dict[str, type[Kind]] = {
    "rename": Rename,
    "merge": Merge,
    "split": Split,
    "reject": Reject,
    "accept": Accept,
    "move": Move,
    "divide": Divide,
    "comment": Comment,
}


def parse(entry: Any) -> Decision:
    """Return the decision that a YAML or JSON value describes.

    The value is a mapping of one kind to its arguments, such as `{rename: {intent: a, to: b}}`. `accept: some_intent`
    is short for `accept: {intent: some_intent}`, and likewise for every kind that has one argument.

    Raises:
        DecisionError: The value does not describe a decision.
    """
    malformed = f"a decision is one of {', '.join(KINDS)} with its arguments, not {str(entry)[:60]!r}"
    if not isinstance(entry, dict) or len(entry) != 1 or not isinstance(next(iter(entry)), str):
        raise DecisionError(malformed)
    ((kind, arguments),) = entry.items()
    names = [field.name for field in fields(_class_of(kind))]  # type: ignore[arg-type]  # every kind is a dataclass
    if isinstance(arguments, str) and len(names) == 1:
        arguments = {names[0]: arguments}
    if not isinstance(arguments, dict):
        raise DecisionError(malformed)
    return Decision(kind, arguments)


def _class_of(kind: str) -> type[Kind]:
    if kind not in KINDS:
        raise DecisionError(f"no decision {kind[:60]!r}{did_you_mean(kind, KINDS)}; one of {', '.join(KINDS)}")
    return KINDS[kind]


def format_decision(decision: Decision) -> str:
    """Return a decision on one line, as it is written in a file of decisions, for error messages."""
    return shorten(f"{decision.kind}: {json.dumps(dict(decision.arguments), ensure_ascii=False, default=str)}", 100)


def check_name(name: str) -> None:
    """Refuse a name with line breaks, direction marks or other invisible characters, or with nothing visible."""
    invisible = [c for c in name if c in DIRECTION_MARKS or unicodedata.category(c) in ("Cc", "Zl", "Zp", "Co", "Cn")]
    if invisible:
        raise DecisionError(f"an intent's name must not hold the invisible character U+{ord(invisible[0]):04X}")
    if name[0] in INVISIBLE_AT_THE_ENDS or name[-1] in INVISIBLE_AT_THE_ENDS or name != name.strip():
        raise DecisionError("an intent's name must not begin or end with a space or an invisible character")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise DecisionError("an intent's name needs something visible")


def _check_comment(text: str) -> None:
    """Refuse a comment with direction marks, or with control characters other than line breaks and tabs."""
    for character in text:
        if character in DIRECTION_MARKS or (unicodedata.category(character) == "Cc" and character not in "\n\t"):
            raise DecisionError(f"a comment must not hold the invisible character U+{ord(character):04X}")


def _read_argument(field: Field[Any], arguments: Mapping[str, Any]) -> Any:
    """Return the value of a field among the arguments of a decision, or raise a `DecisionError`."""
    value = arguments.get(field.name, MISSING)
    kind, expected = ARGUMENTS[str(field.type)]
    if isinstance(value, str) and has_half_character(value):
        expected = "has half a character (a lone surrogate) in it; remove it"
    try:
        read = parse_untrusted(kind, value)
    except ValueError:
        read = ""
    if _lacks_text(read):
        raise DecisionError(f"the argument {field.name!r} {expected}")
    return read


def _lacks_text(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) < 2 or any(map(_lacks_text, [*value, *value.values()]))
    return value in ("", ()) or (isinstance(value, tuple) and "" in value)


def _quote(text: str) -> str:
    return f"“{shorten(' '.join(text.split()), MAX_SHOWN_LENGTH)}”"
