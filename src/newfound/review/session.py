"""The data that a reviewer sees, without HTTP: one model, its utterances, and the proposals about its intents.

A `ReviewView` shows one version of the review and never changes; after a decision there is another one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound import defaults
from newfound.algorithms.neighbours import nearest
from newfound.algorithms.ranking import ranked
from newfound.defaults import Precision
from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError
from newfound.intents.description import MIN_OVERLAP_TO_SUGGEST, NEIGHBOURS, IntentDescriber
from newfound.intents.map import map_positions, quick_positions
from newfound.model.classifier import IntentModel
from newfound.model.folder import load
from newfound.review.decisions import Decision, Review
from newfound.review.entries import Entry, version_of
from newfound.review.proposals import (
    MIN_SEPARATION_TO_SUGGEST,
    KeptByRows,
    TwoParts,
    confused_pairs,
    merge_proposals,
    split_proposal,
    two_parts,
)
from newfound.review.questions import LogVotes, ReviewInquiry
from newfound.review.reviewed import ReviewedModel, UtteranceVectors
from newfound.review.store import ReviewStore
from newfound.review.views import (
    Candidate,
    ConfusedPair,
    Explanation,
    IntentDetails,
    IntentPage,
    ListedUtterance,
    LogMap,
    NearUtterance,
    Page,
    PairedUtterance,
    Progress,
    QueueItem,
    ReviewState,
    SplitProposal,
)

MAX_EXAMPLES_IN_LIST = 3  # of each intent
MAX_UTTERANCES_TO_WAIT_FOR = {"layout": 200, "votes": 2_000}  # what is computed at once for so few
MAX_QUESTIONS = 50  # at the head of the queue
T = TypeVar("T")


class ReviewSession:
    """One model folder: the model, its decisions, and what is computed once for all views."""

    def __init__(
        self,
        folder: str | Path,
        *,
        encoder: str | Encoder | None = None,
        precision: Precision = defaults.PRECISION,
    ) -> None:
        """Open a model folder.

        Args:
            folder: The model folder.
            encoder: The pretrained encoder or its path, if it is neither a short name nor in the folder.
            precision: fp32, or int8 on a CPU.
        """
        self.folder = Path(folder)
        self.store = ReviewStore(self.folder)
        self.model: IntentModel = load(self.folder, encoder=encoder).with_precision(precision)
        self._vectors_of = UtteranceVectors(self.model)
        self._view: ReviewView | None = None
        self._checked: ReviewView | None = None  # made before a decision was recorded; it becomes the next view
        self._computed: dict[str, Any] = {}
        self._begun: set[str] = set()  # values that are computed in the background
        self.kept = KeptByRows()
        self._lock, self._locks = Lock(), defaultdict[str, Lock](Lock)

    def view(self) -> ReviewView:
        """Return a view of the current version of the review; the same view until somebody decides."""
        with self._lock:
            entries = self.store.entries()
            version = version_of(entries)
            if self._view is None or self._view.version != version:
                review = self.store.replay(entries)
                checked, self._checked = self._checked, None
                is_same = checked is not None and checked.reviewed.review == review
                self._view = checked if checked is not None and is_same else self._view_of(review, version)
                self._view.version, self._view.entries = version, entries
            return self._view

    def decide(self, decisions: Sequence[Decision], *, author: str, expected_version: int | None = None) -> list[Entry]:
        """Record decisions, if a view can be made of the state after them (see `ReviewStore.decide`)."""
        return self.store.decide(decisions, author=author, expected_version=expected_version, check=self._check)

    def undo(self, *, author: str, id: int | None = None, expected_version: int | None = None) -> Entry:
        """Undo a decision, by default the author's last one, if a view can be made of the state without it."""
        return self.store.undo(
            author=author, id=id, only_own=True, expected_version=expected_version, check=self._check
        )

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

    def layout_now(self) -> tuple[list[list[float]], bool]:
        """Return the positions, and whether they are final.

        The final layout takes long for many utterances. While it is computed in the background, a simple one is
        returned, so that nobody has to wait.
        """
        if self._is_ready("layout", lambda: self.layout):
            return self.layout, True
        return self._compute_once(
            "quick layout", lambda: quick_positions(self.vectors.numpy()).round(4).tolist()
        ), False

    @property
    def votes(self) -> LogVotes:
        """Votes on the logs, which say where questions are worth asking."""
        return self._compute_once("votes", lambda: LogVotes(self.model))

    def votes_now(self) -> LogVotes | None:
        """Return the votes; None while they are computed in the background."""
        return self.votes if self._is_ready("votes", lambda: self.votes) else None

    def _is_ready(self, name: str, compute: Callable[[], object]) -> bool:
        """Return whether a value is computed or quick to compute; otherwise compute it in the background, once."""
        if name in self._computed or len(self.model.utterances) <= MAX_UTTERANCES_TO_WAIT_FOR[name]:
            return True
        with self._lock:
            is_first = name not in self._begun
            self._begun.add(name)
        if is_first:
            Thread(target=compute, daemon=True).start()
        return False

    def warm_up(self) -> None:
        """Compute what takes long, so that no request has to wait for it."""
        view = self.view()
        view.state()
        view.details()
        _ = self.votes
        _ = self.layout

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
        self.entries: Sequence[Entry] = ()
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
            without_intent=int((self.describer.label < 0).sum()),
        )
        comments = {name: len(positions) for name, positions in review.comments.items()}
        return ReviewState(self.version, tuple(intents), progress, dict(review.numbers), comments)

    def details(self) -> list[IntentDetails]:
        """Return what the list shows of each intent besides its summary: examples and proposals."""
        return [self._details(intent) for intent in range(len(self.names))]

    def _details(self, intent: int) -> IntentDetails:
        name, rows = self.names[intent], self.describer.rows(intent)
        examples = self.session.kept.get("examples", rows, lambda: self.describer.exemplars(intent))
        if self.reviewed.review.status(name) == "known":
            return IntentDetails(name, examples[:MAX_EXAMPLES_IN_LIST], None, None, None)
        overlap = next(iter(self.describer.overlaps_of(intent)), None)
        parts = self._two_parts(rows)
        merge = overlap if overlap is not None and overlap.share >= MIN_OVERLAP_TO_SUGGEST else None
        split = parts if parts is not None and parts.separation >= MIN_SEPARATION_TO_SUGGEST else None
        return IntentDetails(
            name,
            examples[:MAX_EXAMPLES_IN_LIST],
            None if merge is None else merge.name,
            None if merge is None else merge.share,
            None if split is None else split.separation,
        )

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
            merge_proposals(self.describer, self.session.vectors, number) if start == 0 else (),
            self._split(rows) if start == 0 else None,
            len(rows),
            tuple(self.utterance(i) for i in order[start : start + count]),
            self._comments(name),
        )

    def _comments(self, name: str) -> tuple[Entry, ...]:
        recorded = [e for e in self.entries if e.undone_at is None and e.decision.kind == "comment"]
        return tuple(recorded[i] for i in self.reviewed.review.comments.get(name, ()) if i < len(recorded))

    def without_intent(self, *, start: int = 0, count: int = 50) -> Page:
        """Return utterances that belong to no intent, those that a person put there first.

        Args:
            start: The number of utterances to skip.
            count: The number of utterances to return at most.
        """
        checked = self.reviewed.review.checked
        rows = (self.describer.label < 0).nonzero().squeeze(1).tolist()
        rows.sort(key=lambda i: self.describer.utterances[i].text not in checked)
        return Page(len(rows), tuple(self.utterance(i) for i in rows[start : start + count]))

    def pairs(self, count: int = 30) -> list[ConfusedPair]:
        """Return the pairs of intents that are most often mixed up.

        Args:
            count: The number of pairs at most.
        """
        return confused_pairs(self.describer, self._undecided, count)

    def pair(self, first: str, second: str, count: int = 100) -> tuple[list[PairedUtterance], list[PairedUtterance]]:
        """Return the unchecked utterances of two intents, those first that are closest to the other intent.

        Args:
            first: One intent.
            second: The other one.
            count: The number of utterances of each at most.
        """
        one, other = self.number(first), self.number(second)
        return self._closest(one, other, count), self._closest(other, one, count)

    def _closest(self, intent: int, other: int, count: int) -> list[PairedUtterance]:
        undecided = set(self._undecided)
        rows = [i for i in self.describer.rows(intent) if i in undecided]
        of_other = self.describer.probabilities[rows, other]
        order = ranked(of_other)[:count].tolist()
        return [PairedUtterance(self.utterance(rows[i]), round(float(of_other[i]), 4)) for i in order]

    @cached_property
    def _undecided(self) -> list[int]:
        """The utterances from the logs that nobody has assigned."""
        decided = self.reviewed.review.moved
        return [i for i, u in enumerate(self.describer.utterances) if not u.labelled and u.text not in decided]

    def utterance(self, i: int) -> ListedUtterance:
        """Return one utterance by its number."""
        u = self.describer.utterances[i]
        checked = u.text in self.reviewed.review.moved or u.text in self.reviewed.review.possible_parts
        return ListedUtterance(i, u.text, u.intent, u.labelled, round(u.probability, 4), u.count, u.source, checked)

    def _two_parts(self, rows: Sequence[int]) -> TwoParts | None:
        return self.session.kept.get("parts", rows, lambda: two_parts(self.session.vectors[list(rows)]))

    def _split(self, rows: Sequence[int]) -> SplitProposal | None:
        """Propose to split an intent with these utterances; None if it is too small."""
        parts = self._two_parts(rows)
        if parts is None:
            return None
        texts = [self.describer.utterances[i].text for i in rows]
        return split_proposal(parts, self.session.vectors[list(rows)], texts, self.names)

    def queue(self, count: int = 20) -> list[QueueItem]:
        """Return the utterances from the logs that most need a check.

        First come those that stand for others and whose intent is in doubt, the largest expected gain first. Then come
        those whose intent is uncertain and differs from that of their neighbours.

        Args:
            count: The number of utterances at most.
        """
        rows = self._undecided
        if not rows:
            return []
        p = self.describer.probabilities[rows].clamp(min=1e-9)
        entropy = -(p * p.log()).sum(1) / math.log(max(2, len(self.names)))
        label = self.describer.label
        agreement = (label[self.session.neighbours[rows]] == label[rows][:, None]).float().mean(1)
        doubt = entropy + (1 - agreement)
        agreed = {i: round(float(value), 2) for i, value in zip(rows, agreement, strict=True)}
        asked = [item for item in self._questions(agreed) if item.utterance.id in agreed][:count]
        first = {item.utterance.id for item in asked}
        others = [rows[j] for j in ranked(doubt).tolist() if rows[j] not in first]
        return asked + [
            QueueItem(self.utterance(i), self._candidates(self.describer.probabilities[i], 4), agreed[i])
            for i in others[: count - len(asked)]
        ]

    def _questions(self, agreed: Mapping[int, float]) -> list[QueueItem]:
        """Return the questions that are worth a person's time; none while the votes are still being counted.

        Args:
            agreed: The share of neighbours with the same intent, for each utterance that may be asked about.
        """
        votes = self.session.votes_now()
        if votes is None:
            return []
        inquiry = ReviewInquiry(self.reviewed, votes)
        items = []
        for question in inquiry.questions(MAX_QUESTIONS):
            i = int(inquiry.rows[question.row])
            probabilities = self.describer.probabilities[i]
            names = [(self.names[n], round(float(probabilities[n]), 4)) for n in question.intents]
            about = None if question.is_about is None else self.names[question.is_about]
            candidates = tuple(Candidate(name, value) for name, value in names)
            items.append(QueueItem(self.utterance(i), candidates, agreed.get(i, 1.0), question.rows, about))
        return items

    def _candidates(self, probabilities: Tensor, count: int) -> tuple[Candidate, ...]:
        best = probabilities.topk(min(count, len(self.names)))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        return tuple(Candidate(self.names[c], round(value, 4)) for value, c in pairs)

    def search(self, words: str, count: int = 100) -> Page:
        """Return the number of utterances that contain all words, and the first of them.

        Args:
            words: The words, separated by spaces; upper and lower case are the same.
            count: The number of utterances at most.
        """
        wanted = words.casefold().split()
        rows = [i for i, u in enumerate(self.describer.utterances) if all(w in u.text.casefold() for w in wanted)]
        return Page(len(rows), tuple(self.utterance(i) for i in rows[:count]))

    def points(self) -> LogMap:
        """Return the map of the logs, or of all utterances if there are no logs."""
        utterances = self.describer.utterances
        rows = [i for i, u in enumerate(utterances) if not u.labelled] or list(range(len(utterances)))
        layout, is_final = self.session.layout_now()
        label, checked = self.describer.label.tolist(), self.reviewed.review.checked
        return LogMap(
            self.version,
            tuple(self.names),
            tuple(self.reviewed.review.status(name) for name in self.names),
            tuple(
                (*layout[i], label[i], i, round(utterances[i].probability, 3), int(utterances[i].text in checked))
                for i in rows
            ),
            is_final,
        )

    def explain(self, text: str) -> Explanation:
        """Classify one text, and return the most probable intents and the most similar utterances with it."""
        (prediction,) = self.reviewed.classify([text])
        vector = F.normalize(torch.from_numpy(self.session.model.transform([text])), dim=-1)
        probabilities = self.reviewed.probabilities_of([text], vector)[0]
        similarity = self.session.vectors @ vector[0]
        nearest = ranked(similarity)[:5].tolist()
        similar = tuple(NearUtterance(self.utterance(i), round(float(similarity[i]), 3)) for i in nearest)
        return Explanation(prediction, self._candidates(probabilities, 5), similar)
