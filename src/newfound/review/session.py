"""One model folder under review: the model, its decisions, and what is computed once for all versions of the review."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import nearest
from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError
from newfound.intents.description import NEIGHBOURS
from newfound.intents.map import Positions, map_positions, quick_positions
from newfound.model.about import Description
from newfound.model.classifier import IntentModel
from newfound.model.folder import load
from newfound.model.sidecars import read_groups, thresholds_by_name
from newfound.review.entries import Entry, check_nothing_decided, version_of
from newfound.review.proposals import CacheByRows
from newfound.review.queries import ReviewView
from newfound.review.questions import LogVotes
from newfound.review.reviewed import ReviewedModel, UtteranceVectors
from newfound.review.state import Review
from newfound.review.store import ReviewStore

MAX_UTTERANCES_TO_WAIT_FOR = {"layout": 200, "votes": 2_000}  # what is computed at once for so few
Layout = npt.NDArray[np.uint16]  # [n, 2]; the right or lower edge of the map is 65,535
T = TypeVar("T")
logger = logging.getLogger("newfound.review")
_computing = {name: Lock() for name in MAX_UTTERANCES_TO_WAIT_FOR}  # one thread for each, however many models there are


class ReviewSession:
    """One model folder: the model, its decisions, and what is computed once for all views."""

    def __init__(
        self,
        folder: str | Path,
        *,
        encoder: str | Encoder | None = None,
    ) -> None:
        description = Description.read(folder)
        self.folder, self.store = description.folder, ReviewStore(description)
        self.model: IntentModel = load(description, encoder=encoder)
        self._vectors_of = UtteranceVectors(self.model)
        self._view: ReviewView | None = None
        self._computed: dict[str, Any] = {}
        self.cache = CacheByRows()
        self._lock, self._locks = Lock(), defaultdict[str, Lock](Lock)

    def view(self) -> ReviewView:
        """Return a view of the current version of the review; the same view until somebody decides."""
        with self._lock:
            entries = self.store.entries()
            version, groups = version_of(entries), read_groups(self.folder)
            if self._view is None or self._view.version != version or self._view.reviewed.groups != groups:
                self._view = self._view_of(self.store.replay(entries), version)
                self._view.entries = entries
            self._view.reviewed.classifier.thresholds = thresholds_by_name(self.folder, self._view.reviewed.ids)
            return self._view

    def resize(self, n_new: int, *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Merge or split new intents until there are so many (see `Resizer`).

        It is refused if somebody has decided since `expected_version`, as the preview is out of date then.
        """
        view = self.view()
        check_nothing_decided(view.entries, expected_version)
        decisions = view.resizer.preview(n_new).decisions
        if not decisions:
            raise DecisionError(f"there are {n_new} new intents already")
        return self.store.decide(decisions, author=author, expected_version=view.version)

    def _view_of(self, review: Review, version: int) -> ReviewView:
        reviewed = ReviewedModel(
            self.model,
            review,
            vectors_of=self._vectors_of,
            groups=read_groups(self.folder),
            earlier=None if self._view is None else self._view.reviewed,
        )
        return ReviewView(self, reviewed, version)

    @property
    def vectors(self) -> Tensor:
        """Unit embeddings [n, d] of the training utterances."""
        return self._compute_once("vectors", lambda: F.normalize(self.model.utterance_vectors, dim=-1))

    @property
    def neighbours(self) -> Tensor:
        """Row numbers of the nearest utterances of each utterance, [n, k]."""
        return self._compute_once("neighbours", lambda: nearest(self.vectors, NEIGHBOURS)[1])

    @property
    def is_log(self) -> Tensor:
        """Which utterances have no label, [n]."""
        return self._compute_once("is log", lambda: torch.tensor([not u.labelled for u in self.model.utterances]))

    @property
    def folded_texts(self) -> list[str]:
        """The texts of the training utterances without upper case, for searches."""
        return self._compute_once("folded texts", lambda: [u.text.casefold() for u in self.model.utterances])

    @property
    def layout(self) -> Layout:
        """The position of every utterance on the map."""
        return self._compute_once("layout", lambda: _as_layout(map_positions(self.vectors.numpy())))

    def layout_now(self) -> tuple[Layout, bool]:
        """Return the positions, and whether they are final.

        The final layout takes long for many utterances. While it is computed in the background, a simple one is
        returned, so that nobody has to wait.
        """
        if self._is_ready("layout", lambda: self.layout):
            return self.layout, True
        quick = self._compute_once("quick layout", lambda: _as_layout(quick_positions(self.vectors.numpy())))
        return quick, False

    @property
    def votes(self) -> LogVotes:
        """Votes on the logs, which say where questions are worth asking."""
        return self._compute_once("votes", lambda: LogVotes(self.model))

    def votes_now(self) -> LogVotes | None:
        """Return the votes; None while they are computed in the background."""
        return self.votes if self._is_ready("votes", lambda: self.votes) else None

    def _is_ready(self, name: str, compute: Callable[[], object]) -> bool:
        """Return whether a value is computed or quick to compute; otherwise compute it in the background.

        If that fails, or another model's value is computed at the moment, it begins when somebody asks again.
        """
        if name in self._computed or len(self.model.utterances) <= MAX_UTTERANCES_TO_WAIT_FOR[name]:
            return True
        if _computing[name].acquire(blocking=False):
            Thread(target=_compute, args=(name, compute), daemon=True).start()
        return False

    def warm_up(self) -> None:
        """Compute what takes long, so that no request has to wait for it."""
        view = self.view()
        view.state()
        view.details()
        _ = self.votes
        view.queue()
        _ = self.layout

    def _compute_once(self, name: str, compute: Callable[[], T]) -> T:
        """Return a stored value. The first thread computes it; others that need the same value wait."""
        if name not in self._computed:
            with self._locks[name]:
                if name not in self._computed:
                    self._computed[name] = compute()
        value: T = self._computed[name]
        return value


def _compute(name: str, compute: Callable[[], object]) -> None:
    try:
        compute()
    except Exception as error:
        logger.warning("%s: cannot be computed (%s: %s)", name, type(error).__name__, error)
    finally:
        _computing[name].release()


def _as_layout(positions: Positions) -> Layout:
    return (positions * np.iinfo(np.uint16).max).round().astype("<u2")
