"""The decisions about one model: they are checked by applying them, and then recorded in its file.

Decisions about one model cannot be replayed on another one, so a trained model begins with an empty review. The file
`history.json` says how it came to be: one entry for each training, with the decisions that the training learned from.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from sqlite3 import Connection

from newfound.errors import ConflictError, DecisionError, ModelError
from newfound.files import HISTORY_FILE, REVIEW_FILE, to_json, write_atomically
from newfound.model.about import Description, hold_model, stream_utterances
from newfound.model.hub import model_folder
from newfound.model.sidecars import read_sidecar
from newfound.review import sqlite
from newfound.review.decisions import Decision, format_decision
from newfound.review.entries import Entry, check_conflicts
from newfound.review.state import Review


class ReviewStore:
    """The decisions about the model in one folder; their file is created with the first one.

    Entries are added and can be marked as undone; they are never changed or deleted. What was read is kept until the
    file holds something else.
    """

    def __init__(self, folder: str | Path | Description) -> None:
        """Open the decisions about the model in a folder, whose description may be given if it was read already."""
        description = Description.read(folder)
        self.folder, self.signature, self.intents = description.folder, description.signature, description.intents
        self.names = [intent.name for intent in self.intents]
        self.known = [intent.name for intent in self.intents if intent.known]
        self._path = self.folder / REVIEW_FILE
        self._kept: tuple[object, list[Entry]] = None, []  # the summary of the file, and its entries
        self._replayed: tuple[Sequence[Entry], Review] = (), Review.of(self.intents)

    @property
    def exists(self) -> bool:
        """Whether anything was ever decided."""
        return os.path.lexists(self._path)

    def entries(self) -> list[Entry]:
        """Return all decisions, undone ones included, in the order in which they were recorded."""
        if not self.exists:
            return []
        with sqlite.open_log(self._path) as connection:
            return self._read(connection)

    def _read(self, connection: Connection) -> list[Entry]:
        """Return all entries; they are read only if there are others than those that were read last."""
        summary = sqlite.summarise(connection)
        if summary != self._kept[0]:
            self._kept = summary, [] if summary is None else sqlite.read_entries(connection, self._path)
        return list(self._kept[1])

    def review(self) -> Review:
        """Return the state after all decisions that are in effect."""
        return self.replay(self.entries())

    def decide(self, decisions: Sequence[Decision], *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Record decisions, all of them or none, and return their entries.

        Args:
            decisions: The decisions, in the order in which they apply.
            author: Who decides.
            expected_version: The version that the author saw; by default it is not checked. Decisions of others since
                then are a conflict only if they are about the same intents or utterances.

        Raises:
            DecisionError: A decision is not possible.
            ConflictError: Somebody decided something else about the same since `expected_version`.
        """
        if not author.strip():
            raise DecisionError("say who decides: the author is empty")
        _ = self._texts  # are read before the file is locked
        with hold_model(self.folder, self.signature, alone=False):
            if not self.exists:  # what is refused makes no file
                self._check(decisions, (), expected_version)
            with sqlite.open_log(self._path, write=True) as connection:
                before = self._read(connection)
                self._check(decisions, before, expected_version)
                added = sqlite.add_entries(connection, decisions, author)
                self._kept = sqlite.summarise(connection), before + added
        return added

    def _check(self, decisions: Sequence[Decision], entries: Sequence[Entry], seen: int | None) -> None:
        """Apply new decisions after the recorded ones, or raise an error if that is not possible."""
        check_conflicts(entries, seen, decisions)
        review = self.replay(entries)
        review.texts = self._texts
        for position, decision in enumerate(decisions, 1):
            try:
                review.apply(decision)
                review.check_consistent()
            except DecisionError as error:
                where = f"decision {position}, {format_decision(decision)}: " if len(decisions) > 1 else ""
                raise DecisionError(f"{where}{error}") from None

    def undo(
        self,
        *,
        author: str,
        id: int | None = None,
        step: bool = False,
        only_own: bool = False,
        expected_version: int | None = None,
    ) -> list[Entry]:
        """Undo the last step, which is all decisions that were recorded together, or one; return what was undone.

        Args:
            author: Who undoes it.
            id: The number of a decision, which is undone alone; by default the last step that is in effect is undone.
            step: Whether all that was recorded together with the decision `id` is undone as well.
            only_own: Whether the default is the last step of this author instead of the last one of anybody.
            expected_version: The version that the author saw; by default it is not checked.

        Raises:
            DecisionError: There is no such decision, or later decisions build on it.
            ConflictError: Somebody else has undone it, or the review was begun anew since `expected_version`.
        """
        author_to_undo = author if only_own else None
        if not self.exists:  # what is refused makes no file
            _decision_to_undo((), author_to_undo, id, expected_version)
        with (
            hold_model(self.folder, self.signature, alone=False),
            sqlite.open_log(self._path, write=True) as connection,
        ):
            entries = self._read(connection)
            one = _decision_to_undo(entries, author_to_undo, id, expected_version)
            in_effect = [entry for entry in entries if entry.undone_at is None]
            chosen = [one]
            if id is None or step:  # what is recorded together has one time, which nothing else has
                chosen = [entry for entry in in_effect if (entry.at, entry.author) == (one.at, one.author)]
            self._check_without(chosen, in_effect)
            sqlite.mark_undone(connection, chosen, author)
        return chosen

    def _check_without(self, chosen: Sequence[Entry], in_effect: Sequence[Entry]) -> None:
        """Raise a `DecisionError` that names the first decision that builds on those that are to be undone."""
        review, left_out, later = Review.of(self.intents), {entry.id for entry in chosen}, "a later decision"
        kept = [entry for entry in in_effect if entry.id not in left_out]
        try:
            for entry in kept:
                later = f"decision {entry.id} ({entry.author} {entry.words})"
                review.apply(entry.decision)
            later = "a later decision"
            review.check_consistent()
        except DecisionError as error:
            raise DecisionError(f"{later} builds on it ({error}); undo that one first") from None

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(u.text for u in stream_utterances(self.folder, self.intents))

    def replay(self, entries: Sequence[Entry]) -> Review:
        """Return the state after the entries that were not undone; those that were replayed last are not once more.

        Raises:
            ModelError: They are not about this model.
        """
        done, review = self._replayed
        if list(entries[: len(done)]) != list(done):
            done, review = (), Review.of(self.intents)
        review = review.copy()
        try:
            for entry in entries[len(done) :]:
                if entry.undone_at is None:
                    review.apply(entry.decision)
        except DecisionError as error:
            raise ModelError(
                f"{self._path}: holds decisions about another model ({error}); put the file of this "
                "model in its place, or move it away"
            ) from None
        self._replayed = tuple(entries), review.copy()
        return review


def _decision_to_undo(entries: Sequence[Entry], author: str | None, id: int | None, seen: int | None) -> Entry:
    """Return the decision with a number, or the last one that is in effect: of an author, or of anybody."""
    check_conflicts(entries, seen, [])
    if id is not None:
        chosen = next((entry for entry in entries if entry.id == id), None)
        if chosen is None:
            raise DecisionError(f"there is no decision {id}")
        if chosen.undone_at is not None:
            raise ConflictError(f"{chosen.undone_by} has undone decision {id} already")
        return chosen
    in_effect = [entry for entry in entries if entry.undone_at is None]
    of_author = [entry for entry in in_effect if author is None or entry.author == author]
    if not of_author and in_effect:
        raise DecisionError(f"there is no decision of {author} to undo; those of others can be undone one by one")
    if not of_author:
        raise DecisionError("there is no decision to undo")
    return of_author[-1]


@dataclass(frozen=True, slots=True)
class Training:
    """A training from a reviewed model.

    Attributes:
        kind: refit or update.
        model: The name of the folder that was trained from.
        at: When the training began: UTC, ISO 8601.
        author: Who started it; None if that is not known.
        entries: The decisions of the review that it learned from.
    """

    kind: str
    model: str
    at: str
    author: str | None
    entries: tuple[Entry, ...]


History = tuple[Training, ...]  # one after the other, beginning with the model that nothing was trained from


def history_of(model: object, kind: str) -> History:
    """Return the history of a model that is to be trained from another one; empty if that lies in no folder."""
    if not isinstance(model, str | Path):
        return ()
    folder = model_folder(model)
    entries = tuple(ReviewStore(folder).entries())
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return (*read_history(folder), Training(kind, folder.resolve().name, at, None, entries))


def history_as_json(history: History) -> bytes:
    return to_json({"version": 1, "trainings": [asdict(training) for training in history]})


def read_history(folder: Path) -> History:
    """Return how the model in a folder came to be; the history is empty if the folder does not say it."""
    return read_sidecar(folder, HISTORY_FILE, "trainings", History) or ()


def sign_history(folder: Path, author: str) -> None:
    """Write in whose name a model was trained."""
    history = read_history(folder)
    signed = [replace(last, author=author) for last in history[-1:]]
    write_atomically(folder / HISTORY_FILE, history_as_json((*history[:-1], *signed)))
