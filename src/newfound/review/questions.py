"""Questions about a reviewed model: what heads the review queue, and what the answers decide besides.

A person's assignments of utterances are answers to these questions, whether or not they were asked. The clusters of the
logs are computed again under them: an utterance that was moved takes the part of its intent around it along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ensembles import cluster_ensemble, diffuse
from newfound.data.corpus import Corpus, Origin
from newfound.model.classifier import IntentModel
from newfound.questions.resolution import resolve_labels
from newfound.questions.selection import QuestionSelector
from newfound.questions.state import AnswerState, Question
from newfound.review.reviewed import ReviewedModel
from newfound.training.seeding import derive

RUNS_PER_VIEW = 3  # votes on each of the two views
MAX_UTTERANCES_ASKED_ABOUT = 10_000  # a random sample of larger logs
MIN_CORRECTIONS_PER_QUESTION = 0.5  # expected number of utterances, for a question to be worth a person's time
NEIGHBOURS = 10  # of each utterance, in the graph that its vector is diffused on


class LogVotes:
    """Votes on the logs of a model; they do not change with decisions."""

    def __init__(self, model: IntentModel) -> None:
        """Cluster the logs.

        Args:
            model: A model with its utterances.
        """
        utterances = model.utterances
        logs = torch.tensor([i for i, u in enumerate(utterances) if not u.labelled], dtype=torch.int64)
        if len(logs) > MAX_UTTERANCES_ASKED_ABOUT:
            generator = torch.Generator().manual_seed(derive(0, "rows asked about"))
            logs = logs[torch.randperm(len(logs), generator=generator)[:MAX_UTTERANCES_ASKED_ABOUT]].sort().values
        self.rows = logs
        points = F.normalize(model.utterance_vectors[logs].float(), dim=-1)
        self.vectors = diffuse(points, neighbours=NEIGHBOURS)
        k = min(len({utterances[i].intent for i in logs.tolist()}), len(logs))
        self.votes: list[Tensor] = []
        if k > 1:
            seeds = partial(derive, 0, "review vote")
            self.votes = cluster_ensemble(points, k, RUNS_PER_VIEW, seeds, neighbours=NEIGHBOURS)


class ReviewQuestions:
    """The questions about a reviewed model, and the intents of its logs under the decisions so far."""

    def __init__(self, reviewed: ReviewedModel, logs: LogVotes) -> None:
        """Apply the decisions so far as answers.

        Args:
            reviewed: The model with its decisions.
            logs: Votes on its logs.
        """
        review = reviewed.review
        number = {name: i for i, name in enumerate(reviewed.names)}
        before = ReviewedModel(
            reviewed.model, replace(review, moved={}, possible_parts={}), vectors_of=reviewed.vectors_of
        ).assigned
        decided = {text: name for text, name in review.moved.items() if name in number}
        undecidable = review.moved.keys() - decided.keys() | review.possible_parts.keys()
        kept = [
            j
            for j, i in enumerate(logs.rows.tolist())
            if before[i].intent in number and before[i].text not in undecidable
        ]
        self._names = reviewed.names
        self.rows = logs.rows[kept]  # numbers of the utterances
        self._state: AnswerState | None = None
        if logs.votes and kept:
            labels = torch.tensor([number[before[i].intent or ""] for i in self.rows.tolist()])
            settled = [number[name] for name in review.known | review.accepted]
            votes = [v[kept] for v in logs.votes]
            self._state = AnswerState(logs.vectors[kept], votes, labels, settled=settled)
            for row, i in enumerate(self.rows.tolist()):
                intent = decided.get(before[i].text)
                if intent is not None:
                    self._state.tell(row, number[intent])

    def labels(self) -> dict[int, str]:
        """Return the intent of each utterance of the logs that votes were cast on, by the utterance's number."""
        if self._state is None:
            return {}
        labels = resolve_labels(self._state).tolist()
        return {i: self._names[label] for i, label in zip(self.rows.tolist(), labels, strict=True)}

    def questions(self, count: int) -> list[Question]:
        """Return the next questions, in order, if the answers before each confirm what is assigned now.

        The numbers in a question are rows of `rows` and positions in the reviewed model's names. Each question
        is answered as it is returned, so this is called once.

        Args:
            count: Their number at most.
        """
        questions: list[Question] = []
        while self._state is not None and len(questions) < count:
            question = QuestionSelector(self._state).next()
            if question is None or question.gain < MIN_CORRECTIONS_PER_QUESTION:
                break
            questions.append(question)
            self._state.answer(question, 0 if question.is_about is None else None)
        return questions


def recluster(reviewed: ReviewedModel) -> tuple[Corpus, int]:
    """Return the corpus of a reviewed model in which the logs are clustered again with the decisions as answers.

    Args:
        reviewed: The model with its decisions.

    Returns:
        The corpus to train on, and the number of utterances that have another intent than before, besides those that
        a person moved.
    """
    corpus = reviewed.corpus()
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
    rows: Sequence[tuple[str, str | None, Origin]] = list(zip(corpus.texts, corpus.labels, corpus.origins, strict=True))
    for text, label, origin in rows:
        intent = label if origin.labelled or text in checked else intents.get(text, label)
        changed += intent != label
        labels.append(intent)
    return Corpus.of(corpus.texts, labels, corpus.origins), changed
