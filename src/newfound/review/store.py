"""Where decisions are kept: an SQLite file in the model's folder. Decisions are added, never changed.

A decision is written in one transaction, after it was applied to the state that the same transaction read: two
reviewers cannot overwrite each other, and a crash leaves all of a decision or nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from newfound.data.corpus import has_half_character
from newfound.errors import ConflictError, DecisionError, ModelError
from newfound.files import REVIEW_FILE
from newfound.model import describe
from newfound.review.decisions import Decision, Review, replay

SCHEMA = """
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    author TEXT NOT NULL,
    kind TEXT NOT NULL,
    arguments TEXT NOT NULL,
    undone_at TEXT,
    undone_by TEXT
) STRICT
"""
WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision with who took it, and who took it back."""

    id: int
    at: str
    author: str
    decision: Decision
    undone_at: str | None
    undone_by: str | None


class ReviewStore:
    """The decisions about one model."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        intents = describe(self.folder)["intents"]
        self.names = [intent["name"] for intent in intents]
        self.known = [intent["name"] for intent in intents if intent["known"]]

    @property
    def path(self) -> Path:
        return self.folder / REVIEW_FILE

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def entries(self) -> list[Entry]:
        if not self.exists:
            return []
        with self._connection() as connection:
            return _entries(connection)

    def review(self) -> Review:
        """The state after all decisions that stand."""
        return self._replay(self.entries())

    def version(self) -> int:
        """A number that grows with every decision and every undo."""
        return _version(self.entries())

    def decide(self, decisions: Sequence[Decision], *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Record decisions, all of them or none; with `expected_version`, only if nobody decided since."""
        if not author.strip():
            raise DecisionError("say who decides: the author is empty")
        if not self.exists:
            self._try(decisions, [], expected_version)  # what is refused leaves no file behind
        with self._connection() as connection, _transaction(connection):
            entries = _entries(connection)
            self._try(decisions, entries, expected_version)
            connection.executemany(
                "INSERT INTO decisions (at, author, kind, arguments) VALUES (?, ?, ?, ?)",
                [(_now(), author, decision.kind, _written(decision)) for decision in decisions],
            )
            return _entries(connection)[len(entries) :]

    def _try(self, decisions: Sequence[Decision], entries: Sequence[Entry], expected_version: int | None) -> None:
        """Raise if these decisions cannot follow what was decided."""
        _check_version(entries, expected_version)
        review = self._replay(entries)
        for number, decision in enumerate(decisions, 1):
            try:
                review.apply(decision)
                _written(decision)
            except DecisionError as error:
                where = f"decision {number} ({decision.kind}): " if len(decisions) > 1 else ""
                raise DecisionError(f"{where}{error}") from None

    def undo(self, *, author: str, id: int | None = None, expected_version: int | None = None) -> Entry:
        """Take back a decision, by default the last that stands; refused where later decisions build on it."""
        if not self.exists:
            _check_version([], expected_version)
            raise DecisionError("there is no decision to undo")
        with self._connection() as connection, _transaction(connection):
            entries = _entries(connection)
            _check_version(entries, expected_version)
            standing = [entry for entry in entries if entry.undone_at is None]
            if not standing:
                raise DecisionError("there is no decision to undo")
            chosen = standing[-1] if id is None else next((e for e in standing if e.id == id), None)
            if chosen is None:
                raise DecisionError(f"there is no decision {id} that stands")
            try:
                self._replay([entry for entry in standing if entry.id != chosen.id])
            except DecisionError as error:
                raise DecisionError(
                    f"later decisions build on decision {chosen.id} ({error}); undo them first"
                ) from None
            connection.execute(
                "UPDATE decisions SET undone_at = ?, undone_by = ? WHERE id = ?", (_now(), author, chosen.id)
            )
            return chosen

    def _replay(self, entries: Sequence[Entry]) -> Review:
        return replay(self.names, self.known, (entry.decision for entry in entries if entry.undone_at is None))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(SCHEMA)
            yield connection
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise ConflictError(f"{self.path}: another process holds it; try again") from None
            raise ModelError(f"{self.path}: cannot be used ({error}); restore it from a copy") from None
        finally:
            if connection is not None:
                connection.close()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything or nothing; others wait from the first line on, not only from the first write."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _entries(connection: sqlite3.Connection) -> list[Entry]:
    rows = connection.execute(
        "SELECT id, at, author, kind, arguments, undone_at, undone_by FROM decisions ORDER BY id"
    ).fetchall()
    return [Entry(row[0], row[1], row[2], Decision(row[3], _arguments(row[4])), row[5], row[6]) for row in rows]


def _written(decision: Decision) -> str:
    text = json.dumps(dict(decision.arguments), ensure_ascii=False)
    if has_half_character(text):
        raise DecisionError("half a character (a lone surrogate) in it; remove it")
    return text


def _arguments(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ModelError(f"{REVIEW_FILE}: a decision in it is damaged; restore it from a copy")
    return found


def _version(entries: Sequence[Entry]) -> int:
    return len(entries) + sum(entry.undone_at is not None for entry in entries)


def _check_version(entries: Sequence[Entry], expected: int | None) -> None:
    if expected is None or _version(entries) == expected:
        return
    if not entries:
        raise ConflictError("the review was begun anew in the meantime; look at it, then decide again")
    taken = [(entry.at, entry.author, entry.decision.kind) for entry in entries]
    taken_back = [(e.undone_at, str(e.undone_by), "undo") for e in entries if e.undone_at is not None]
    at, who, what = max([*taken, *taken_back], key=lambda change: (change[0], change[2] == "undo"))
    raise ConflictError(f"{who} decided in the meantime ({what}, {at}); look at it, then decide again")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
