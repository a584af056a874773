"""Questions about utterances in words, and who answers them: a person, a language model, or gold labels in a study."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from newfound.questions.selection import QuestionSelector
from newfound.questions.state import AnswerState, Question

MIN_ANSWER_PROBABILITY = 0.9  # of an answer that is taken


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """Which of some intents an utterance belongs to.

    Attributes:
        text: The utterance that is asked about.
        candidates: For each intent a few utterances that stand for it.
    """

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


def pose_question(question: Question, texts: Sequence[str]) -> PosedQuestion:
    """Return a question with texts in place of row numbers.

    Args:
        question: Names rows by their numbers.
        texts: The texts of all rows, by row number.
    """
    return PosedQuestion(texts[question.row], tuple(tuple(texts[i] for i in rows) for rows in question.candidates))


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A question to which the answer is known."""

    question: PosedQuestion
    choice: int | None


def measure_reliability(annotator: Annotator, checks: Sequence[CheckQuestion]) -> float | None:
    """Return the share of right answers to check questions; None if none was answered.

    It is drawn a little towards one half, as if one more right and one more wrong answer had been seen.

    Args:
        annotator: Answers.
        checks: Questions to which the answers are known.
    """
    answers = [(annotator.answer(check.question), check.choice) for check in checks]
    right = [answer.choice == choice for answer, choice in answers if answer is not None]
    return (sum(right) + 1) / (len(right) + 2) if right else None


def ask(
    state: AnswerState, texts: Sequence[str], annotator: Annotator, count: int, *, reliability: float, seed: int = 0
) -> int:
    """Ask questions one after another, each chosen after the answers before it; return how many were answered.

    Candidates are shown in a random order each time, so that somebody who always takes the first one says nothing.

    Args:
        state: Takes the answers.
        texts: The texts of all rows, by row number.
        annotator: The person or language model that answers.
        count: How many questions to ask at most.
        reliability: The share of the answers that are right.
        seed: Chooses the order of the candidates in each question.
    """
    rng, selector = random.Random(seed), QuestionSelector(state)
    asked = answered = 0
    while asked < count:
        question = selector.next()
        if question is None:
            break
        choices: list[int | None] = []
        likely: dict[int | None, float] = {}
        for row in (question.row, *question.others):
            order = rng.sample(range(len(question.candidates)), len(question.candidates))
            shown = replace(question, row=row, candidates=tuple(question.candidates[i] for i in order))
            answer = annotator.answer(pose_question(shown, texts)) if asked < count else None
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
