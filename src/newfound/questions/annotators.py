"""Questions about utterances in words, and who answers them: a program of the user."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from newfound.questions.selection import next_question
from newfound.questions.state import AnswerState

MIN_ANSWER_PROBABILITY = 0.9  # of an answer that is taken


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
    def reliability(self) -> float:
        """The share of the answers that are right.

        Below 1, an answer that would change something is made sure of by asking about further utterances, and is
        believed only if it is probably right.
        """

    def answer(self, question: PosedQuestion) -> Answer | None:
        """Return the answer; None if there is none."""


def ask(state: AnswerState, texts: Sequence[str], annotator: Annotator, count: int, *, seed: int = 0) -> int:
    """Ask questions one after another, each chosen after the answers before it; return how many were answered.

    Candidates are shown in a random order each time, so that somebody who always takes the first one says nothing.
    `texts` has those of all rows.
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
            likely = question.probabilities(choices, annotator.reliability)
            best = max(likely, key=lambda choice: likely[choice])
            if likely[best] >= MIN_ANSWER_PROBABILITY:
                state.answer(question, best)
                break
        else:
            state.skip(question)
    return answered
