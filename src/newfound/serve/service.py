"""The model that is served now, the queue before it, and what is under way."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from threading import Lock

from newfound.encoders.encoder import Encoder
from newfound.errors import ModelError, NewfoundError
from newfound.files import REVIEW_FILE
from newfound.model.about import ABOUT_FILE
from newfound.model.types import Prediction
from newfound.review.session import ReviewSession, ReviewView
from newfound.serve.batching import Batcher
from newfound.serve.jobs import BackgroundJobs
from newfound.serve.metrics import ServerMetrics
from newfound.serve.settings import ServeSettings

logger = logging.getLogger("newfound.serve")


class Service:
    """One model folder as it is served."""

    def __init__(self, folder: Path, settings: ServeSettings, *, encoder: str | Encoder | None = None) -> None:
        self.settings, self._folder, self._encoder = settings, folder, encoder
        self.session = ReviewSession(folder, encoder=encoder)
        self.view = self.session.view()
        self.metrics = ServerMetrics()
        self.jobs = BackgroundJobs()
        self.batcher: Batcher[Prediction] | None = None
        self.stopping = False
        self._mark = self._signature()
        self._swapping = Lock()

    def warm_up(self) -> None:
        """Do what takes long before somebody waits for it."""
        with contextlib.suppress(ModelError):  # without its utterances a model predicts, and the page says so
            self.session.warm_up()

    def classify(self, texts: list[str]) -> list[Prediction]:
        return self.view.reviewed.classify(texts)

    def refresh(self) -> ReviewView:
        """Heed decisions, also those that another process took."""
        session = self.session
        view = session.view()
        with self._swapping:
            if self.session is session:  # else a newer model took its place meanwhile
                self.view = view
            return self.view

    def reload_if_newer(self) -> None:
        """Take up another model in the folder, or another decision: the next batch is answered by it."""
        mark = self._signature()
        if mark == self._mark:
            return
        if mark[0] != self._mark[0]:
            try:
                fresh = ReviewSession(self._folder, encoder=self._encoder)
                view = fresh.view()
            except NewfoundError as error:
                logger.warning("the newer model cannot be used: %s", error)
                self._mark = mark
                return
            with self._swapping:
                self.session, self.view = fresh, view
            self.warm_up()
        else:
            self.refresh()
        self._mark = mark

    def _signature(self) -> tuple[object, object]:
        return _stamp(self._folder / ABOUT_FILE), [_stamp(self._folder / f"{REVIEW_FILE}{end}") for end in ("", "-wal")]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
