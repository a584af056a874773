"""Decisions stored in an SQLite file in the model's folder.

A decision is checked against all entries and written in one transaction. So two reviewers cannot overwrite each other,
and a crash leaves the whole decision or nothing of it. Reading needs no write
access. The file is not trusted: a link, another schema or a damaged row is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from newfound.errors import ConflictError, DecisionError, ModelError, OutputError
from newfound.files import REVIEW_FILE
from newfound.model.about import check_regular
from newfound.review.decisions import Decision
from newfound.review.entries import Entry
from newfound.text import has_half_character

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
JOURNAL_SUFFIXES = ("-journal", "-wal")
SIDE_FILE_SUFFIXES = (*JOURNAL_SUFFIXES, "-shm")  # of the files that SQLite may write next to a database
SECONDS_TO_WAIT_FOR_LOCK = 30.0
MEANINGS = {  # of errors of SQLite, by the beginnings of their names
    ("SQLITE_FULL",): "the disk is full, nothing was recorded; make room and decide again",
    ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"): (
        "cannot be written, nothing was recorded; decide on a copy of the folder that you may write"
    ),
    ("SQLITE_IOERR",): "the disk reports an error ({error}); nothing was recorded",
}
OTHER_MEANING = "cannot be used ({error}); restore it from a copy"


class SqliteLog:
    """The log of the decisions about the model in a folder; its file is created with the first decision.

    Entries are added and can be marked as undone; they are never changed or deleted. What was read is kept until the
    file holds something else.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / REVIEW_FILE
        self._kept: tuple[object, list[Entry]] = None, []  # what the file held, in brief, and its entries

    @property
    def exists(self) -> bool:
        """Whether anything was ever decided."""
        return self.path.exists() or self.path.is_symlink()

    def entries(self) -> list[Entry]:
        """Return all entries, in the order in which they were added."""
        if not self.exists:
            return []
        with self._connect_for_reading() as connection:
            return self._read(connection)

    def append(
        self, decisions: Sequence[Decision], author: str, check: Callable[[Sequence[Entry]], None] = lambda _: None
    ) -> list[Entry]:
        """Add decisions at the end, and return their entries.

        `check` is called with all entries before them, while nobody else can add any. If it raises, nothing is added.
        """
        if not self.exists:  # what is refused makes no file
            check(())
        with self._lock() as connection:
            before = self._read(connection)
            check(before)
            at, added = _next_time(connection), []
            for decision in decisions:
                arguments = arguments_as_json(decision)
                inserted = connection.execute(
                    "INSERT INTO decisions (at, author, kind, arguments) VALUES (?, ?, ?, ?) RETURNING id",
                    (at, author, decision.kind, arguments),
                ).fetchone()
                recorded = Decision(decision.kind, _arguments(arguments, self.path))
                added.append(Entry(inserted[0], at, author, recorded, None, None))
            self._kept = _in_brief(connection), before + added
        return added

    def undo(self, author: str, choose: Callable[[Sequence[Entry]], Sequence[Entry]]) -> list[Entry]:
        """Mark the entries that `choose` returns of all entries as undone, the last one first, and return them."""
        if not self.exists:
            choose(())
        with self._lock() as connection:
            chosen = choose(self._read(connection))
            for entry in reversed(chosen):
                undone = (_next_time(connection), author, entry.id)
                connection.execute("UPDATE decisions SET undone_at = ?, undone_by = ? WHERE id = ?", undone)
        return list(chosen)

    def _read(self, connection: sqlite3.Connection) -> list[Entry]:
        """Return all entries; they are read only if there are others than those that were read last."""
        brief = _in_brief(connection)
        if brief != self._kept[0]:
            self._kept = brief, _entries(connection, self.path)
        return list(self._kept[1])

    @contextmanager
    def _lock(self) -> Iterator[sqlite3.Connection]:
        """Lock the log; what is written inside the block is committed when it ends, unless it raises."""
        self._refuse_others()
        with (
            _explain_errors(self.path),
            closing(sqlite3.connect(self.path, timeout=SECONDS_TO_WAIT_FOR_LOCK, isolation_level=None)) as connection,
        ):
            # With a rollback journal everything is in one file, which can be copied, and read on a read-only disk.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = FULL")
            with _transaction(connection):
                if not _objects(connection):
                    connection.execute(SCHEMA)
                _check_schema(connection, self.path)
                yield connection

    @contextmanager
    def _connect_for_reading(self) -> Iterator[sqlite3.Connection]:
        """Open the file for reading only; if that is not possible, as in some read-only folders, read a copy."""
        self._refuse_others()
        with _explain_errors(self.path), ExitStack() as stack:
            connection = self._open_for_reading(self.path)
            if connection is None:
                copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newfound-review-"))) / REVIEW_FILE
                for suffix in ("", *JOURNAL_SUFFIXES):
                    if Path(f"{self.path}{suffix}").is_file():
                        shutil.copyfile(f"{self.path}{suffix}", f"{copy}{suffix}")
                connection = sqlite3.connect(copy, isolation_level=None)
            stack.enter_context(closing(connection))
            _check_schema(connection, self.path)
            yield connection

    def _open_for_reading(self, path: Path) -> sqlite3.Connection | None:
        """Return a connection that never writes decisions; None if the file cannot be opened in its folder."""
        # An unfinished transaction of a process that was killed can be rolled back only with write access.
        modes = ("ro", "rw") if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) else ("ro",)
        for mode in modes:
            uri = f"{path.absolute().as_uri()}?mode={mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=SECONDS_TO_WAIT_FOR_LOCK, isolation_level=None)
            try:
                connection.execute("PRAGMA query_only = ON")
                _objects(connection)
                return connection
            except sqlite3.Error as error:
                connection.close()
                is_busy = _code(error) in ("SQLITE_BUSY", "SQLITE_LOCKED")
                if is_busy or not isinstance(error, sqlite3.OperationalError):
                    raise
        return None

    def _refuse_others(self) -> None:
        """Refuse links, and what is not a regular file."""
        paths = [self.path, *(Path(f"{self.path}{suffix}") for suffix in SIDE_FILE_SUFFIXES)]
        if any(path.is_symlink() for path in paths):
            raise ModelError(f"{self.path}: is a link, or has one beside it; refused")
        check_regular(*paths)


def _next_time(connection: sqlite3.Connection) -> str:
    """Return the time, and later than all before even if the clock was set back: it orders decisions and undos."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    times = connection.execute("SELECT MAX(at), MAX(undone_at) FROM decisions").fetchone()
    last = max((at for at in times if at is not None), default="")
    if now > last:
        return now
    try:
        next_moment = datetime.fromisoformat(last) + timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return now
    return next_moment.isoformat(timespec="microseconds")


def arguments_as_json(decision: Decision) -> str:
    """Return a decision's arguments as JSON, or raise a `DecisionError` if UTF-8 cannot represent them."""
    text = json.dumps(dict(decision.arguments), ensure_ascii=False)
    if has_half_character(text):
        raise DecisionError("half a character (a lone surrogate) in it; remove it")
    return text


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Replace a database error by an error that says what it means for the user."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or "locked" in str(error):
            raise ConflictError(f"{path}: another process holds it; try again") from None
        meaning = next((text for names, text in MEANINGS.items() if code.startswith(names)), OTHER_MEANING)
        kind = OutputError if code == "SQLITE_FULL" else ModelError
        raise kind(f"{path}: {meaning.format(error=error)}") from None


def _code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction, which is rolled back if the block raises."""
    connection.execute("BEGIN IMMEDIATE")  # locks at once, so that nobody else can write after the block has read
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # SQLite has rolled it back already if the disk is full
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _objects(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return type, name and definition of every table, view and so on in the file, except SQLite's own."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return [(str(kind), str(name), str(sql)) for kind, name, sql in rows if name != "sqlite_sequence"]


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with anything but the table of decisions; a view in its place could run for ever."""
    expected = ("table", "decisions", " ".join(SCHEMA.split()))
    if [(kind, name, " ".join(sql.split())) for kind, name, sql in _objects(connection)] not in ([], [expected]):
        raise ModelError(f"{path}: not a file of newfound's decisions; restore it from a copy")


def _in_brief(connection: sqlite3.Connection) -> object:
    """Return what changes with every decision and every undo: no two of them have the same time."""
    if not _objects(connection):
        return None
    return connection.execute(
        "SELECT COUNT(*), COUNT(undone_at), MIN(at), MAX(at), MAX(undone_at) FROM decisions"
    ).fetchone()


def _entries(connection: sqlite3.Connection, path: Path) -> list[Entry]:
    if not _objects(connection):
        return []
    rows = connection.execute(
        "SELECT id, at, author, kind, arguments, undone_at, undone_by FROM decisions ORDER BY id"
    ).fetchall()
    return [Entry(row[0], row[1], row[2], Decision(row[3], _arguments(row[4], path)), row[5], row[6]) for row in rows]


def _arguments(text: str, path: Path) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise ModelError(f"{path}: a decision in it is damaged; restore it from a copy")
    return arguments
