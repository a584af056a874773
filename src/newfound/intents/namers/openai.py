"""Names from a language model, through any endpoint with the OpenAI chat protocol. It is used only on request.

The exemplars and keywords of the new intents and the names of all intents are sent to the endpoint, and nothing else.
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
MAX_MESSAGE_LENGTH = 300  # characters of an exemplar that are sent
PROMPT = """You name intents of a chatbot. Below are messages that users sent with one and the same intent.
Answer with a JSON object {{"name": "..."}} whose name says what these users want: an action and its object in English
snake_case, two to four words, such as cancel_booking. Do not use any of these names: {taken}

Keywords: {keywords}
Messages:
{messages}"""


class OpenAINamer:
    """Sends one request per new intent."""

    def __init__(self, settings: NamerSettings) -> None:
        """Check and store the settings."""
        check_url(settings.url)
        self._settings = settings

    def names(self, intents: Sequence[Intent], *, warn: Callable[[str], None]) -> list[str]:
        """Return one name for each intent, in order (see `Namer.names`)."""
        return ask_for_names(intents, self._settings.url, self._settings.model, note=warn)


def check_url(url: str) -> None:
    """Raise a `SettingsError` for an address that is not an HTTP address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SettingsError(f"namer {url}: give the address of an endpoint, as http://localhost:8000/v1")


def prompt_for(intent: Intent, taken: Sequence[str]) -> str:
    """Return the prompt for one intent; `taken` are names that must not be used."""
    messages = "\n".join(f"- {' '.join(text.split())[:MAX_MESSAGE_LENGTH]}" for text in intent.exemplars)
    return PROMPT.format(taken=", ".join(taken), keywords=", ".join(intent.keywords), messages=messages)


def ask_for_names(
    intents: Sequence[Intent], url: str, model: str, *, timeout: float = 30.0, note: Callable[[str], None] = print
) -> list[str]:
    """Return the names of all intents; those of new intents come from the language model.

    An intent keeps its name if the answer has no usable name. All further intents keep theirs if a request fails.

    Args:
        intents: The intents.
        url: The address of the endpoint.
        model: The model to ask for.
        timeout: Seconds to wait for each answer.
        note: Called with a message if a request fails.
    """
    check_url(url)
    names = [intent.name for intent in intents]
    for i, intent in enumerate(intents):
        if intent.known:
            continue
        taken = [name for j, name in enumerate(names) if j != i]
        try:
            answer = _ask(url, model, prompt_for(intent, taken), timeout)
        except (OSError, ValueError) as error:  # no connection, an HTTP error, or an answer that is not valid
            note(f"naming stopped ({error}); the other names stay as they are")
            break
        name = clean_name(answer)
        if name and name not in taken:
            names[i] = name
    return names


def clean_name(answer: str) -> str:
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
    return "_".join(words_of(name.replace("_", " ")))[:MAX_NAME_LENGTH].strip("_")


def _ask(url: str, model: str, prompt: str, timeout: float) -> str:
    """Send one prompt, and return the content of the answer."""
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
