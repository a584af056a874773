"""The entries of a review's log, and the order in which everything happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from newfound.review.decisions import Decision


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded decision.

    Attributes:
        id: Its number in the log, from 1.
        at: When it was recorded (UTC, ISO 8601).
        author: Who decided.
        decision: What was decided.
        undone_at: When it was undone; None if it is in effect.
        undone_by: Who undid it; None if it is in effect.
    """

    id: int
    at: str
    author: str
    decision: Decision
    undone_at: str | None
    undone_by: str | None

    @property
    def kind(self) -> str:
        """The kind of the decision."""
        return self.decision.kind

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the decision."""
        return self.decision.arguments

    @property
    def words(self) -> str:
        """What was decided, as the rest of a sentence that begins with the author's name."""
        return self.decision.words


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was recorded: a decision, or the undo of one.

    Attributes:
        at: When it happened (UTC, ISO 8601).
        author: Who did it.
        entry: The decision that was recorded or undone.
        is_undo: Whether the decision was undone then.
    """

    at: str
    author: str
    entry: Entry
    is_undo: bool

    @property
    def words(self) -> str:
        """What happened, as a sentence without its full stop."""
        if not self.is_undo:
            return f"{self.author} {self.entry.words}"
        return f"{self.author} took back that {self.entry.author} {self.entry.words}"


def events(entries: Sequence[Entry]) -> list[Event]:
    """Return all that was recorded, in its order. The number of events is the version of the review.

    Args:
        entries: All entries of the log.
    """
    recorded = [Event(entry.at, entry.author, entry, False) for entry in entries]
    recorded += [Event(e.undone_at, str(e.undone_by), e, True) for e in entries if e.undone_at is not None]
    return sorted(recorded, key=lambda event: (event.at, event.is_undo, event.entry.id))


def version_of(entries: Sequence[Entry]) -> int:
    """Return the number of decisions and undos among the entries."""
    return len(entries) + sum(entry.undone_at is not None for entry in entries)
