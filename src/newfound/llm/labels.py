"""A short intent label for each utterance, such as `refund not received`: several utterances to a request."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from newfound.llm.asking import LanguageModel, message_of

PURPOSE = "labels of utterances"
UTTERANCES_PER_REQUEST = 10
SHARE_OF_BUDGET = 0.2  # in a fit, so that requests are left for the names
MAX_LABEL_WORDS = 8
MAX_LABEL_LENGTH = 80  # characters
PROMPT = """Below are numbered messages to a chatbot. Say for each in two to five English words what its sender wants,
as in: refund not received. Use the same words for messages that want the same.
Answer with one JSON object from number to words, {{"1": "...", "2": "..."}}, and nothing else.

{messages}"""
NUMBERED_LINE = re.compile(r"^\W*(\d{1,3})\W+(.*)$")


def short_labels(texts: Sequence[str], llm: LanguageModel, *, share: float = 1.0) -> list[str | None]:
    """Return a short intent label for each text; None where there is no usable answer.

    The most important texts come first: a share of the budget may not suffice for all. More are not sent even where
    remembered answers cost nothing, so that a repeated run has no more labels.
    """
    calls = int(llm.settings.budget * share)
    sent = texts[: min(calls, llm.calls_left) * UTTERANCES_PER_REQUEST]
    messages = [message_of(text, masked=llm.settings.redact) for text in sent]
    distinct = list(dict.fromkeys(messages))
    batches = [distinct[i : i + UTTERANCES_PER_REQUEST] for i in range(0, len(distinct), UTTERANCES_PER_REQUEST)]
    # After a colon, a number at the start of a message is not taken for a part of the message's own number.
    numbered = ["\n".join(f"{number}: {message}" for number, message in enumerate(own, 1)) for own in batches]
    answers = llm.ask_many([PROMPT.format(messages=lines) for lines in numbered], purpose=PURPOSE, calls=calls)
    labels: dict[str, str | None] = {}
    for own, answer in zip(batches, answers, strict=True):
        by_number = _parse_labels(answer or "", len(own))
        labels.update({message: by_number.get(number) for number, message in enumerate(own, 1)})
    return [*(labels[message] for message in messages), *([None] * (len(texts) - len(sent)))]


def _parse_labels(answer: str, count: int) -> dict[int, str]:
    """Return the labels in an answer by number; what is not usable is left out."""
    numbered = filter(None, map(NUMBERED_LINE.match, answer.splitlines()))
    pairs = _from_json(answer) or [(match[1], match[2]) for match in numbered]
    labels: dict[int, str] = {}
    for number, value in pairs:
        label = _clean(value)
        if label and number.isdecimal() and 1 <= int(number) <= count:
            labels.setdefault(int(number), label)
    return labels


def _from_json(answer: str) -> list[tuple[str, object]]:
    """Return the pairs of the JSON object in an answer; none without such an object."""
    try:
        value = json.loads(answer[answer.find("{") : answer.rfind("}") + 1])
    except (ValueError, RecursionError):
        return []
    return list(value.items()) if isinstance(value, dict) else []


def _clean(value: object) -> str:
    """Return a label as a few words in lower case; empty if it is none."""
    if not isinstance(value, str):
        return ""
    words = value.replace("_", " ").strip(" \t\r\n\"'`.,;:*-").lower().split()
    label = " ".join(words)
    usable = 0 < len(words) <= MAX_LABEL_WORDS and len(label) <= MAX_LABEL_LENGTH and label.isprintable()
    return label if usable and any(character.isalpha() for character in label) else ""
