"""The settings of a server: where it listens, whom it answers, and its limits."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from newfound import defaults
from newfound.defaults import Precision
from newfound.encoders.precision import check_precision
from newfound.errors import SettingsError
from newfound.llm.settings import LanguageModelSettings

MIN_TOKEN_LENGTH = 16
MAX_NAME_LENGTH = 200
SECONDS_BETWEEN_NEWS = 2.5
TOKEN_HINT = (
    f"needs at least {MIN_TOKEN_LENGTH} printable ASCII characters without a space, for instance from "
    "`openssl rand -hex 24`"
)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where a server listens, whom it answers, and its limits.

    Attributes:
        host: The address to listen on. An address that other machines can reach needs a token.
        port: The port to listen on; 0 takes a free one.
        token: The secret that every request must carry, or one secret for each person, by the person's name.
        behind_proxy: Whether a reverse proxy stands before the server. Only then are `X-Forwarded-Proto` and the last
            address in `X-Forwarded-For` believed.
        llm: The language model that discoveries, updates and refits may ask. No request can name another one.
        precision: fp32, or int8: faster on a CPU, with probabilities that differ a little.
        log_requests: Whether to log one line per request. It holds nothing that a user typed.
        max_bytes: The largest request body.
        max_waiting_texts: How many texts may wait for the model, in all requests together.
        max_queued: How many evaluations, checks and estimates may wait or run, of all clients together.
        max_queued_per_client: How many of them may be of one client.
        max_results: How many results of jobs stay beside the model.
        max_connections_per_client: How many connections one address may hold open.
        seconds_for_headers: How long a client may take to send the headers of a request.
        seconds_to_send: How long a client may take to send the body of a request.
        seconds_to_answer: How long a prediction may take.
        seconds_to_read: A client that reads almost nothing of an answer for this long is disconnected.
        seconds_of_session: A login ends after this long without a request.
        seconds_between_news: How often an open page asks what other reviewers have decided.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | Mapping[str, str] | None = field(default=None, repr=False)
    behind_proxy: bool = False
    llm: LanguageModelSettings | None = None
    precision: Precision = defaults.PRECISION
    log_requests: bool = True
    max_bytes: int = 4 * 2**20
    max_waiting_texts: int = 1_024
    max_queued: int = 16
    max_queued_per_client: int = 4
    max_results: int = 10
    max_connections_per_client: int = 256
    seconds_for_headers: float = 10.0
    seconds_to_send: float = 10.0
    seconds_to_answer: float = 30.0
    seconds_to_read: float = 30.0
    seconds_of_session: float = 12 * 3600.0
    seconds_between_news: float = SECONDS_BETWEEN_NEWS

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """Raise a `SettingsError` if others could use it without a token, or the settings cannot work."""
        check_precision(self.precision)
        if self.llm is not None:
            self.llm.check()
        for name in ("max_queued", "max_queued_per_client", "max_results"):
            if type(value := getattr(self, name)) is not int or value < 1:
                raise SettingsError(f"{name}={value!r} must be a whole number from 1")
        if not self.is_local and not self.token:
            raise SettingsError(f"host {self.host} can be reached by others", "token", "local")


def read_token(path: Path) -> str | dict[str, str]:
    """Read a token file: one secret, or one line `name: secret` for each person, returned by the names."""
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"token file {path}: cannot be read ({type(error).__name__})") from None
    if len(content.split()) > 1:
        return _read_personal_tokens(path, content)
    secret = content.strip()
    if not _is_secret(secret):
        raise SettingsError(f"token file {path}: {TOKEN_HINT}")
    return secret


def _read_personal_tokens(path: Path, content: str) -> dict[str, str]:
    """Read lines `name: secret`. Errors name the line and never repeat a secret."""
    tokens: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        place = f"token file {path}, line {number}"
        name, separator, secret = (part.strip() for part in line.partition(": "))
        if not separator or not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise SettingsError(f"{place}: write it as `name: secret`")
        if not _is_secret(secret):
            raise SettingsError(f"{place}: the secret {TOKEN_HINT}")
        if name in tokens:
            raise SettingsError(f"{place}: the name {name} occurs twice")
        if secret in tokens.values():
            raise SettingsError(f"{place}: the secret is somebody else's as well")
        tokens[name] = secret
    return tokens


def _is_secret(text: str) -> bool:
    return len(text) >= MIN_TOKEN_LENGTH and text.isascii() and text.isprintable() and " " not in text
