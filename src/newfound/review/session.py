"""What a reviewer looks at: one model, its utterances embedded once, and views of them as the review stands.

No HTTP here. A `ReviewView` belongs to one version of the review and never changes; the next decision makes another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.metrics import silhouette
from newfound.algorithms.neighbours import nearest
from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError
from newfound.intents.description import NEIGHBOURS, IntentDescriber
from newfound.intents.examples import exemplars
from newfound.intents.map import flatten
from newfound.intents.naming import name_intents
from newfound.model.classifier import IntentModel
from newfound.model.folder import load
from newfound.model.types import Intent, Prediction, Status
from newfound.review.decisions import Decision, Review
from newfound.review.reviewed import ReviewedModel, UtteranceVectors
from newfound.review.store import Entry, ReviewStore

MAX_COMPARED = 400  # utterances of an intent that are compared with another's
MAX_DESCRIBING = 12  # utterances that describe a part of a proposed split
MIN_SIZE_TO_SPLIT = 8
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedUtterance:
    """An utterance as lists show it; `id` is its row number."""

    id: int
    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int
    source: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An intent that something may belong to."""

    name: str
    probability: float


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An utterance that needs a look: the intents it may belong to, and the share of its neighbours in its own."""

    utterance: ListedUtterance
    candidates: tuple[Candidate, ...]
    agreement: float


@dataclass(frozen=True, slots=True)
class MergeProposal:
    """Another intent that may be the same, and pairs of close utterances as evidence."""

    name: str
    status: Status
    overlap: float
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a proposed split: a name, its size, and the utterances that describe it."""

    name: str
    size: int
    utterances: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SplitProposal:
    """Two parts that an intent may really be; `separation` is their silhouette."""

    separation: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class IntentPage:
    """All about one intent, with some of its utterances, the least certain first."""

    intent: Intent
    merges: tuple[MergeProposal, ...]
    split: SplitProposal | None
    total: int
    utterances: tuple[ListedUtterance, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a review is."""

    accepted: int
    new: int
    checked: int
    expected_error: float


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The intents in brief, new ones first, and how far the review is."""

    version: int
    intents: tuple[Intent, ...]
    progress: Progress


@dataclass(frozen=True, slots=True)
class LogMap:
    """The map of the logs: x, y, number of the intent (-1 for none) and number of the utterance, for each point."""

    version: int
    names: tuple[str, ...]
    statuses: tuple[Status, ...]
    points: tuple[tuple[float, float, int, int], ...]


@dataclass(frozen=True, slots=True)
class NearUtterance:
    """A training utterance, and its cosine to the text in question."""

    utterance: ListedUtterance
    similarity: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one text is classified as, the likely intents, and the utterances it is closest to."""

    prediction: Prediction
    intents: tuple[Candidate, ...]
    utterances: tuple[NearUtterance, ...]


class ReviewSession:
    """One model folder: the model, its decisions, and what is computed once for both."""

    def __init__(self, folder: str | Path, *, encoder: str | Encoder | None = None) -> None:
        self.folder = Path(folder)
        self.store = ReviewStore(self.folder)
        self.model: IntentModel = load(self.folder, encoder=encoder)
        self._vectors_of = UtteranceVectors(self.model)
        self._view: ReviewView | None = None
        self._made: dict[str, Any] = {}
        self._lock, self._locks = Lock(), defaultdict[str, Lock](Lock)

    def view(self) -> ReviewView:
        """Return the review as it stands; the last view again if nobody decided since."""
        with self._lock:
            review, version = self.store.snapshot()
            if self._view is None or self._view.version != version:
                self._view = self._view_of(review, version)
            return self._view

    def decide(self, decisions: Sequence[Decision], *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Record decisions, once a view of what follows from them could be made: none can break the folder."""
        return self.store.decide(decisions, author=author, expected_version=expected_version, check=self._try)

    def undo(self, *, author: str, id: int | None = None, expected_version: int | None = None) -> Entry:
        """Take back a decision."""
        return self.store.undo(author=author, id=id, expected_version=expected_version, check=self._try)

    def _try(self, review: Review) -> None:
        if self.model.utterances:
            self._view_of(review, -1).state()

    def _view_of(self, review: Review, version: int) -> ReviewView:
        return ReviewView(self, ReviewedModel(self.model, review, vectors_of=self._vectors_of), version)

    @property
    def vectors(self) -> Tensor:
        """Unit embeddings [n, d] of the training utterances."""
        return self._once("vectors", lambda: F.normalize(self.model.utterance_vectors, dim=-1))

    @property
    def near(self) -> Tensor:
        """Row numbers of the nearest utterances, [n, k]."""
        return self._once("near", lambda: nearest(self.vectors, NEIGHBOURS)[1])

    @property
    def layout(self) -> list[list[float]]:
        """A place on the map for every utterance."""
        return self._once("layout", lambda: np.round(flatten(self.vectors.numpy()), 4).tolist())

    def warm_up(self) -> None:
        """Do what takes long before somebody waits for it."""
        self.view().state()
        _ = self.near, self.layout

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Made by the first who asks; others wait for it, and only for it."""
        if name not in self._made:
            with self._locks[name]:
                if name not in self._made:
                    self._made[name] = make()
        made: T = self._made[name]
        return made


class ReviewView:
    """The intents and utterances after the decisions up to one version."""

    def __init__(self, session: ReviewSession, reviewed: ReviewedModel, version: int) -> None:
        self.session = session
        self.version = version
        self.reviewed = reviewed
        self.names = list(reviewed.names)

    @cached_property
    def describer(self) -> IntentDescriber:
        _ = self.session.vectors  # embedded there, once, whoever asks first
        return self.reviewed.describer(near=lambda: self.session.near)

    def number(self, name: str) -> int:
        """Return the position of an intent."""
        if name not in self.names:
            raise DecisionError(f"no intent {name!r}; somebody may have renamed or merged it")
        return self.names.index(name)

    def state(self) -> ReviewState:
        """Return the intents in brief, the progress, and how much of the logs is expected to be wrong."""
        intents = [self.describer.summary(c) for c in range(len(self.names))]
        intents.sort(key=lambda i: (i.known, -i.size, i.name))
        review = self.reviewed.review
        progress = Progress(
            accepted=len(review.accepted),
            new=sum(not i.known for i in intents),
            checked=len(review.checked),
            expected_error=self.describer.expected_error,
        )
        return ReviewState(self.version, tuple(intents), progress)

    def intent(self, name: str, *, start: int = 0, most: int = 50) -> IntentPage:
        """Return all about one intent; proposals are made for the first page of its utterances only."""
        c = self.number(name)
        rows = self.describer.rows(c)
        order = sorted(rows, key=lambda i: self.describer.utterances[i].probability)
        return IntentPage(
            self.describer.describe(c),
            self._merges(c) if start == 0 else (),
            self._split(rows) if start == 0 else None,
            len(rows),
            tuple(self.utterance(i) for i in order[start : start + most]),
        )

    def utterance(self, i: int) -> ListedUtterance:
        """Return one utterance by its number."""
        u = self.describer.utterances[i]
        return ListedUtterance(i, u.text, u.intent, u.labelled, round(u.probability, 4), u.count, u.source)

    def _merges(self, c: int) -> tuple[MergeProposal, ...]:
        proposals = []
        for overlap in self.describer.overlaps_of(c):
            own = self.describer.rows(c)[:MAX_COMPARED]
            other = self.describer.rows(self.number(overlap.name))[:MAX_COMPARED]
            similarity = self.session.vectors[own] @ self.session.vectors[other].T
            best = similarity.flatten().topk(min(3, similarity.numel())).indices.tolist()
            texts = self.describer.utterances
            pairs = tuple((texts[own[i // len(other)]].text, texts[other[i % len(other)]].text) for i in best)
            status = self.reviewed.review.status(overlap.name)
            proposals.append(MergeProposal(overlap.name, status, overlap.share, pairs))
        return tuple(proposals)

    def _split(self, rows: Sequence[int]) -> SplitProposal | None:
        if len(rows) < MIN_SIZE_TO_SPLIT:
            return None
        x = self.session.vectors[list(rows)]
        label = kmeans(x, 2, restarts=5, seed=0).labels
        groups = [(label == part).nonzero().squeeze(1) for part in (0, 1)]
        if any(len(group) < 2 for group in groups):
            return None
        texts = [[self.describer.utterances[rows[i]].text for i in group.tolist()] for group in groups]
        names = name_intents(texts, taken=self.names)
        sample = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:MAX_COMPARED]
        parts = []
        for group, own, name in zip(groups, texts, names, strict=True):
            shown = exemplars(x[group], x[group].mean(0), own, most=MAX_DESCRIBING)
            parts.append(Part(name, len(own), tuple(own[i] for i in shown)))
        return SplitProposal(round(silhouette(x[sample], label[sample]), 3), tuple(parts))

    def queue(self, most: int = 20) -> list[QueueItem]:
        """Return the utterances from the logs that most need a look: unsure, and unlike their neighbours."""
        decided = self.reviewed.review.moved
        rows = [i for i, u in enumerate(self.describer.utterances) if not u.labelled and u.text not in decided]
        if not rows:
            return []
        p = self.describer.probabilities[rows].clamp(min=1e-9)
        entropy = -(p * p.log()).sum(1) / math.log(max(2, len(self.names)))
        label = self.describer.label
        agreement = (label[self.session.near[rows]] == label[rows][:, None]).float().mean(1)
        doubt = entropy + (1 - agreement)
        chosen = doubt.argsort(descending=True, stable=True)[:most].tolist()
        return [
            QueueItem(
                self.utterance(rows[j]),
                self._candidates(self.describer.probabilities[rows[j]], 4),
                round(float(agreement[j]), 2),
            )
            for j in chosen
        ]

    def _candidates(self, probabilities: Tensor, most: int) -> tuple[Candidate, ...]:
        best = probabilities.topk(min(most, len(self.names)))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        return tuple(Candidate(self.names[c], round(value, 4)) for value, c in pairs)

    def search(self, words: str, most: int = 100) -> list[ListedUtterance]:
        """Return utterances that hold all the words."""
        wanted = words.casefold().split()
        matches = (i for i, u in enumerate(self.describer.utterances) if all(w in u.text.casefold() for w in wanted))
        return [self.utterance(i) for i, _ in zip(matches, range(most), strict=False)]

    def points(self) -> LogMap:
        """Return the map of the logs; of all utterances if there are no logs."""
        utterances = self.describer.utterances
        rows = [i for i, u in enumerate(utterances) if not u.labelled] or list(range(len(utterances)))
        label, layout = self.describer.label.tolist(), self.session.layout
        return LogMap(
            self.version,
            tuple(self.names),
            tuple(self.reviewed.review.status(name) for name in self.names),
            tuple((layout[i][0], layout[i][1], label[i], i) for i in rows),
        )

    def explain(self, text: str) -> Explanation:
        """Return what one text is classified as, and why."""
        (prediction,) = self.reviewed.classify([text])
        vector = F.normalize(torch.from_numpy(self.session.model.transform([text])), dim=-1)
        probabilities = self.reviewed.probabilities_of([text], vector)[0]
        best = (self.session.vectors @ vector[0]).topk(min(5, len(self.describer.utterances)))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        near = tuple(NearUtterance(self.utterance(i), round(value, 3)) for value, i in pairs)
        return Explanation(prediction, self._candidates(probabilities, 5), near)
