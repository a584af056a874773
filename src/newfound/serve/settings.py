"""The settings of a server: where it listens, whom it answers, and how."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from newfound.errors import SettingsError
from newfound.llm.settings import LanguageModelSettings

MIN_TOKEN_LENGTH = 16
MAX_NAME_LENGTH = 200
MAX_BYTES = 4 * 2**20  # of the body of a request


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where a server listens, whom it answers, and how.

    Attributes:
        host: The address to listen on. An address that other machines can reach needs a token.
        port: The port to listen on; 0 takes a free one.
        token: The secret that every request must carry, or one secret for each person, by the person's name.
        behind_proxy: Whether a reverse proxy stands before the server. Only then are `X-Forwarded-Proto` and the last
            address in `X-Forwarded-For` believed.
        llm: The language model that discoveries, updates and refits may ask. No request can name another one.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | Mapping[str, str] | None = field(default=None, repr=False)
    behind_proxy: bool = False
    llm: LanguageModelSettings | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __post_init__(self) -> None:
        """Raise a `SettingsError` if others could use it without a token, or the settings cannot work."""
        if self.llm is not None:
            self.llm.check()
        if not self.is_local and not self.token:
            raise SettingsError(f"host {self.host} can be reached by others", "token", "local")


def read_token(path: Path) -> str | dict[str, str]:
    """Read a token file: one secret, or one line `name: secret` for each person, returned by the names.

    Errors name the line and never repeat a secret.
    """
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"token file {path}: cannot be read ({type(error).__name__})") from None
    if len(content.split()) <= 1:
        return _checked(content.strip(), f"token file {path}:")
    tokens: dict[str, str] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        place = f"token file {path}, line {number}:"
        name, separator, secret = (part.strip() for part in line.partition(": "))
        if not separator or not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise SettingsError(f"{place} write it as `name: secret`")
        if name in tokens:
            raise SettingsError(f"{place} the name {name} occurs twice")
        if secret in tokens.values():
            raise SettingsError(f"{place} the secret is somebody else's as well")
        tokens[name] = _checked(secret, f"{place} the secret")
    return tokens


def _checked(secret: str, place: str) -> str:
    if len(secret) < MIN_TOKEN_LENGTH or not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise SettingsError(
            f"{place} needs at least {MIN_TOKEN_LENGTH} printable ASCII characters without a space, for instance from "
            "`openssl rand -hex 24`"
        )
    return secret
