"""Questions about utterances in words, and who answers them: a person, a language model, or gold labels in a study.

Check questions are about utterances whose intent is certain; they measure which share of somebody's answers is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.neighbours import rank_descending
from newfound.questions.selection import MAX_CANDIDATES, MAX_EXAMPLES, next_question
from newfound.questions.state import AnswerState

MIN_ANSWER_PROBABILITY = 0.9  # of an answer that is taken
SHARE_WITHOUT_RIGHT_CANDIDATE = 1 / 6  # of the check questions


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """Which of some intents an utterance belongs to; each candidate is a few utterances that stand for an intent."""

    text: str
    candidates: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The position of the candidate that fits; None if none of them does."""

    choice: int | None


class Annotator(Protocol):
    """Answers questions about utterances."""

    @property
    def reliability(self) -> float | None:
        """The share of the answers that are right; None if it is to be measured on certain utterances.

        Below 1, an answer that would change something is made sure of by asking about further utterances, and is
        believed only if it is probably right.
        """

    def answer(self, question: PosedQuestion) -> Answer | None:
        """Return the answer; None if there is none, for instance since an endpoint does not respond."""


class Labeller(Protocol):
    """Gives short labels to utterances, such as `refund not received`."""

    def labels(self, texts: Sequence[str]) -> list[str | None]:
        """Return a label for each text, the most important of which come first; None where there is none."""


def measure_reliability(annotator: Annotator, checks: Sequence[tuple[PosedQuestion, Answer]]) -> float | None:
    """Return the share of right answers to check questions; None if none was answered.

    It is drawn a little towards one half, as if one more right and one more wrong answer had been seen.
    """
    answers = [(annotator.answer(question), right) for question, right in checks]
    is_right = [answer == right for answer, right in answers if answer is not None]
    return (sum(is_right) + 1) / (len(is_right) + 2) if is_right else None


def check_questions(
    texts: Sequence[str], x: Tensor, y: Tensor, count: int, *, seed: int
) -> list[tuple[PosedQuestion, Answer]]:
    """Return check questions, whose candidates are the intents nearest to each utterance, with the right answers.

    Labelled utterances are certain. Without enough of them, so are those on which all clusterings agree. There are no
    questions unless some intents have several rows.

    Args:
        texts: The texts of all rows, by row number.
        x: Vectors of unit length, [n, d].
        y: The intent of each row, [n] (CPU); -1 where it is not certain.
    """
    n_intents = int(y.max()) + 1 if len(y) else 0
    sizes = y[y >= 0].bincount(minlength=n_intents)
    usable = [int(i) for i in (sizes >= MAX_EXAMPLES).nonzero().squeeze(1)]
    if len(usable) < 2:
        return []
    rng = np.random.default_rng(seed)
    means = class_means(x, y.to(x.device), n_intents)[0]
    checks = []
    for intent in rng.permutation(usable)[:count].tolist():
        row = int(rng.permutation((y == intent).nonzero().squeeze(1).numpy())[0])
        others = [i for i in rank_descending(means @ x[row]).tolist() if i in usable and i != intent]
        shown = others[:MAX_CANDIDATES]
        if rng.random() >= SHARE_WITHOUT_RIGHT_CANDIDATE:
            shown = rng.permutation([intent, *others[: MAX_CANDIDATES - 1]]).tolist()
        rows = ([j for j in (y == i).nonzero().squeeze(1).tolist() if j != row] for i in shown)
        examples = (rng.permutation(own)[:MAX_EXAMPLES].tolist() for own in rows)
        question = PosedQuestion(texts[row], tuple(tuple(texts[j] for j in own) for own in examples))
        checks.append((question, Answer(shown.index(intent) if intent in shown else None)))
    return checks


def ask(
    state: AnswerState, texts: Sequence[str], annotator: Annotator, count: int, *, reliability: float, seed: int = 0
) -> int:
    """Ask questions one after another, each chosen after the answers before it; return how many were answered.

    Candidates are shown in a random order each time, so that somebody who always takes the first one says nothing.
    `texts` has those of all rows, and `reliability` is the share of the annotator's answers that are right.
    """
    rng = random.Random(seed)
    asked = answered = 0
    while asked < count and (question := next_question(state)) is not None:
        choices: list[int | None] = []
        for row in (question.row, *question.others):
            order = rng.sample(range(len(question.candidates)), len(question.candidates))
            shown = tuple(tuple(texts[j] for j in question.candidates[i]) for i in order)
            answer = annotator.answer(PosedQuestion(texts[row], shown)) if asked < count else None
            asked += 1
            if answer is None:
                state.skip(question)
                break
            answered += 1
            choices.append(None if answer.choice is None else order[answer.choice])
            likely = question.probabilities(choices, reliability)
            best = max(likely, key=lambda choice: likely[choice])
            if likely[best] >= MIN_ANSWER_PROBABILITY:
                state.answer(question, best)
                break
        else:
            state.skip(question)
    return answered
