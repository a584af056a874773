"""One model folder under review: the model, its decisions, and what is computed once for all versions of the review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import nearest
from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError
from newfound.intents.description import NEIGHBOURS
from newfound.intents.map import map_positions
from newfound.model.about import Description
from newfound.model.classifier import IntentModel
from newfound.model.folder import load
from newfound.model.head import Array
from newfound.model.sidecars import read_groups, thresholds_by_name
from newfound.review.entries import Entry, check_conflicts
from newfound.review.proposals import TwoParts, central_texts, two_parts
from newfound.review.queries import ReviewView
from newfound.review.questions import LogVotes
from newfound.review.reviewed import ReviewedModel
from newfound.review.store import ReviewStore

MAX_UTTERANCES_TO_WAIT_FOR = {"layout": 200, "votes": 2_000}  # what is computed at once for so few
MAX_INTENTS_REMEMBERED = 4_096  # what was computed from their utterances
MAX_EXAMPLES = 5  # of an intent
MAX_POSITION = np.iinfo(np.uint16).max
Layout = npt.NDArray[np.uint16]  # [n, 2]; the right or lower edge of the map is 65,535
T = TypeVar("T")


class ReviewSession:
    """One model folder: the model, its decisions, and what is computed once for all views."""

    def __init__(self, folder: str | Path, *, encoder: str | Encoder | None = None) -> None:
        description = Description.read(folder)
        self.folder, self.store = description.folder, ReviewStore(description)
        self.model: IntentModel = load(description, encoder=encoder)
        self._view: ReviewView | None = None
        self._computed: dict[str, Any] = {}
        remember = lru_cache(MAX_INTENTS_REMEMBERED)
        self.vectors_of: Callable[[Sequence[str]], Array] = remember(self._vectors_of)
        self.two_parts: Callable[[tuple[int, ...]], TwoParts | None] = remember(
            lambda rows: two_parts(self.vectors[list(rows)])
        )
        self.examples: Callable[[tuple[int, ...]], tuple[str, ...]] = remember(self._examples)
        self._lock, self._locks = Lock(), defaultdict[str, Lock](Lock)

    def view(self) -> ReviewView:
        """Return a view of the current version of the review; the same view until somebody decides."""
        with self._lock:
            entries, groups = self.store.entries(), read_groups(self.folder)
            earlier = None if self._view is None else self._view.reviewed
            if self._view is None or self._view.entries != entries or self._view.reviewed.groups != groups:
                review, vectors_of = self.store.replay(entries), self.vectors_of
                reviewed = ReviewedModel(self.model, review, vectors_of=vectors_of, groups=groups, earlier=earlier)
                self._view = ReviewView(self, reviewed, entries)
            self._view.reviewed.classifier.thresholds = thresholds_by_name(self.folder, self._view.reviewed.ids)
            return self._view

    @property
    def latest(self) -> ReviewView:
        """The view that was made last, for which nothing is read."""
        return self._view or self.view()

    def resize(self, n_new: int, *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Merge or split new intents until there are so many (see `Resizer`).

        It is refused if somebody has decided since `expected_version`, as the preview is out of date then.
        """
        view = self.view()
        check_conflicts(view.entries, expected_version, None)
        decisions = view.resizer.preview(n_new).decisions
        if not decisions:
            raise DecisionError(f"there are {n_new} new intents already")
        return self.store.decide(decisions, author=author, expected_version=view.version)

    @property
    def vectors(self) -> Tensor:
        """Unit embeddings [n, d] of the training utterances."""
        return self._compute_once("vectors", lambda: F.normalize(self.model.utterance_vectors, dim=-1))

    @property
    def neighbours(self) -> Tensor:
        """Row numbers of the nearest utterances of each utterance, [n, k]."""
        return self._compute_once("neighbours", lambda: nearest(self.vectors, NEIGHBOURS)[1])

    def layout(self, *, wait: bool = True) -> tuple[Layout, bool]:
        """Return the position of every utterance on the map, and whether it is final.

        The final layout takes long for many utterances. Who does not wait for it gets a simple one until it is there.
        """
        is_final = wait or self._is_ready("layout")

        def compute() -> Layout:
            positions = map_positions(self.vectors.numpy(), quick=not is_final)
            return (positions * MAX_POSITION).round().astype("<u2")

        return self._compute_once("layout" if is_final else "quick layout", compute), is_final

    def votes(self, *, wait: bool = True) -> LogVotes | None:
        """Return the votes on the logs, which say where questions are worth asking; who does not wait may get None."""
        return self._compute_once("votes", lambda: LogVotes(self.model)) if wait or self._is_ready("votes") else None

    def _is_ready(self, name: str) -> bool:
        return name in self._computed or len(self.model.utterances) <= MAX_UTTERANCES_TO_WAIT_FOR[name]

    def _vectors_of(self, texts: tuple[str, ...]) -> Array:
        """Return the embeddings of texts; those of training utterances are looked up."""
        row = self._compute_once("rows", lambda: {u.text: i for i, u in enumerate(self.model.utterances)})
        if any(text not in row for text in texts):
            return self.model.transform(texts)
        return self.model.utterance_vectors[[row[text] for text in texts]].numpy()

    def _examples(self, rows: tuple[int, ...]) -> tuple[str, ...]:
        texts = [self.model.utterances[row].text for row in rows]
        return central_texts(self.vectors[list(rows)], texts, MAX_EXAMPLES) if rows else ()

    def warm_up(self) -> None:
        """Compute what takes long, so that no request has to wait for it."""
        view = self.view()
        _ = view.state
        view.details()
        self.votes()
        view.queue()
        self.layout()

    def _compute_once(self, name: str, compute: Callable[[], T]) -> T:
        """Return a stored value. The first thread computes it; others that need the same value wait."""
        if name not in self._computed:
            with self._locks[name]:
                if name not in self._computed:
                    self._computed[name] = compute()
        value: T = self._computed[name]
        return value
