"""Names from a language model, behind any endpoint that speaks the OpenAI chat protocol. Off unless asked for.

Exemplars and keywords of the new intents are sent to the endpoint, and the names of all intents; nothing else is.
"""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from newfound.errors import SettingsError
from newfound.intents.namers import NamerSettings
from newfound.intents.naming import MAX_NAME_LENGTH
from newfound.model.types import Intent
from newfound.text import words_of

KEY_VARIABLE = "NEWFOUND_NAMER_KEY"
MAX_ANSWER_BYTES = 100_000
PROMPT = """You name intents of a chatbot. Below are messages that users sent with one and the same intent.
Answer with a JSON object {{"name": "..."}} whose name says what these users want: an action and its object in English
snake_case, two to four words, such as cancel_booking. Do not use any of these names: {taken}

Keywords: {keywords}
Messages:
{messages}"""


class OpenAINamer:
    """Asks one question per new intent."""

    def __init__(self, settings: NamerSettings) -> None:
        check_url(settings.url)
        self._settings = settings

    def names(self, intents: Sequence[Intent], *, warn: Callable[[str], None]) -> list[str]:
        return ask_for_names(intents, self._settings.url, self._settings.model, note=warn)


def check_url(url: str) -> None:
    """Refuse what is not the address of an endpoint."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SettingsError(f"namer {url}: give the address of an endpoint, as http://localhost:8000/v1")


def prompt_for(intent: Intent, taken: Sequence[str]) -> str:
    messages = "\n".join(f"- {' '.join(text.split())[:300]}" for text in intent.exemplars)
    return PROMPT.format(taken=", ".join(taken), keywords=", ".join(intent.keywords), messages=messages)


def ask_for_names(
    intents: Sequence[Intent], url: str, model: str, *, timeout: float = 30.0, note: Callable[[str], None] = print
) -> list[str]:
    """The names of all intents, those of new ones from the language model; where it fails, the name stays."""
    check_url(url)
    names = [intent.name for intent in intents]
    for i, intent in enumerate(intents):
        if intent.known:
            continue
        taken = [name for j, name in enumerate(names) if j != i]
        try:
            answer = _ask(url, model, prompt_for(intent, taken), timeout)
        except (OSError, ValueError) as error:  # no connection, a refusal, an answer that is none
            note(f"naming stopped ({error}); the other names stay as they are")
            break
        name = clean_name(answer)
        if name and name not in taken:
            names[i] = name
    return names


def clean_name(answer: str) -> str:
    """A snake_case name out of an answer: the JSON object that was asked for, or else its only short line."""
    found = re.search(r"\{.*?\}", answer, re.S)
    try:
        wanted = json.loads(found.group())["name"] if found else answer
    except (ValueError, KeyError, TypeError):
        return ""
    if not isinstance(wanted, str) or len(wanted) > 2 * MAX_NAME_LENGTH or "\n" in wanted.strip():
        return ""
    return "_".join(words_of(wanted.replace("_", " ")))[:MAX_NAME_LENGTH].strip("_")


def _ask(url: str, model: str, prompt: str, timeout: float) -> str:
    body = {"model": model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}
    headers = {"Content-Type": "application/json"}
    if os.environ.get(KEY_VARIABLE):
        headers["Authorization"] = f"Bearer {os.environ[KEY_VARIABLE]}"
    request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        answer = json.loads(reply.read(MAX_ANSWER_BYTES))
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise ValueError("the endpoint's answer is not a chat completion") from None
    return content if isinstance(content, str) else ""
