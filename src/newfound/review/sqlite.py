"""The SQLite file of decisions in a model's folder: opening it for reading or writing, and its rows.

A decision is checked against all entries and written in one transaction. So two reviewers cannot overwrite each other,
and a crash leaves the whole decision or nothing of it. Reading needs no write access. The file is not trusted: a link,
another schema or a damaged row is refused.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from newfound.errors import ConflictError, ModelError, OutputError
from newfound.model.about import check_regular
from newfound.review.decisions import Decision
from newfound.review.entries import Entry
from newfound.untrusted import parse

SCHEMA = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    author TEXT NOT NULL,
    kind TEXT NOT NULL,
    arguments TEXT NOT NULL,
    undone_at TEXT,
    undone_by TEXT
) STRICT
"""
SIDE_FILE_SUFFIXES = ("-journal", "-wal", "-shm")  # of the files that SQLite may read next to a database
SECONDS_TO_WAIT_FOR_LOCK = 30.0
MEANINGS = {  # of errors of SQLite, by the beginnings of their names
    ("SQLITE_FULL",): "the disk is full, nothing was recorded; make room and decide again",
    ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"): (
        "cannot be written, nothing was recorded; decide on a copy of the folder that you may write"
    ),
    ("SQLITE_IOERR",): "the disk reports an error ({error}); nothing was recorded",
}
OTHER_MEANING = "cannot be used ({error}); restore it from a copy"


@contextmanager
def open_log(path: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a regular file, for writing with a lock; what is written is committed when the block ends, unless it raises.

    An error of the database becomes one that says what it means for the user.
    """
    paths = [path, *(Path(f"{path}{suffix}") for suffix in SIDE_FILE_SUFFIXES)]
    if any(each.is_symlink() for each in paths):
        raise ModelError(f"{path}: is a link, or has one beside it; refused")
    check_regular(*paths)
    # An unfinished transaction of a process that was killed can be rolled back only with write access.
    can_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if write else 'rw' if can_write else 'ro'}"
    with (
        explain_errors(path),
        closing(sqlite3.connect(uri, uri=True, timeout=SECONDS_TO_WAIT_FOR_LOCK, isolation_level=None)) as connection,
        connection,
    ):
        if write:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")  # at once, so that nobody else can write after the block has read
            if not _objects(connection):
                connection.execute(SCHEMA)
        else:
            connection.execute("PRAGMA query_only = ON")
        _check_schema(connection, path)
        yield connection


def read_entries(connection: sqlite3.Connection, path: Path) -> list[Entry]:
    """Return all entries, in the order in which they were added."""
    rows = connection.execute("SELECT id, at, author, kind, arguments, undone_at, undone_by FROM decisions ORDER BY id")
    return [
        Entry(id, at, author, kind, _arguments(arguments, path), *undone)
        for id, at, author, kind, arguments, *undone in rows
    ]


def summarise(connection: sqlite3.Connection) -> object:
    """Return what changes with every decision and every undo, as no two of them have the same time; None if empty."""
    query = "SELECT COUNT(*), COUNT(undone_at), MIN(at), MAX(at), MAX(undone_at) FROM decisions"
    return connection.execute(query).fetchone() if _objects(connection) else None


def add_entries(connection: sqlite3.Connection, decisions: Sequence[Decision], author: str) -> list[Entry]:
    """Add decisions at the end, all with one time, and return their entries."""
    at, added = _next_time(connection), []
    for decision in decisions:
        arguments = json.dumps(dict(decision.arguments), ensure_ascii=False)
        (id,) = connection.execute(
            "INSERT INTO decisions (at, author, kind, arguments) VALUES (?, ?, ?, ?) RETURNING id",
            (at, author, decision.kind, arguments),
        ).fetchone()
        added.append(Entry(id, at, author, decision.kind, json.loads(arguments)))
    return added


def mark_undone(connection: sqlite3.Connection, entries: Sequence[Entry], author: str) -> None:
    """Mark entries as undone, the last one first."""
    for entry in reversed(entries):
        undone = (_next_time(connection), author, entry.id)
        connection.execute("UPDATE decisions SET undone_at = ?, undone_by = ? WHERE id = ?", undone)


def _next_time(connection: sqlite3.Connection) -> str:
    """Return the time, and later than all before even if the clock was set back: it orders decisions and undos."""
    now = datetime.now(UTC)
    (last,) = connection.execute("SELECT MAX(MAX(at, IFNULL(undone_at, ''))) FROM decisions").fetchone()
    with suppress(TypeError, ValueError, OverflowError):  # nothing is recorded, or no time that another one can follow
        now = max(now, datetime.fromisoformat(last) + timedelta(microseconds=1))
    return now.isoformat(timespec="microseconds")


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Replace a database error by an error that says what it means for the user."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", None) or ""
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or "locked" in str(error):
            raise ConflictError(f"{path}: another process holds it; try again") from None
        meaning = next((text for names, text in MEANINGS.items() if code.startswith(names)), OTHER_MEANING)
        kind = OutputError if code == "SQLITE_FULL" else ModelError
        raise kind(f"{path}: {meaning.format(error=error)}") from None


def _objects(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return type, name and definition of every table, view and so on in the file, except SQLite's own."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return [(str(kind), str(name), str(sql)) for kind, name, sql in rows if name != "sqlite_sequence"]


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with anything but the table of decisions; a view in its place could run for ever."""
    expected = ("table", "decisions", " ".join(SCHEMA.split()))
    if [(kind, name, " ".join(sql.split())) for kind, name, sql in _objects(connection)] not in ([], [expected]):
        raise ModelError(f"{path}: not a file of newfound's decisions; restore it from a copy")


def _arguments(text: str, path: Path) -> dict[str, Any]:
    try:
        return parse(dict[str, Any], json.loads(text))
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: a decision in it is damaged; restore it from a copy") from None
