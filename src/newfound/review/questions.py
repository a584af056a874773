"""Questions about a reviewed model, the review queue that they head, and what the answers decide besides.

A person's assignments of utterances are answers to these questions, whether or not they were asked. The clusters of the
logs are computed again under them: an utterance that was moved takes the part of its intent around it along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ensembles import cluster_ensemble, diffuse
from newfound.algorithms.ranking import rank_descending
from newfound.data.corpus import Corpus
from newfound.model.classifier import IntentModel
from newfound.questions.selection import next_question
from newfound.questions.state import AnswerState, Question, resolve_labels
from newfound.review.reviewed import ReviewedModel
from newfound.review.views import QueueItem
from newfound.training.seeding import derive

if TYPE_CHECKING:
    from newfound.review.queries import ReviewView

RUNS_PER_VIEW = 3  # votes on each of the two views
MAX_UTTERANCES_ASKED_ABOUT = 10_000  # a random sample of larger logs
MIN_CORRECTIONS_PER_QUESTION = 0.5  # expected number of utterances, for a question to be worth a person's time
MAX_QUESTIONS = 25  # at the head of the queue; the page asks again before they are answered
MAX_CANDIDATES = 4  # of an utterance that no question is about
NEIGHBOURS = 10  # of each utterance, in the graph that its vector is diffused on


class LogVotes:
    """Clusterings of the logs of a model, as votes; they do not change with decisions."""

    def __init__(self, model: IntentModel) -> None:
        utterances = model.utterances
        logs = torch.tensor([i for i, u in enumerate(utterances) if not u.labelled], dtype=torch.int64)
        if len(logs) > MAX_UTTERANCES_ASKED_ABOUT:
            generator = torch.Generator().manual_seed(derive(0, "rows asked about"))
            logs = logs[torch.randperm(len(logs), generator=generator)[:MAX_UTTERANCES_ASKED_ABOUT]].sort().values
        self.rows = logs
        points = F.normalize(model.utterance_vectors[logs].float(), dim=-1)
        self.vectors = diffuse(points, neighbours=NEIGHBOURS)
        self.cuts: dict[bytes, Tensor] = {}  # of these vectors, for all versions of the review
        k = min(len({utterances[i].intent for i in logs.tolist()}), len(logs))
        self.votes: list[Tensor] = []
        if k > 1:
            seeds = partial(derive, 0, "review vote")
            self.votes = cluster_ensemble(points, k, RUNS_PER_VIEW, seeds, neighbours=NEIGHBOURS)


class ReviewQuestions:
    """The questions about a reviewed model, and the intents of its logs under the decisions so far."""

    def __init__(self, reviewed: ReviewedModel, logs: LogVotes) -> None:
        review = reviewed.review
        number = {name: i for i, name in enumerate(reviewed.names)}
        before = reviewed.unmoved.assigned
        decided = {text: name for text, name in review.moved.items() if name in number}
        undecidable = review.moved.keys() - decided.keys() | review.possible_parts.keys()
        rows = logs.rows.tolist()
        of_row = [-1 if before[i].text in undecidable else number.get(before[i].intent or "", -1) for i in rows]
        self._names = reviewed.names
        self.rows = logs.rows  # numbers of the utterances
        self._state: AnswerState | None = None
        if logs.votes and max(of_row) >= 0:
            fixed_intents = [number[name] for name in review.known | review.accepted]
            labels = torch.tensor(of_row)
            self._state = AnswerState(logs.vectors, logs.votes, labels, settled=fixed_intents, cuts=logs.cuts)
            for row, i in enumerate(rows):
                intent = decided.get(before[i].text)
                if intent is not None and of_row[row] >= 0:
                    self._state.tell(row, number[intent])

    def labels(self) -> dict[int, str]:
        """Return the intent of each utterance of the logs that votes were cast on, by the utterance's number."""
        if self._state is None:
            return {}
        labels = resolve_labels(self._state).tolist()
        return {i: self._names[label] for i, label in zip(self.rows.tolist(), labels, strict=True) if label >= 0}

    def questions(self, count: int) -> list[Question]:
        """Return the next questions, in order, if the answers before each confirm what is assigned now.

        The numbers in a question are rows of `rows` and positions in the reviewed model's names. Each question is
        answered as it is returned, so this is called once.
        """
        questions: list[Question] = []
        while self._state is not None and len(questions) < count:
            question = next_question(self._state)
            if question is None or question.gain < MIN_CORRECTIONS_PER_QUESTION:
                break
            questions.append(question)
            self._state.answer(question, 0 if question.is_about is None else None)
        return questions


def recluster(reviewed: ReviewedModel, corpus: Corpus) -> tuple[Corpus, int]:
    """Cluster the logs of a reviewed model again with the decisions as answers.

    Returns its utterances with the intents that follow, and how many have another intent than in the corpus.
    """
    moved = [text for text, name in reviewed.review.moved.items() if name is not None]
    logs = {u.text for u in reviewed.model.utterances if not u.labelled}
    if not any(text in logs for text in moved):
        return corpus, 0
    questions = ReviewQuestions(reviewed, LogVotes(reviewed.model))
    texts = [u.text for u in reviewed.model.utterances]
    intents = {texts[i]: name for i, name in questions.labels().items()}
    return _relabel(corpus, intents, reviewed.review.checked)


def _relabel(corpus: Corpus, intents: dict[str, str], checked: set[str]) -> tuple[Corpus, int]:
    """Return the corpus with these intents of unlabelled texts, and how many of them have changed."""
    labels: list[str | None] = []
    changed = 0
    for text, label, origin in zip(corpus.texts, corpus.labels, corpus.origins, strict=True):
        intent = label if origin.labelled or text in checked else intents.get(text, label)
        changed += intent != label
        labels.append(intent)
    return Corpus.of(corpus.texts, labels, corpus.origins), changed


@dataclass(frozen=True, slots=True)
class _Order:
    """The utterances in their order, computed once for a version."""

    questions: Sequence[QueueItem]  # what stands for others and is in doubt, the largest expected gain first
    rows: Sequence[int]  # the others, first those whose intent is uncertain and differs from that of their neighbours
    has_votes: bool  # whether the votes that questions come from were there


class ReviewQueue:
    """The queue of one version of the review. It is computed when it is first asked for, once for all who ask."""

    def __init__(self, view: ReviewView) -> None:
        self._view = view
        self._order: _Order | None = None
        self._lock = Lock()

    def first(self, count: int, shown: int | None = None) -> list[QueueItem]:
        """Return the first utterances of the queue; before them the one that a person reads, if it is undecided."""
        with self._lock:
            if self._order is None or not self._order.has_votes:
                votes = self._view.session.votes_now()
                if self._order is None or votes is not None:  # until the votes are counted there are no questions
                    self._order = self._compute(votes)
            order = self._order
        asked = list(order.questions[:count])
        items = asked + [self._item(i) for i in order.rows[: count - len(asked)]]
        present = [item for item in order.questions if item.id == shown]
        if not present and shown is not None and shown in self._view.undecided:
            present = [self._item(shown)]
        return present + [item for item in items if item.id != shown][: count - len(present)]

    def _compute(self, votes: LogVotes | None) -> _Order:
        describer, rows = self._view.describer, self._view.undecided
        if not rows:
            return _Order((), (), True)
        places, label = torch.tensor(rows), describer.label
        # What was said of other utterances does not change that of these.
        entropy = self._view.reviewed.unmoved.utterance_entropy[places] / math.log(max(2, len(self._view.names)))
        agreement = (label[self._view.session.neighbours[places]] == label[places][:, None]).float().mean(1)
        undecided = set(rows)
        questions = [] if votes is None else [q for q in self._questions(votes) if q.id in undecided]
        asked = {item.id for item in questions}
        others = places[rank_descending(entropy + (1 - agreement))].tolist()
        return _Order(questions, [i for i in others if i not in asked], votes is not None)

    def _questions(self, votes: LogVotes) -> list[QueueItem]:
        """Return the questions that are worth a person's time."""
        view = self._view
        questions = ReviewQuestions(view.reviewed, votes)
        items = []
        for question in questions.questions(MAX_QUESTIONS):
            i = int(questions.rows[question.row])
            probabilities = view.describer.probabilities[i]
            candidates = tuple((view.names[n], round(float(probabilities[n]), 4)) for n in question.intents)
            about = None if question.is_about is None else view.names[question.is_about]
            more = {"candidates": candidates, "stands_for": question.rows, "asks_about": about}
            items.append(view.describe_utterance(QueueItem, i, **more))
        return items

    def _item(self, i: int) -> QueueItem:
        candidates = self._view.candidates(self._view.describer.probabilities[i], MAX_CANDIDATES)
        return self._view.describe_utterance(QueueItem, i, candidates=candidates)
