"""What was decided before a model was trained: a copy of the earlier reviews, in the folder of the trained model.

Decisions about one model cannot be replayed on another one, so a trained model begins with an empty review. The file
`history.json` says how it came to be: one entry for each training, with the decisions that the training learned from.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from newfound.files import HISTORY_FILE, to_json, write_atomically
from newfound.model.hub import model_folder
from newfound.model.sidecars import read_sidecar
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
    """

    trainings: tuple[Training, ...] = ()

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
        return to_json({"version": 1, **asdict(self)})


def read_history(folder: Path) -> History:
    """Return how the model in a folder came to be; the history is empty if the folder does not say it."""
    return History(read_sidecar(folder, HISTORY_FILE, "trainings", tuple[Training, ...]) or ())


def sign_history(folder: Path, author: str) -> None:
    """Write in whose name a model was trained."""
    *earlier, last = read_history(folder).trainings or (None,)
    history = History((*earlier, replace(last, author=author)) if last else ())
    write_atomically(folder / HISTORY_FILE, history.as_json())
