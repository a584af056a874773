"""What a server may be asked for, and by whom."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from newfound.errors import SettingsError

MIN_TOKEN_LENGTH = 16


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Limits are per request unless they say otherwise."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    most_bytes: int = 4 * 2**20
    seconds_to_send: float = 10.0  # for the client, the whole request
    seconds_to_answer: float = 30.0
    most_waiting: int = 1_024  # texts in the queue, of all requests
    requests_per_second: float = 2_000.0  # of one client, on average
    burst: int = 4_000
    log_requests: bool = True  # a line each, without anything a user typed

    @property
    def is_local(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        if not self.is_local and self.token is None:
            raise SettingsError(f"host {self.host} can be reached by others; give a token, or use 127.0.0.1")


def read_token(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"token file {path}: cannot be read ({type(error).__name__})") from None
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError(
            f"token file {path}: needs at least {MIN_TOKEN_LENGTH} printable ASCII characters, for instance from "
            "`openssl rand -hex 24`"
        )
    return token
