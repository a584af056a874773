"""Who may use the server, and in whose name: tokens, sessions, and the lock-out after wrong tokens."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

logger = logging.getLogger("newfound.serve")

MAX_CLIENTS_REMEMBERED = 10_000
MAX_SESSIONS = 1_000
SECONDS_OF_SESSION = 12 * 3600.0  # without a request
MAX_WRONG_TOKENS = 10
SECONDS_OF_LOCKOUT = 900.0  # after the last wrong token, which is forgiven then


def identify(token: str | Mapping[str, str], secret: str) -> str | None:
    """Return whose secret it is, "" for one that all users share, or None for a wrong one.

    The time it takes does not depend on the secret.
    """
    given, owner = secret.encode("utf-8", "surrogateescape"), None
    for person, expected in (token if isinstance(token, Mapping) else {"": token}).items():
        if hmac.compare_digest(given, expected.encode()):
            owner = person
    return owner


class Sessions:
    """The people who logged in. A session ends after some time without a request."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # the least recently used first

    def begin(self, person: str) -> str:
        """Return the secret key of a new session."""
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)
        key = secrets.token_urlsafe(32)
        self._sessions[key] = person, time.monotonic()
        return key

    def use(self, key: str, *, keep_alive: bool = True) -> str | None:
        """Return whose session it is, or None; what a page asks on its own does not keep a session alive."""
        person, used_at = self._sessions.get(key, ("", -math.inf))
        if time.monotonic() - used_at > SECONDS_OF_SESSION:
            return None
        if keep_alive:
            self._sessions[key] = person, time.monotonic()
            self._sessions.move_to_end(key)
        return person

    def end(self, key: str) -> None:
        self._sessions.pop(key, None)


class Lockout:
    """Refuses a client's tokens for a while after several wrong ones."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, tuple[int, float]] = OrderedDict()  # wrong tokens, and when they are forgiven

    def seconds_left(self, client: str) -> int:
        """Return for how many more seconds the client's tokens are refused; 0 if they are not."""
        count, forgiven_at = self._clients.get(client, (0, 0.0))
        return max(0, math.ceil(forgiven_at - time.monotonic())) if count >= MAX_WRONG_TOKENS else 0

    def add_wrong_token(self, client: str) -> None:
        now = time.monotonic()
        count, forgiven_at = self._clients.pop(client, (0, now))
        count = count + 1 if now < forgiven_at else 1
        if count >= MAX_WRONG_TOKENS:
            logger.warning("%d wrong tokens from %s; its tokens are refused for a while", count, client)
        self._clients[client] = count, now + SECONDS_OF_LOCKOUT
        if len(self._clients) > MAX_CLIENTS_REMEMBERED:
            self._clients.popitem(last=False)


def client_address(peer: str, forwarded: str = "") -> str:
    """Return the address by which a client is counted.

    All addresses of an IPv6 network of 64 bits count as one client, because one machine can have all of them.
    `forwarded` is the address that a proxy saw which is to be believed.
    """
    try:
        parsed = ipaddress.ip_address(forwarded or peer)
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        if isinstance(parsed, ipaddress.IPv6Address):
            return str(ipaddress.ip_network((int(parsed), 64), strict=False))
        return str(parsed)
    except ValueError:
        return peer


def author_of(request: Request, declared: str | None) -> str:
    """Return the owner of the request's token, or the declared author if all users share one token.

    It is refused if neither the token nor the body names an author, or if they name two people.
    """
    person: str | None = request.scope["state"]["person"]
    if person is None:
        if declared is None:
            raise RequestValidationError([{"type": "missing", "loc": ("body", "author"), "msg": "Field required"}])
        return declared
    if declared is not None and declared != person:
        raise HTTPException(403, f"this token belongs to {person}; leave the author out")
    return person
