"""Storage of the decisions about one model.

`ReviewStore` checks decisions before they are recorded. They are recorded in a `DecisionLog`; `open_log` chooses which,
and the default is an SQLite file in the model's folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from newfound.errors import ConflictError, DecisionError
from newfound.model.about import describe, read_utterances
from newfound.review.decisions import Decision, Review, check_new, replay, shown
from newfound.text import has_half_character


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded decision.

    Attributes:
        id: Its number.
        at: When it was recorded (UTC, ISO 8601).
        author: Who decided.
        decision: The decision.
        undone_at: When it was undone; None if it is in effect.
        undone_by: Who undid it; None if it is in effect.
    """

    id: int
    at: str
    author: str
    decision: Decision
    undone_at: str | None
    undone_by: str | None


class LogWriter(Protocol):
    """A log that is locked, so that nobody else can change it."""

    def entries(self) -> list[Entry]:
        """Return all entries, in the order in which they were added."""

    def add(self, decisions: Sequence[Decision], author: str) -> None:
        """Add decisions at the end."""

    def mark_undone(self, id: int, author: str) -> None:
        """Mark a decision as undone."""


class DecisionLog(Protocol):
    """Where decisions are stored. They are added and can be marked as undone; they are never changed or deleted."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever decided."""

    def entries(self) -> list[Entry]:
        """Return all entries, in the order in which they were added."""

    def writing(self) -> AbstractContextManager[LogWriter]:
        """Lock the log; all that is written inside the block is stored when it ends, or nothing if it raises."""


def open_log(folder: Path) -> DecisionLog:
    """Return the log of the decisions about the model in a folder."""
    from newfound.review.sqlite import SqliteLog

    return SqliteLog(folder)


class ReviewStore:
    """The decisions about the model in one folder."""

    def __init__(self, folder: str | Path) -> None:
        """Open the decisions about a model.

        Args:
            folder: The model folder.
        """
        self.folder = Path(folder)
        intents = describe(self.folder)["intents"]
        self.names = [intent["name"] for intent in intents]
        self.known = [intent["name"] for intent in intents if intent["known"]]
        self.log = open_log(self.folder)

    @property
    def exists(self) -> bool:
        """Whether anything was ever decided."""
        return self.log.exists

    def entries(self) -> list[Entry]:
        """Return all decisions, undone ones included, in the order in which they were recorded."""
        return self.log.entries() if self.log.exists else []

    def review(self) -> Review:
        """Return the state after all decisions that are in effect."""
        return self.replay(self.entries())

    def version(self) -> int:
        """Return a number that grows with every decision and every undo."""
        return version_of(self.entries())

    def decide(
        self,
        decisions: Sequence[Decision],
        *,
        author: str,
        expected_version: int | None = None,
        check: Callable[[Review], None] | None = None,
    ) -> list[Entry]:
        """Record decisions: all of them, or none.

        Args:
            decisions: The decisions, in the order in which they apply.
            author: Who decides.
            expected_version: The version on which the decisions are based; by default it is not checked.
            check: Called with the state after the decisions. If it raises, nothing is recorded.

        Returns:
            The recorded decisions.

        Raises:
            DecisionError: A decision is not possible.
            ConflictError: Somebody decided since `expected_version`.
        """
        if not author.strip():
            raise DecisionError("say who decides: the author is empty")
        if not self.exists:
            self._check(decisions, [], expected_version, check)  # so that refused decisions do not create a file
        with self.log.writing() as log:
            entries = log.entries()
            self._check(decisions, entries, expected_version, check)
            log.add(decisions, author)
            return log.entries()[len(entries) :]

    def _check(
        self,
        decisions: Sequence[Decision],
        entries: Sequence[Entry],
        expected_version: int | None,
        check: Callable[[Review], None] | None,
    ) -> None:
        """Raise an error if these decisions are not possible after the recorded ones."""
        _check_version(entries, expected_version)
        review = self.replay(entries)
        for number, decision in enumerate(decisions, 1):
            try:
                arguments_as_json(decision)
                check_new(decision, self._texts)
                review.apply(decision)
                review.check_consistent()
            except DecisionError as error:
                where = f"decision {number}, {shown(decision)}: " if len(decisions) > 1 else ""
                raise DecisionError(f"{where}{error}") from None
        if check is not None:
            check(review)

    def undo(
        self,
        *,
        author: str,
        id: int | None = None,
        expected_version: int | None = None,
        check: Callable[[Review], None] | None = None,
    ) -> Entry:
        """Undo a decision.

        Args:
            author: Who undoes it.
            id: The number of the decision; by default the last one that is in effect.
            expected_version: The version on which this is based; by default it is not checked.
            check: Called with the state without the decision. If it raises, nothing is undone.

        Returns:
            The decision that was undone.

        Raises:
            DecisionError: There is no such decision, or later decisions build on it.
            ConflictError: Somebody decided since `expected_version`.
        """
        if not self.exists:
            _check_version([], expected_version)
            raise DecisionError("there is no decision to undo")
        with self.log.writing() as log:
            entries = log.entries()
            _check_version(entries, expected_version)
            in_effect = [entry for entry in entries if entry.undone_at is None]
            if not in_effect:
                raise DecisionError("there is no decision to undo")
            chosen = in_effect[-1] if id is None else next((e for e in in_effect if e.id == id), None)
            if chosen is None:
                raise DecisionError(f"there is no decision {id} that stands")
            try:
                review = self.replay([entry for entry in in_effect if entry.id != chosen.id])
                review.check_consistent()
            except DecisionError as error:
                raise DecisionError(
                    f"later decisions build on decision {chosen.id} ({error}); undo them first"
                ) from None
            if check is not None:
                check(review)
            log.mark_undone(chosen.id, author)
            return chosen

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(u.text for u in read_utterances(self.folder, len(self.names)))

    def replay(self, entries: Sequence[Entry]) -> Review:
        """Return the state after the entries that were not undone."""
        return replay(self.names, self.known, (entry.decision for entry in entries if entry.undone_at is None))


def arguments_as_json(decision: Decision) -> str:
    """Return a decision's arguments as JSON, or raise a `DecisionError` if UTF-8 cannot represent them."""
    text = json.dumps(dict(decision.arguments), ensure_ascii=False)
    if has_half_character(text):
        raise DecisionError("half a character (a lone surrogate) in it; remove it")
    return text


def version_of(entries: Sequence[Entry]) -> int:
    """Return the number of decisions and undos among the entries."""
    return len(entries) + sum(entry.undone_at is not None for entry in entries)


def _check_version(entries: Sequence[Entry], expected: int | None) -> None:
    if expected is None or version_of(entries) == expected:
        return
    if not entries:
        raise ConflictError("the review was begun anew in the meantime; look at it, then decide again")
    decisions = [(entry.at, entry.author, entry.decision.kind) for entry in entries]
    undos = [(e.undone_at, str(e.undone_by), "undo") for e in entries if e.undone_at is not None]
    at, author, kind = max([*decisions, *undos], key=lambda change: (change[0], change[2] == "undo"))
    raise ConflictError(f"{author} decided in the meantime ({kind}, {at}); look at it, then decide again")
