"""Questions about utterances in words, and who answers them: a person, a language model, or gold labels in a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from newfound.algorithms.questions import Inquiry, Question


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """Which of some intents an utterance belongs to.

    Attributes:
        text: The utterance.
        candidates: For each intent a few utterances that stand for it.
    """

    text: str
    candidates: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The position of the candidate that fits; None if none of them does."""

    choice: int | None


class Answerer(Protocol):
    """Answers questions about utterances."""

    def answer(self, question: PosedQuestion) -> Answer | None:
        """Return the answer; None if there is none, for instance since an endpoint does not respond."""


def posed(question: Question, texts: Sequence[str]) -> PosedQuestion:
    """Return a question in words.

    Args:
        question: The question.
        texts: The texts of all rows.
    """
    return PosedQuestion(texts[question.row], tuple(tuple(texts[i] for i in rows) for rows in question.candidates))


def ask(inquiry: Inquiry, texts: Sequence[str], answerer: Answerer, count: int) -> int:
    """Ask questions one after another, each chosen after the answers before it; return how many were answered.

    Args:
        inquiry: Chooses the questions and takes the answers.
        texts: The texts of all rows.
        answerer: Answers.
        count: How many questions to ask at most.
    """
    answered = 0
    for _ in range(count):
        question = inquiry.next()
        if question is None:
            break
        answer = answerer.answer(posed(question, texts))
        if answer is None:
            inquiry.skip(question)
        else:
            inquiry.answer(question, answer.choice)
            answered += 1
    return answered
