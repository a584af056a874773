"""Asks a language model for names: a prompt for each new intent, and what is done with the answers.

Central utterances and keywords of the new intents are sent, with the names and two central utterances of the intents
that are most like each; words of a masked address are in none of them. An answer that is no name is not used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from newfound.intents.naming import MAX_NAME_LENGTH, MAX_WORDS, Namer, NamingFacts
from newfound.intents.phrases import NEGATIONS, base_of
from newfound.llm.asking import LanguageModel, message_of
from newfound.model.types import Intent
from newfound.text import words_of

MAX_MESSAGES_OF_SIMILAR = 2
EXAMPLE_IN_PROMPT = "cancel_booking"
PROMPT = """You name intents of a chatbot. Below are messages that users sent with one and the same intent.
Answer with a JSON object {{"name": "..."}} whose name says what these users want: an action and its object in English
snake_case, two to four words, such as cancel_booking. The name must tell the intent from these similar ones:
{similar}

Keywords: {keywords}
Messages:
{messages}"""


def prompt_for(facts: NamingFacts, *, masked: bool = True) -> str:
    """Return the prompt for one intent, with those that are most like it."""
    intent = facts.intent

    def messages(of: Intent) -> list[str]:
        return [message_of(text, masked=masked) for text in of.exemplars]

    def describe(other: Intent) -> str:
        name, examples = _name_to_send(other) if masked else other.name, messages(other)[:MAX_MESSAGES_OF_SIMILAR]
        return "- " + ": ".join(filter(None, (name, " / ".join(examples))))

    sent = _words_sent(intent) if masked else set(intent.keywords)
    return PROMPT.format(
        similar="\n".join(map(describe, facts.similar)) or "- none",
        # Keywords were made of texts as they are: of `ana.schmidt@example.org` come `ana`, `schmidt` and `example`.
        keywords=", ".join(word for word in intent.keywords if word in sent),
        messages="\n".join(f"- {message}" for message in messages(intent)),
    )


def ask_for_names(facts: Sequence[NamingFacts], llm: LanguageModel) -> Namer:
    """Ask for the names of all these intents, several at once, and return the namer that has the answers."""
    prompts = [prompt_for(of, masked=llm.settings.redact) for of in facts]
    answers = zip(facts, llm.ask(prompts), strict=True)
    names = {of.intent.name: clean_name(answer or "", of.intent) for of, answer in answers}
    return lambda of: names.get(of.intent.name)


def clean_name(answer: str, intent: Intent) -> str:
    """Return the snake_case name in an answer; empty if there is none.

    The name is in the JSON object that was asked for, or the answer is a single short line.
    """
    json_object = re.search(r"\{.*?\}", answer, re.S)
    try:
        name = json.loads(json_object.group())["name"] if json_object else answer
    except (ValueError, KeyError, TypeError):
        return ""
    if not isinstance(name, str) or len(name) > 2 * MAX_NAME_LENGTH or "\n" in name.strip():
        return ""
    words = _words_of_name(name)
    name = "_".join(words)
    if not words or len(words) > MAX_WORDS or len(name) > MAX_NAME_LENGTH or all(word.isdigit() for word in words):
        return ""
    # Small models repeat the example of the prompt.
    return "" if name == EXAMPLE_IN_PROMPT and not _words_said(intent) & set(words) else name


def _name_to_send(intent: Intent) -> str:
    """Return the name of an intent without words that may be of an address; empty if no word is left.

    A person gave or accepted the names of known and accepted intents: these lose only words that are masked in their
    exemplars. Names of new intents may have words of any utterance, and keep those that the masked exemplars have too.
    """
    sent, words = _words_sent(intent), _words_of_name(intent.name)
    if intent.status != "new":
        masked = _words_said(intent) - sent
        is_changed = masked & set(words)
        return "_".join(word for word in words if word not in masked) if is_changed else intent.name
    bases = {base_of(word) for word in sent}
    return "_".join(word for word in words if base_of(word) in bases or word in NEGATIONS)


def _words_of_name(name: str) -> list[str]:
    return words_of(name.replace("_", " "))


def _words_said(intent: Intent) -> set[str]:
    return {word for text in intent.exemplars for word in words_of(text)}


def _words_sent(intent: Intent) -> set[str]:
    return {word for text in intent.exemplars for word in words_of(message_of(text, masked=True))}
