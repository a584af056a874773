"""Questions about a reviewed model, the review queue that they head, and what the answers decide besides.

A person's assignments of utterances are answers to these questions, whether or not they were asked. The clusters of the
logs are computed again under them: an utterance that was moved takes the part of its intent around it along.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ensembles import cluster_ensemble, diffuse
from newfound.algorithms.neighbours import rank_descending
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


def state_of_answers(reviewed: ReviewedModel, logs: LogVotes) -> AnswerState | None:
    """Return what the decisions about a reviewed model say of its logs; None if no clustering of these divides them.

    Its rows are those of the votes, and its intents the positions in the reviewed model's names.
    """
    if not logs.votes:
        return None
    review, before = reviewed.review, reviewed.unmoved.assigned
    position = {name: i for i, name in enumerate(reviewed.names)}
    decided = {text: names[0] for text, names in review.assigned.items() if len(names) == 1}
    utterances = [before[i] for i in logs.rows.tolist()]
    undecidable = review.assigned.keys() - decided.keys()
    of_row = [-1 if u.text in undecidable else position.get(u.intent or "", -1) for u in utterances]
    fixed_intents = [position[name] for name in review.known | review.accepted]
    state = AnswerState(logs.vectors, logs.votes, torch.tensor(of_row), fixed=fixed_intents, cuts=logs.cuts)
    for row, u in enumerate(utterances):
        if u.text in decided and of_row[row] >= 0:
            state.assign(row, position[decided[u.text]])
    return state


def next_questions(state: AnswerState, count: int) -> Iterator[Question]:
    """Yield the next questions, in order, if the answers before each confirm what is assigned now."""
    for _ in range(count):
        question = next_question(state)
        if question is None or question.gain < MIN_CORRECTIONS_PER_QUESTION:
            return
        yield question
        state.answer(question, 0 if question.is_about is None else None)


def recluster(reviewed: ReviewedModel, corpus: Corpus) -> tuple[Corpus, int]:
    """Cluster the logs of a reviewed model again with the decisions as answers.

    Returns its utterances with the intents that follow, and how many have another intent than in the corpus.
    """
    assigned = reviewed.review.assigned
    if not any(len(assigned.get(u.text, ())) == 1 for u in reviewed.model.utterances if not u.labelled):
        return corpus, 0
    votes, texts = LogVotes(reviewed.model), [u.text for u in reviewed.model.utterances]
    state = state_of_answers(reviewed, votes)
    of_rows = [] if state is None else zip(votes.rows.tolist(), resolve_labels(state).tolist(), strict=True)
    intents = {texts[i]: reviewed.names[intent] for i, intent in of_rows if intent >= 0}
    labels = [
        label if origin.labelled or text in assigned else intents.get(text, label)
        for text, label, origin in zip(corpus.texts, corpus.labels, corpus.origins, strict=True)
    ]
    changed = sum(new != label for new, label in zip(labels, corpus.labels, strict=True))
    return Corpus.of(corpus.texts, labels, corpus.origins), changed


def order_queue(view: ReviewView, votes: LogVotes | None) -> tuple[dict[int, QueueItem], list[int]]:
    """Return the questions by their utterances, and all undecided utterances in the order of the review queue.

    Questions come first, the largest expected gain first, and then utterances whose intent is uncertain and differs
    from that of their neighbours. Until the votes are counted there are no questions.
    """
    if not view.undecided:
        return {}, []
    places, label = torch.tensor(view.undecided), view.describer.label
    # What was said of other utterances does not change that of these.
    entropy = view.reviewed.unmoved.utterance_entropy[places] / math.log(max(2, len(view.names)))
    agreement = (label[view.session.neighbours[places]] == label[places][:, None]).float().mean(1)
    undecided = set(view.undecided)
    questions = {item.id: item for item in _questions(view, votes) if item.id in undecided}
    others = places[rank_descending(entropy + (1 - agreement))].tolist()
    return questions, [*questions, *(i for i in others if i not in questions)]


def _questions(view: ReviewView, votes: LogVotes | None) -> Iterator[QueueItem]:
    """Yield the questions that are worth a person's time."""
    state = None if votes is None else state_of_answers(view.reviewed, votes)
    if votes is None or state is None:
        return
    for question in next_questions(state, MAX_QUESTIONS):
        about = None if question.is_about is None else view.names[question.is_about]
        more = {"stands_for": question.rows, "asks_about": about}
        yield queue_item(view, int(votes.rows[question.row]), question.intents, **more)


def queue_item(view: ReviewView, i: int, intents: Sequence[int] | None = None, **more: Any) -> QueueItem:
    """Return an utterance with the intents that it may belong to, by default the most probable ones."""
    probabilities, names = view.describer.probabilities[i], view.names
    shown = probabilities.topk(min(MAX_CANDIDATES, len(names))).indices.tolist() if intents is None else intents
    candidates = tuple((names[n], round(float(probabilities[n]), 4)) for n in shown)
    return view.describe_utterance(QueueItem, i, candidates=candidates, **more)
