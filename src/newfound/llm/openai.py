"""The OpenAI chat protocol, which llama.cpp, Ollama, vLLM and most services speak."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from newfound.llm.settings import LanguageModelSettings

MAX_REPLY_BYTES = 200_000
MAX_ERROR_BYTES = 4_000
MAX_REASON_LENGTH = 160  # characters
CHUNK_BYTES = 16_384
WORDS_FOR_NO_QUOTA = ("insufficient_quota", "billing")
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.S)  # of models that think aloud before they answer


class NoAnswer(Exception):
    """A request that was not answered; the reason is part of a line, without the key and without what was asked.

    Attributes:
        repeat: Whether it may be sent again.
        wait: Seconds that the endpoint asks to wait before that; None if it does not say.
        final: Whether every further request would fail too, for instance without a valid key.
    """

    def __init__(self, reason: str, *, repeat: bool = False, wait: float | None = None, final: bool = False) -> None:
        super().__init__(reason)
        self.repeat, self.wait, self.final = repeat, wait, final


class OpenAIChat:
    """Sends each prompt as the only message of a chat. Several threads may use it at the same time."""

    def __init__(self, settings: LanguageModelSettings) -> None:
        self._timeout, self._key = float(settings.timeout), settings.key()
        self._model = settings.model
        # Without these some models answer at random or without end; newer ones refuse them, and are asked without.
        self._optional: dict[str, Any] = {"temperature": 0, "max_tokens": settings.answer_tokens}
        self._url = chat_url(settings.url)
        self.address = urlunsplit((*urlsplit(self._url)[:3], "", ""))  # for messages: it holds no key
        # The key and the utterances go to the endpoint that the user named, and nowhere else.
        self._opener = urllib.request.build_opener(_NoRedirects)

    def complete(self, prompt: str) -> str:
        """Return the answer to a prompt, or raise `NoAnswer`."""
        deadline, optional = time.monotonic() + self._timeout, self._optional
        try:
            with self._opener.open(self._request(prompt, optional), timeout=self._timeout) as reply:
                content = _read(reply, deadline)
        except urllib.error.HTTPError as error:
            raise self._refusal(error, optional) from None
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(cause, TimeoutError):
                raise NoAnswer(f"it took longer than {self._timeout:g} seconds") from None
            problem = "the connection broke off" if cause is error else "it cannot be reached"
            raise NoAnswer(f"{problem}: {_plain(cause)}", repeat=True) from None
        return _content(content)

    def _request(self, prompt: str, optional: Mapping[str, Any]) -> urllib.request.Request:
        body = {"messages": [{"role": "user", "content": prompt}], **optional}
        if self._model:
            body["model"] = self._model
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "newfound"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return urllib.request.Request(self._url, json.dumps(body).encode(), headers)

    def _refusal(self, error: urllib.error.HTTPError, optional: Mapping[str, Any]) -> NoAnswer:
        """Return what an HTTP status other than 200 means for a request with these optional fields."""
        body = ""
        with error, suppress(OSError, http.client.HTTPException):
            body = error.read(MAX_ERROR_BYTES).decode("utf-8", "replace")
        code, message = error.code, _message_of(body)
        if code in (301, 302, 303, 307, 308):
            target = urlsplit(error.headers.get("Location", ""))
            return NoAnswer(f"it redirects to {target.scheme}://{target.hostname}; give that address", final=True)
        if code == 400 and (refused := [field for field in optional if field in body]):
            self._optional = {k: v for k, v in self._optional.items() if k not in refused}
            return NoAnswer(f"it does not know {refused[0]}", repeat=True)
        reason = f"HTTP {code}" + (f", {message}" if message else "")
        if code in (401, 402, 403, 404) or (code == 429 and any(word in body for word in WORDS_FOR_NO_QUOTA)):
            return NoAnswer(reason, final=True)
        repeat = code in (408, 425, 429) or code >= 500
        return NoAnswer(reason, repeat=repeat, wait=_seconds(error.headers.get("Retry-After")) if repeat else None)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def chat_url(url: str) -> str:
    """Return where chats are sent, from an address with or without a path, such as `/v1`, and a slash at its end."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = f"{path or '/v1'}/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _read(reply: Any, deadline: float) -> bytes:
    """Read a reply; one that is too long, too slow or cut off is an error."""
    content: bytes = b""
    while chunk := reply.read1(CHUNK_BYTES):
        content += chunk
        if len(content) > MAX_REPLY_BYTES:
            raise NoAnswer(f"its answer has more than {MAX_REPLY_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    if getattr(reply, "length", None):  # what was announced and never came
        raise http.client.IncompleteRead(content)
    return content


def _content(reply: bytes) -> str:
    """Return the text of the first choice, or raise `NoAnswer`."""
    try:
        content = json.loads(reply)["choices"][0]["message"]["content"]
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is not JSON") from None
    except (KeyError, IndexError, TypeError):
        message = _message_of(reply[:MAX_ERROR_BYTES].decode("utf-8", "replace"))
        raise NoAnswer(f"its answer is not a chat completion{f', {message}' if message else ''}") from None
    if not isinstance(content, str):
        raise NoAnswer("its answer is not a text")
    return THOUGHTS.sub("", content)


def _message_of(body: str) -> str:
    """Return the message of an error object, short and on one line; empty if there is none."""
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    message = error.get("message") if isinstance(error, dict) else error
    return _plain(message) if isinstance(message, str) else ""


def _plain(problem: object) -> str:
    """Return a problem on one line, without control characters."""
    text = str(getattr(problem, "strerror", None) or problem) or type(problem).__name__
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_REASON_LENGTH]


def _seconds(retry_after: str | None) -> float | None:
    """Return the seconds of a header `Retry-After`; None if it is missing or a date."""
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:
        return None
