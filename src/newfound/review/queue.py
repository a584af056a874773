"""The review queue: the utterances from the logs that most need a check, in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from newfound.algorithms.ranking import rank_descending
from newfound.review.questions import LogVotes, ReviewQuestions
from newfound.review.views import QueueItem

if TYPE_CHECKING:
    from newfound.review.queries import ReviewView

MAX_QUESTIONS = 50  # at the head of the queue
MAX_CANDIDATES = 4  # of an utterance that no question is about


@dataclass(frozen=True, slots=True)
class _Order:
    """What is computed once for a version.

    Attributes:
        questions: The utterances that stand for others and whose intent is in doubt, the largest expected gain first.
        rows: The other utterances, those first whose intent is uncertain and differs from that of their neighbours.
        agreement: The share of each utterance's nearest neighbours that have the same intent.
        has_votes: Whether the votes that questions come from were there.
    """

    questions: Sequence[QueueItem]
    rows: Sequence[int]
    agreement: Mapping[int, float]
    has_votes: bool


class ReviewQueue:
    """The queue of one version of the review. It is computed when it is first asked for, once for all who ask."""

    def __init__(self, view: ReviewView) -> None:
        """Take the view of a version."""
        self._view = view
        self._order: _Order | None = None
        self._lock = Lock()

    def first(self, count: int) -> list[QueueItem]:
        """Return the first utterances of the queue.

        Args:
            count: The number of utterances at most.
        """
        self._view.session.queue_is_used = True
        with self._lock:
            if self._order is None or not self._order.has_votes:
                votes = self._view.session.votes_now()
                if self._order is None or votes is not None:  # until the votes are counted there are no questions
                    self._order = self._compute(votes)
            order = self._order
        asked = list(order.questions[:count])
        return asked + [self._item(i, order.agreement[i]) for i in order.rows[: count - len(asked)]]

    def _compute(self, votes: LogVotes | None) -> _Order:
        describer, rows = self._view.describer, self._view.undecided
        if not rows:
            return _Order((), (), {}, True)
        p = describer.probabilities[rows].clamp(min=1e-9)
        entropy = -(p * p.log()).sum(1) / math.log(max(2, len(self._view.names)))
        label = describer.label
        agreement = (label[self._view.session.neighbours[rows]] == label[rows][:, None]).float().mean(1)
        doubt = entropy + (1 - agreement)
        agreed = {i: round(float(value), 2) for i, value in zip(rows, agreement, strict=True)}
        questions = [] if votes is None else [q for q in self._questions(votes, agreed) if q.id in agreed]
        asked = {item.id for item in questions}
        others = [rows[j] for j in rank_descending(doubt).tolist() if rows[j] not in asked]
        return _Order(questions, others, agreed, votes is not None)

    def _questions(self, votes: LogVotes, agreed: Mapping[int, float]) -> list[QueueItem]:
        """Return the questions that are worth a person's time.

        Args:
            votes: Votes on the logs.
            agreed: The share of neighbours with the same intent, for each utterance that may be asked about.
        """
        view = self._view
        questions = ReviewQuestions(view.reviewed, votes)
        items = []
        for question in questions.questions(MAX_QUESTIONS):
            i = int(questions.rows[question.row])
            probabilities = view.describer.probabilities[i]
            candidates = tuple((view.names[n], round(float(probabilities[n]), 4)) for n in question.intents)
            about = None if question.is_about is None else view.names[question.is_about]
            agreement, follow = agreed.get(i, 1.0), question.rows
            more = {"candidates": candidates, "agreement": agreement, "stands_for": follow, "asks_about": about}
            items.append(view.describe_utterance(QueueItem, i, **more))
        return items

    def _item(self, i: int, agreement: float) -> QueueItem:
        candidates = self._view.candidates(self._view.describer.probabilities[i], MAX_CANDIDATES)
        return self._view.describe_utterance(QueueItem, i, candidates=candidates, agreement=agreement)
