"""A language model answers the questions about doubtful utterances, and gives short labels; both within a share of its
budget, so that calls are left for the names.

Sent are the utterance that is asked about and up to three utterances of each of up to five intents, or the utterances
to be labelled; what is recognised as personal is masked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from newfound.llm.asking import LanguageModel, message_of
from newfound.llm.labels import UTTERANCES_PER_REQUEST, short_labels
from newfound.questions.annotators import Answer, PosedQuestion

PURPOSE = "which intent fits"
SHARE_FOR_QUESTIONS = 0.6  # of the budget
SHARE_FOR_LABELS = 0.2
MAX_ANSWER_LENGTH = 400  # characters; a longer answer is no answer to this question
PROMPT = """Users of a chatbot wrote the messages below. The messages of a group ask for the same thing.

{groups}

Another user wrote: {text}

Which group asks for the same thing as this message? Answer with one JSON object {{"group": N}}, where N is the number
of the group, or 0 if the message asks for something else than every group."""
NUMBER_IN_JSON = re.compile(r'"group"\s*:\s*"?(-?\d+)')
NUMBER_ALONE = re.compile(r"^\W*(?:group\s*)?(\d+)\W*$", re.IGNORECASE)


class ModelAnnotator:
    """Answers questions with a language model, within a share of its budget."""

    reliability: float | None = None  # measured on known intents

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self._calls_left = int(llm.settings.budget * SHARE_FOR_QUESTIONS)

    def answer(self, question: PosedQuestion) -> Answer | None:
        """Return the answer; None if there is none that can be used, or if the share of the budget is spent."""
        if self._calls_left <= 0:
            return None
        before = self._llm.calls
        prompt = prompt_for(question, masked=self._llm.settings.redact)
        answer = self._llm.ask(prompt, purpose=PURPOSE, calls=self._calls_left)
        self._calls_left -= self._llm.calls - before
        return None if answer is None else parse_answer(answer, len(question.candidates))


def prompt_for(question: PosedQuestion, *, masked: bool = True) -> str:
    """Return the prompt for a question, whose candidates become numbered groups."""
    groups = "\n\n".join(
        f"Group {number}:\n" + "\n".join(f"- {message_of(text, masked=masked)}" for text in texts)
        for number, texts in enumerate(question.candidates, 1)
    )
    return PROMPT.format(groups=groups, text=message_of(question.text, masked=masked))


def parse_answer(answer: str, candidates: int) -> Answer | None:
    """Return the choice in an answer; None if there is none, or one that is not among so many candidates."""
    short = answer.strip()
    match = NUMBER_IN_JSON.search(short) or NUMBER_ALONE.match(short)
    if match is None or len(short) > MAX_ANSWER_LENGTH:
        return None
    number = int(match.group(1)[:6])
    if not 0 <= number <= candidates:
        return None
    return Answer(None if number == 0 else number - 1)


class ModelLabeller:
    """Gives short labels to utterances with a language model, within a share of its budget."""

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self._calls_left = int(llm.settings.budget * SHARE_FOR_LABELS)

    def labels(self, texts: Sequence[str]) -> list[str | None]:
        """Return a short label for each of the first texts, as many as the share of the budget allows, then None."""
        before = self._llm.calls
        # More texts are not sent even where remembered answers cost nothing, so that a repeated run has no more labels.
        sent = texts[: max(0, min(self._calls_left, self._llm.calls_left)) * UTTERANCES_PER_REQUEST]
        labels = short_labels(sent, self._llm, calls=self._calls_left) if sent else []
        self._calls_left -= self._llm.calls - before
        return [*labels, *([None] * (len(texts) - len(sent)))]
