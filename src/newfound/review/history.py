"""What was decided before a model was trained: a copy of the earlier reviews, in the folder of the trained model.

Decisions about one model cannot be replayed on another one, so a trained model begins with an empty review. The file
`history.json` says how it came to be: one entry for each training, with the decisions that the training learned from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from newfound.files import HISTORY_FILE, to_json, write_atomically
from newfound.model.hub import model_folder
from newfound.model.sidecars import damaged_sidecar, read_sidecar
from newfound.review.entries import Entry
from newfound.review.store import ReviewStore


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


@dataclass(frozen=True, slots=True)
class History:
    """How a model came to be.

    Attributes:
        trainings: The trainings one after the other, beginning with the model that nothing was trained from.
        result: The name under which a server has written the folder; None if no server has.
    """

    trainings: tuple[Training, ...] = ()
    result: str | None = None

    @classmethod
    def of(cls, model: object, kind: str) -> History:
        """Return the history of a model that is to be trained from another one; empty if that lies in no folder."""
        if not isinstance(model, str | Path):
            return cls()
        folder = model_folder(model)
        entries = tuple(ReviewStore(folder).entries())
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls((*read_history(folder).trainings, Training(kind, folder.resolve().name, at, None, entries)))

    def as_json(self) -> bytes:
        """Return the content of its file."""
        trainings = [asdict(one) for one in self.trainings]
        return to_json({"version": 1, "result": self.result, "trainings": trainings})

    def signed(self, result: str, author: str) -> History:
        """Return the same history of a folder that a server writes under a name, in the name of an author."""
        *earlier, last = self.trainings or (None,)
        return History((*earlier, replace(last, author=author)) if last else (), result)


def has_history(folder: Path) -> bool:
    """Return whether a folder says how its model came to be. One that was discovered by a command does not."""
    return (folder / HISTORY_FILE).is_file()


def read_history(folder: Path) -> History:
    """Return how the model in a folder came to be; the history is empty if the folder does not say it."""
    content = read_sidecar(folder, HISTORY_FILE)
    try:
        trainings = tuple(_training(entry) for entry in content.get("trainings", ()))
        result = content.get("result")
        if not isinstance(result, str | None):
            raise TypeError
    except (KeyError, TypeError, ValueError):
        raise damaged_sidecar(folder / HISTORY_FILE, "its trainings") from None
    return History(trainings, result)


def write_history(folder: Path, history: History) -> None:
    """Write how the model in a folder came to be."""
    write_atomically(folder / HISTORY_FILE, history.as_json())


def _training(content: Mapping[str, Any]) -> Training:
    training = Training(**{**content, "entries": tuple(_entry(entry) for entry in content["entries"])})
    _check_texts(training.kind, training.model, training.at, training.author or "")
    return training


def _entry(content: Mapping[str, Any]) -> Entry:
    values = {name: value for name, value in content.items() if name != "words"}
    _check_texts(*(values[name] or "" for name in ("at", "author", "kind", "undone_at", "undone_by")))
    if not isinstance(values["id"], int) or not isinstance(values["arguments"], dict):
        raise TypeError
    return Entry(**values)


def _check_texts(*values: object) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError
