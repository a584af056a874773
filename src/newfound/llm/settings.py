"""Which language model is asked, and within which limits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from newfound.errors import SettingsError

KEY_VARIABLE = "NEWFOUND_LLM_KEY"
DEFAULT_REQUEST_BUDGET = 200
DEFAULT_TIMEOUT_SECONDS = 60.0
DEFAULT_RETRIES = 2
DEFAULT_CONCURRENT_REQUESTS = 4
DEFAULT_ANSWER_TOKENS = 1_000  # models that think aloud need hundreds before they answer


@dataclass(frozen=True, slots=True)
class LanguageModelSettings:
    """Which language model is asked, and within which limits.

    Attributes:
        url: The address of the endpoint, as http://localhost:8080 or https://example.org/v1.
        model: The model to ask for there; may be empty where the endpoint has only one.
        budget: How many requests may be sent in one run, repeated ones included. Remembered answers cost nothing.
        timeout: Seconds that one request may take.
        retries: How often a request is repeated if the endpoint is busy, fails or cannot be reached.
        transcript: A file that gets one JSON line for each request: what was asked and what was answered.
        redact: Mask e-mail addresses, card numbers, IBANs and telephone numbers in what is sent.
        remember: Keep answers in the user's cache, so that a repeated run need not ask again.
        at_once: How many requests may be under way at the same time.
        answer_tokens: The longest answer; small models that never stop need a lower limit to answer in time.
    """

    url: str
    model: str = ""
    budget: int = DEFAULT_REQUEST_BUDGET
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    retries: int = DEFAULT_RETRIES
    transcript: Path | None = None
    redact: bool = True
    remember: bool = True
    at_once: int = DEFAULT_CONCURRENT_REQUESTS
    answer_tokens: int = DEFAULT_ANSWER_TOKENS

    def check(self) -> None:
        _check_url(self.url)
        for name, least in (("budget", 0), ("retries", 0), ("at_once", 1), ("answer_tokens", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise SettingsError(f"language model: {name}={value!r} must be a whole number from {least}")
        if not isinstance(self.timeout, int | float) or not 0 < self.timeout < 86_400:
            raise SettingsError(f"language model: timeout={self.timeout!r} must be a number of seconds above 0")
        self.key()

    def key(self) -> str:
        """Return the key from the environment; empty if there is none. Errors never repeat it."""
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise SettingsError(f"{KEY_VARIABLE}: the key has characters that cannot be sent; is it complete?")
        return key


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (ValueError, AttributeError):
        parts, host = urlsplit(""), None
    if parts.username is not None:
        raise SettingsError(
            f"language model at {host}: put the key into the environment ({KEY_VARIABLE}), not into the address"
        )
    if not host or parts.scheme not in ("http", "https") or not url.isascii() or not url.isprintable() or " " in url:
        raise SettingsError(f"language model {url!r}: give the address of an endpoint, as http://localhost:8000/v1")
