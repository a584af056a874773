"""Storage of the decisions about one model.

`ReviewStore` checks decisions before they are recorded. They are recorded in a `DecisionLog`; `open_log` chooses which,
and the default is an SQLite file in the model's folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from newfound.errors import ConflictError, DecisionError, ModelError
from newfound.files import REVIEW_FILE
from newfound.model.about import describe, read_intents, read_utterances
from newfound.review.checks import check_new
from newfound.review.conflicts import check_conflicts
from newfound.review.decisions import Decision, Review, replay, shown
from newfound.review.entries import Entry, version_of
from newfound.review.words import in_words
from newfound.text import has_half_character

T = TypeVar("T")


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
        self.intents = read_intents(self.folder, describe(self.folder))
        self.names = [intent.name for intent in self.intents]
        self.known = [intent.name for intent in self.intents if intent.known]
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
            expected_version: The version that the author saw; by default it is not checked. Decisions of others since
                then are a conflict only if they are about the same intents or utterances.
            check: Called with the state after the decisions. If it raises, nothing is recorded.

        Returns:
            The recorded decisions.

        Raises:
            DecisionError: A decision is not possible.
            ConflictError: Somebody decided something else about the same since `expected_version`.
        """
        if not author.strip():
            raise DecisionError("say who decides: the author is empty")

        def prepare(entries: Sequence[Entry]) -> Callable[[LogWriter], list[Entry]]:
            check_conflicts(entries, expected_version, decisions)
            review = self._after(decisions, entries)
            if check is not None:
                check(review)

            def record(log: LogWriter) -> list[Entry]:
                log.add(decisions, author)
                return log.entries()[len(entries) :]

            return record

        return self._record(prepare)

    def _record(self, prepare: Callable[[Sequence[Entry]], Callable[[LogWriter], T]]) -> T:
        """Change the log. What takes long, and may be refused, is done before the log is locked.

        Args:
            prepare: Function that checks the change against all entries and returns what writes it. It is called again
                if somebody else has changed the log meanwhile.
        """
        while True:
            entries = self.entries()
            write = prepare(entries)
            with self.log.writing() as log:
                if log.entries() == entries:
                    return write(log)

    def _after(self, decisions: Sequence[Decision], entries: Sequence[Entry]) -> Review:
        """Return the state after new decisions, or raise an error if they are not possible after the recorded ones."""
        review = self.replay(entries)
        for number, decision in enumerate(decisions, 1):
            try:
                arguments_as_json(decision)
                check_new(decision, self._texts, review)
                review.apply(decision)
                review.check_consistent()
            except DecisionError as error:
                where = f"decision {number}, {shown(decision)}: " if len(decisions) > 1 else ""
                raise DecisionError(f"{where}{error}") from None
        return review

    def undo(
        self,
        *,
        author: str,
        id: int | None = None,
        only_own: bool = False,
        expected_version: int | None = None,
        check: Callable[[Review], None] | None = None,
    ) -> Entry:
        """Undo one decision.

        Args:
            author: Who undoes it.
            id: The number of the decision; by default the last one that is in effect.
            only_own: Whether the default is the last decision of this author instead of the last one of anybody.
            expected_version: The version that the author saw; by default it is not checked.
            check: Called with the state without the decision. If it raises, nothing is undone.

        Returns:
            The decision that was undone.

        Raises:
            DecisionError: There is no such decision, or later decisions build on it.
            ConflictError: Somebody else has undone it, or the review was begun anew since `expected_version`.
        """

        def choose(entries: Sequence[Entry]) -> list[Entry]:
            return [_decision_to_undo(entries, author if only_own else None, id)]

        (undone,) = self._take_back(choose, author, expected_version, check)
        return undone

    def undo_step(
        self,
        *,
        author: str,
        id: int | None = None,
        only_own: bool = False,
        expected_version: int | None = None,
        check: Callable[[Review], None] | None = None,
    ) -> list[Entry]:
        """Undo a step: a decision, and all that were recorded together with it.

        The arguments and errors are those of `undo`.

        Returns:
            The decisions that were undone, in the order in which they were recorded.
        """

        def choose(entries: Sequence[Entry]) -> list[Entry]:
            one = _decision_to_undo(entries, author if only_own else None, id)
            # What is recorded together has one time, which nothing else has.
            return [e for e in entries if e.undone_at is None and (e.at, e.author) == (one.at, one.author)]

        return self._take_back(choose, author, expected_version, check)

    def _take_back(
        self,
        choose: Callable[[Sequence[Entry]], list[Entry]],
        author: str,
        expected_version: int | None,
        check: Callable[[Review], None] | None,
    ) -> list[Entry]:
        def prepare(entries: Sequence[Entry]) -> Callable[[LogWriter], list[Entry]]:
            check_conflicts(entries, expected_version, [])
            chosen = choose(entries)
            review = self._without(chosen, [entry for entry in entries if entry.undone_at is None])
            if check is not None:
                check(review)

            def record(log: LogWriter) -> list[Entry]:
                for entry in reversed(chosen):
                    log.mark_undone(entry.id, author)
                return chosen

            return record

        return self._record(prepare)

    def _without(self, chosen: Sequence[Entry], in_effect: Sequence[Entry]) -> Review:
        """Return the state without some decisions; the error names the first decision that builds on them."""
        review = self.replay([])
        left_out = {entry.id for entry in chosen}
        for entry in in_effect:
            if entry.id in left_out:
                continue
            try:
                review.apply(entry.decision)
            except DecisionError as error:
                later = f"decision {entry.id} ({entry.author} {in_words(entry.decision)})"
                raise DecisionError(f"{later} builds on it ({error}); undo that one first") from None
        try:
            review.check_consistent()
        except DecisionError as error:
            first = chosen[0].id
            raise DecisionError(f"later decisions build on decision {first} ({error}); undo them first") from None
        return review

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(u.text for u in read_utterances(self.folder, len(self.names)))

    def replay(self, entries: Sequence[Entry]) -> Review:
        """Return the state after the entries that were not undone.

        Raises:
            ModelError: They are not about this model.
        """
        try:
            return replay(self.names, self.known, (entry.decision for entry in entries if entry.undone_at is None))
        except DecisionError as error:
            raise ModelError(
                f"{self.folder / REVIEW_FILE}: holds decisions about another model ({error}); put the file of this "
                "model in its place, or move it away"
            ) from None


def arguments_as_json(decision: Decision) -> str:
    """Return a decision's arguments as JSON, or raise a `DecisionError` if UTF-8 cannot represent them."""
    text = json.dumps(dict(decision.arguments), ensure_ascii=False)
    if has_half_character(text):
        raise DecisionError("half a character (a lone surrogate) in it; remove it")
    return text


def _decision_to_undo(entries: Sequence[Entry], author: str | None, id: int | None) -> Entry:
    """Return the decision with a number, or the last one that is in effect: of an author, or of anybody."""
    if id is not None:
        chosen = next((entry for entry in entries if entry.id == id), None)
        if chosen is None:
            raise DecisionError(f"there is no decision {id}")
        if chosen.undone_at is not None:
            raise ConflictError(f"{chosen.undone_by} has undone decision {id} already")
        return chosen
    in_effect = [entry for entry in entries if entry.undone_at is None]
    own = [entry for entry in in_effect if author is None or entry.author == author]
    if not own and in_effect:
        raise DecisionError(f"there is no decision of {author} to undo; those of others can be undone one by one")
    if not own:
        raise DecisionError("there is no decision to undo")
    return own[-1]
