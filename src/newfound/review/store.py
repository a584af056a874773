"""The decisions about one model: what stands, what may follow, and where it is kept.

`ReviewStore` knows the rules. Where decisions are written is a `DecisionLog`; the default is an SQLite file in the
model's folder, and `open_log` is the only place that chooses.
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
from newfound.review.decisions import Decision, Review, check_new, replay
from newfound.text import has_half_character


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision with who took it and when, and who took it back."""

    id: int
    at: str
    author: str
    decision: Decision
    undone_at: str | None
    undone_by: str | None


class LogWriter(Protocol):
    """A log that nobody else can change while it is held."""

    def entries(self) -> list[Entry]:
        """Return all entries, in the order in which they were added."""

    def add(self, decisions: Sequence[Decision], author: str) -> None:
        """Add decisions at the end."""

    def mark_undone(self, id: int, author: str) -> None:
        """Note that a decision was taken back."""


class DecisionLog(Protocol):
    """Where decisions are kept. They are added, and marked as undone; they never change."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever decided."""

    def entries(self) -> list[Entry]:
        """Return all entries; reading never changes anything."""

    def writing(self) -> AbstractContextManager[LogWriter]:
        """Hold the log: all that is written inside is kept when the block ends, or nothing if it raises."""


def open_log(folder: Path) -> DecisionLog:
    """Return the log of the decisions about the model in a folder."""
    from newfound.review.sqlite import SqliteLog

    return SqliteLog(folder)


class ReviewStore:
    """The decisions about the model in one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        intents = describe(self.folder)["intents"]
        self.names = [intent["name"] for intent in intents]
        self.known = [intent["name"] for intent in intents if intent["known"]]
        self.log = open_log(self.folder)

    @property
    def exists(self) -> bool:
        return self.log.exists

    def entries(self) -> list[Entry]:
        return self.log.entries() if self.log.exists else []

    def review(self) -> Review:
        """Return the state after all decisions that stand."""
        return self._replay(self.entries())

    def version(self) -> int:
        """Return a number that grows with every decision and every undo."""
        return version_of(self.entries())

    def snapshot(self) -> tuple[Review, int]:
        """Return state and version as of one moment."""
        entries = self.entries()
        return self._replay(entries), version_of(entries)

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
            decisions: In the order in which they apply.
            author: Who decides.
            expected_version: Refuse if anybody decided since this version.
            check: Called with the state that would follow; what it raises is raised, and nothing is recorded.
        """
        if not author.strip():
            raise DecisionError("say who decides: the author is empty")
        if not self.exists:
            self._try(decisions, [], expected_version, check)  # what is refused leaves no file behind
        with self.log.writing() as log:
            entries = log.entries()
            self._try(decisions, entries, expected_version, check)
            log.add(decisions, author)
            return log.entries()[len(entries) :]

    def _try(
        self,
        decisions: Sequence[Decision],
        entries: Sequence[Entry],
        expected_version: int | None,
        check: Callable[[Review], None] | None,
    ) -> None:
        """Raise if these decisions cannot follow what was decided."""
        _check_version(entries, expected_version)
        review = self._replay(entries)
        for number, decision in enumerate(decisions, 1):
            try:
                written(decision)
                check_new(decision, self._texts)
                review.apply(decision)
                review.check_consistent()
            except DecisionError as error:
                where = f"decision {number} ({decision.kind}): " if len(decisions) > 1 else ""
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
        """Take back a decision, by default the last that stands; refused where later decisions build on it."""
        if not self.exists:
            _check_version([], expected_version)
            raise DecisionError("there is no decision to undo")
        with self.log.writing() as log:
            entries = log.entries()
            _check_version(entries, expected_version)
            standing = [entry for entry in entries if entry.undone_at is None]
            if not standing:
                raise DecisionError("there is no decision to undo")
            chosen = standing[-1] if id is None else next((e for e in standing if e.id == id), None)
            if chosen is None:
                raise DecisionError(f"there is no decision {id} that stands")
            try:
                review = self._replay([entry for entry in standing if entry.id != chosen.id])
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

    def _replay(self, entries: Sequence[Entry]) -> Review:
        return replay(self.names, self.known, (entry.decision for entry in entries if entry.undone_at is None))


def written(decision: Decision) -> str:
    """Return a decision's arguments as JSON."""
    text = json.dumps(dict(decision.arguments), ensure_ascii=False)
    if has_half_character(text):
        raise DecisionError("half a character (a lone surrogate) in it; remove it")
    return text


def version_of(entries: Sequence[Entry]) -> int:
    return len(entries) + sum(entry.undone_at is not None for entry in entries)


def _check_version(entries: Sequence[Entry], expected: int | None) -> None:
    if expected is None or version_of(entries) == expected:
        return
    if not entries:
        raise ConflictError("the review was begun anew in the meantime; look at it, then decide again")
    taken = [(entry.at, entry.author, entry.decision.kind) for entry in entries]
    taken_back = [(e.undone_at, str(e.undone_by), "undo") for e in entries if e.undone_at is not None]
    at, who, what = max([*taken, *taken_back], key=lambda change: (change[0], change[2] == "undo"))
    raise ConflictError(f"{who} decided in the meantime ({what}, {at}); look at it, then decide again")
