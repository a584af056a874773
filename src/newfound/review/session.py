"""The data that a reviewer sees, without HTTP: one model, its utterances, and the proposals about its intents.

A `ReviewView` shows one version of the review and never changes; after a decision there is another one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
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
from newfound.intents.map import map_positions
from newfound.intents.naming import name_intents
from newfound.model.classifier import IntentModel
from newfound.model.folder import load
from newfound.review.decisions import Decision, Review
from newfound.review.reviewed import ReviewedModel, UtteranceVectors
from newfound.review.store import Entry, ReviewStore, version_of
from newfound.review.views import (
    Candidate,
    Explanation,
    IntentPage,
    ListedUtterance,
    LogMap,
    MergeProposal,
    NearUtterance,
    Part,
    Progress,
    QueueItem,
    ReviewState,
    SplitProposal,
)

MAX_UTTERANCES_COMPARED = 400  # per intent, for the proposals to merge or split
MAX_DESCRIBING_UTTERANCES = 12  # of a part of a proposed split
MAX_EVIDENCE_PAIRS = 3  # per proposal to merge
MIN_SIZE_TO_SPLIT = 8  # utterances
T = TypeVar("T")


class ReviewSession:
    """One model folder: the model, its decisions, and what is computed once for all views."""

    def __init__(self, folder: str | Path, *, encoder: str | Encoder | None = None) -> None:
        """Open a model folder.

        Args:
            folder: The model folder.
            encoder: The pretrained encoder or its path, if it is neither a short name nor in the folder.
        """
        self.folder = Path(folder)
        self.store = ReviewStore(self.folder)
        self.model: IntentModel = load(self.folder, encoder=encoder)
        self._vectors_of = UtteranceVectors(self.model)
        self._view: ReviewView | None = None
        self._checked: ReviewView | None = None  # made before a decision was recorded; it becomes the next view
        self._computed: dict[str, Any] = {}
        self._lock, self._locks = Lock(), defaultdict[str, Lock](Lock)

    def view(self) -> ReviewView:
        """Return a view of the current version of the review; the same view until somebody decides."""
        with self._lock:
            entries = self.store.entries()
            version = version_of(entries)
            if self._view is None or self._view.version != version:
                review = self.store.replay(entries)
                checked, self._checked = self._checked, None
                if checked is not None and checked.reviewed.review == review:
                    checked.version = version
                    self._view = checked
                else:
                    self._view = self._view_of(review, version)
            return self._view

    def decide(self, decisions: Sequence[Decision], *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Record decisions, if a view can be made of the state after them (see `ReviewStore.decide`)."""
        return self.store.decide(decisions, author=author, expected_version=expected_version, check=self._check)

    def undo(self, *, author: str, id: int | None = None, expected_version: int | None = None) -> Entry:
        """Undo a decision, if a view can be made of the state without it (see `ReviewStore.undo`)."""
        return self.store.undo(author=author, id=id, expected_version=expected_version, check=self._check)

    def _check(self, review: Review) -> None:
        """Raise an error if no view can be made of a state."""
        if self.model.utterances:
            view = self._view_of(review, -1)
            view.state()
            self._checked = view

    def _view_of(self, review: Review, version: int) -> ReviewView:
        return ReviewView(self, ReviewedModel(self.model, review, vectors_of=self._vectors_of), version)

    @property
    def vectors(self) -> Tensor:
        """Unit embeddings [n, d] of the training utterances."""
        return self._compute_once("vectors", lambda: F.normalize(self.model.utterance_vectors, dim=-1))

    @property
    def neighbours(self) -> Tensor:
        """Row numbers of the nearest utterances of each utterance, [n, k]."""
        return self._compute_once("neighbours", lambda: nearest(self.vectors, NEIGHBOURS)[1])

    @property
    def layout(self) -> list[list[float]]:
        """The position of every utterance on the map, [n, 2]."""
        return self._compute_once("layout", lambda: np.round(map_positions(self.vectors.numpy()), 4).tolist())

    def warm_up(self) -> None:
        """Compute what takes long, so that no request has to wait for it."""
        self.view().state()
        _ = self.neighbours, self.layout

    def _compute_once(self, name: str, compute: Callable[[], T]) -> T:
        """Return a stored value. The first thread computes it; others that need the same value wait."""
        if name not in self._computed:
            with self._locks[name]:
                if name not in self._computed:
                    self._computed[name] = compute()
        value: T = self._computed[name]
        return value


class ReviewView:
    """The intents and utterances at one version of the review."""

    def __init__(self, session: ReviewSession, reviewed: ReviewedModel, version: int) -> None:
        """Make a view; `ReviewSession.view` does this.

        Args:
            session: The session.
            reviewed: The model with the decisions applied.
            version: The version of the review.
        """
        self.session = session
        self.version = version
        self.reviewed = reviewed
        self.names = list(reviewed.names)

    @cached_property
    def describer(self) -> IntentDescriber:
        """Describes the intents of this version."""
        _ = self.session.vectors  # The lock of the session makes sure that the utterances are encoded only once.
        return self.reviewed.describer(neighbours=lambda: self.session.neighbours)

    def number(self, name: str) -> int:
        """Return the number of an intent, or raise a `DecisionError` if there is none of this name."""
        if name not in self.names:
            raise DecisionError(f"no intent {name!r}; somebody may have renamed or merged it")
        return self.names.index(name)

    def state(self) -> ReviewState:
        """Return the intents in brief, and how far the review is."""
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

    def intent(self, name: str, *, start: int = 0, count: int = 50) -> IntentPage:
        """Return one intent with some of its utterances.

        Args:
            name: The intent.
            start: The number of utterances to skip. Proposals are made only if it is 0, on the first page.
            count: The number of utterances to return at most.
        """
        number = self.number(name)
        rows = self.describer.rows(number)
        order = sorted(rows, key=lambda i: self.describer.utterances[i].probability)
        return IntentPage(
            self.describer.describe(number),
            self._merges(number) if start == 0 else (),
            self._split(rows) if start == 0 else None,
            len(rows),
            tuple(self.utterance(i) for i in order[start : start + count]),
        )

    def utterance(self, i: int) -> ListedUtterance:
        """Return one utterance by its number."""
        u = self.describer.utterances[i]
        return ListedUtterance(i, u.text, u.intent, u.labelled, round(u.probability, 4), u.count, u.source)

    def _merges(self, intent: int) -> tuple[MergeProposal, ...]:
        """Propose to merge an intent with those it overlaps with."""
        proposals = []
        for overlap in self.describer.overlaps_of(intent):
            rows = self.describer.rows(intent)[:MAX_UTTERANCES_COMPARED]
            other_rows = self.describer.rows(self.number(overlap.name))[:MAX_UTTERANCES_COMPARED]
            similarity = self.session.vectors[rows] @ self.session.vectors[other_rows].T
            best = similarity.flatten().topk(min(MAX_EVIDENCE_PAIRS, similarity.numel())).indices.tolist()
            utterances = self.describer.utterances
            pairs = tuple(
                (utterances[rows[i // len(other_rows)]].text, utterances[other_rows[i % len(other_rows)]].text)
                for i in best
            )
            status = self.reviewed.review.status(overlap.name)
            proposals.append(MergeProposal(overlap.name, status, overlap.share, pairs))
        return tuple(proposals)

    def _split(self, rows: Sequence[int]) -> SplitProposal | None:
        """Propose to split an intent with these utterances by k-means; None if it is too small."""
        if len(rows) < MIN_SIZE_TO_SPLIT:
            return None
        x = self.session.vectors[list(rows)]
        label = kmeans(x, 2, restarts=5, seed=0).labels
        groups = [(label == part).nonzero().squeeze(1) for part in (0, 1)]
        if any(len(group) < 2 for group in groups):
            return None
        texts = [[self.describer.utterances[rows[i]].text for i in group.tolist()] for group in groups]
        names = name_intents(texts, taken=self.names)
        sample = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:MAX_UTTERANCES_COMPARED]
        parts = []
        for group, texts_of_part, name in zip(groups, texts, names, strict=True):
            shown = exemplars(x[group], x[group].mean(0), texts_of_part, count=MAX_DESCRIBING_UTTERANCES)
            parts.append(Part(name, len(texts_of_part), tuple(texts_of_part[i] for i in shown)))
        return SplitProposal(round(silhouette(x[sample], label[sample]), 3), tuple(parts))

    def queue(self, count: int = 20) -> list[QueueItem]:
        """Return the utterances from the logs that most need a check.

        These are the ones whose intent is uncertain and differs from that of their neighbours.

        Args:
            count: The number of utterances at most.
        """
        decided = self.reviewed.review.moved
        rows = [i for i, u in enumerate(self.describer.utterances) if not u.labelled and u.text not in decided]
        if not rows:
            return []
        p = self.describer.probabilities[rows].clamp(min=1e-9)
        entropy = -(p * p.log()).sum(1) / math.log(max(2, len(self.names)))
        label = self.describer.label
        agreement = (label[self.session.neighbours[rows]] == label[rows][:, None]).float().mean(1)
        doubt = entropy + (1 - agreement)
        chosen = doubt.argsort(descending=True, stable=True)[:count].tolist()
        return [
            QueueItem(
                self.utterance(rows[j]),
                self._candidates(self.describer.probabilities[rows[j]], 4),
                round(float(agreement[j]), 2),
            )
            for j in chosen
        ]

    def _candidates(self, probabilities: Tensor, count: int) -> tuple[Candidate, ...]:
        best = probabilities.topk(min(count, len(self.names)))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        return tuple(Candidate(self.names[c], round(value, 4)) for value, c in pairs)

    def search(self, words: str, count: int = 100) -> list[ListedUtterance]:
        """Return the first utterances that contain all words.

        Args:
            words: The words, separated by spaces; upper and lower case are the same.
            count: The number of utterances at most.
        """
        wanted = words.casefold().split()
        matches = (i for i, u in enumerate(self.describer.utterances) if all(w in u.text.casefold() for w in wanted))
        return [self.utterance(i) for i, _ in zip(matches, range(count), strict=False)]

    def points(self) -> LogMap:
        """Return the map of the logs, or of all utterances if there are no logs."""
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
        """Classify one text, and return the most probable intents and the most similar utterances with it."""
        (prediction,) = self.reviewed.classify([text])
        vector = F.normalize(torch.from_numpy(self.session.model.transform([text])), dim=-1)
        probabilities = self.reviewed.probabilities_of([text], vector)[0]
        best = (self.session.vectors @ vector[0]).topk(min(5, len(self.describer.utterances)))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        similar = tuple(NearUtterance(self.utterance(i), round(value, 3)) for value, i in pairs)
        return Explanation(prediction, self._candidates(probabilities, 5), similar)
