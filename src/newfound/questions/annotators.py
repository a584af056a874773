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
from newfound.algorithms.ranking import rank_descending
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


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A question to which the answer is known."""

    question: PosedQuestion
    choice: int | None


def measure_reliability(annotator: Annotator, checks: Sequence[CheckQuestion]) -> float | None:
    """Return the share of right answers to check questions; None if none was answered.

    It is drawn a little towards one half, as if one more right and one more wrong answer had been seen.
    """
    answers = [(annotator.answer(check.question), check.choice) for check in checks]
    right = [answer.choice == choice for answer, choice in answers if answer is not None]
    return (sum(right) + 1) / (len(right) + 2) if right else None


def check_questions(texts: Sequence[str], x: Tensor, y: Tensor, count: int, *, seed: int) -> list[CheckQuestion]:
    """Return check questions whose candidates are the intents nearest to each utterance.

    Labelled utterances are certain. Without enough of them, so are those on which all clusterings agree. There are no
    questions unless some intents have several rows.

    Args:
        texts: The texts of all rows, by row number.
        x: Vectors of unit length, [n, d].
        y: The intent of each row, [n] (CPU); -1 where it is not certain.
        count: The number of questions at most.
        seed: Same seed, same questions.
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
        examples = tuple(_examples(texts, y, i, row, rng) for i in shown)
        fits = shown.index(intent) if intent in shown else None
        checks.append(CheckQuestion(PosedQuestion(texts[row], examples), fits))
    return checks


def _examples(texts: Sequence[str], y: Tensor, intent: int, without: int, rng: np.random.Generator) -> tuple[str, ...]:
    rows = [i for i in (y == intent).nonzero().squeeze(1).tolist() if i != without]
    return tuple(texts[i] for i in rng.permutation(rows)[:MAX_EXAMPLES].tolist())


def ask(
    state: AnswerState, texts: Sequence[str], annotator: Annotator, count: int, *, reliability: float, seed: int = 0
) -> int:
    """Ask questions one after another, each chosen after the answers before it; return how many were answered.

    Candidates are shown in a random order each time, so that somebody who always takes the first one says nothing.
    `texts` has those of all rows, and `reliability` is the share of the annotator's answers that are right.
    """
    rng = random.Random(seed)
    asked = answered = 0
    while asked < count:
        question = next_question(state)
        if question is None:
            break
        choices: list[int | None] = []
        likely: dict[int | None, float] = {}
        for row in (question.row, *question.others):
            order = rng.sample(range(len(question.candidates)), len(question.candidates))
            shown = tuple(tuple(texts[j] for j in question.candidates[i]) for i in order)
            answer = annotator.answer(PosedQuestion(texts[row], shown)) if asked < count else None
            asked += 1
            if answer is None:
                break
            answered += 1
            choices.append(None if answer.choice is None else order[answer.choice])
            likely = question.probabilities(choices, reliability)
            if max(likely.values()) >= MIN_ANSWER_PROBABILITY:
                break
        if max(likely.values(), default=0.0) >= MIN_ANSWER_PROBABILITY:
            state.answer(question, max(likely, key=lambda choice: likely[choice]))
        else:
            state.skip(question)
    return answered
