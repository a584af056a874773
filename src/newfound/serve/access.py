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
SECONDS_OF_FIRST_LOCKOUT = 30.0
MAX_SECONDS_OF_LOCKOUT = 3600.0
SECONDS_UNTIL_FORGIVEN = 3600.0  # after the last wrong token, or the end of the lock-out that it caused


class Tokens:
    """The secrets that open the server: one, one for each person by name, or none at all."""

    def __init__(self, token: str | Mapping[str, str] | None) -> None:
        self.required = bool(token)
        persons = token if isinstance(token, Mapping) else {"": token} if token else {}
        self._persons = {secret: person for person, secret in persons.items()}

    def identify(self, secret: str) -> str | None:
        """Return whose secret it is, "" for one that all users share, or None for a wrong one.

        The time it takes does not depend on the secret.
        """
        secret_bytes = secret.encode("utf-8", "surrogateescape")
        owner = None
        for expected, person in self._persons.items():
            if hmac.compare_digest(secret_bytes, expected.encode()):
                owner = person
        return owner


class Sessions:
    """The people who logged in. A session ends after some time without a request."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # the least recently used first

    def begin(self, person: str) -> str:
        """Return the secret key of a new session."""
        self._drop_expired()
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)
        key = secrets.token_urlsafe(32)
        self._sessions[key] = person, time.monotonic()
        return key

    def use(self, key: str, *, keep_alive: bool = True) -> str | None:
        """Return whose session it is, or None; what a page asks on its own does not keep a session alive."""
        self._drop_expired()
        if key not in self._sessions:
            return None
        person, _ = self._sessions[key]
        if keep_alive:
            self._sessions[key] = person, time.monotonic()
            self._sessions.move_to_end(key)
        return person

    def end(self, key: str) -> None:
        """End a session."""
        self._sessions.pop(key, None)

    def _drop_expired(self) -> None:
        oldest_allowed = time.monotonic() - SECONDS_OF_SESSION
        while self._sessions and next(iter(self._sessions.values()))[1] < oldest_allowed:
            self._sessions.popitem(last=False)


class Lockout:
    """Refuses a client's tokens for a while after several wrong ones, and for longer after each further one."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, tuple[int, float]] = OrderedDict()  # wrong tokens, and the end of the lock-out

    def seconds_left(self, client: str) -> int:
        """Return for how many more seconds the client's tokens are refused; 0 if they are not."""
        _, locked_until = self._clients.get(client, (0, 0.0))
        return max(0, math.ceil(locked_until - time.monotonic()))

    def add_wrong_token(self, client: str) -> None:
        """Count a wrong token."""
        now, seconds = time.monotonic(), 0.0
        count, locked_until = self._clients.pop(client, (0, now))
        count = 1 if locked_until + SECONDS_UNTIL_FORGIVEN < now else count + 1
        if count >= MAX_WRONG_TOKENS:
            doublings = min(count - MAX_WRONG_TOKENS, 30)
            seconds = min(SECONDS_OF_FIRST_LOCKOUT * 2**doublings, MAX_SECONDS_OF_LOCKOUT)
            logger.warning("%d wrong tokens from %s; its tokens are refused for %d s", count, client, seconds)
        self._clients[client] = count, now + seconds
        while len(self._clients) > MAX_CLIENTS_REMEMBERED:
            self._clients.popitem(last=False)


def client_address(peer: str, forwarded_for: str | None) -> str:
    """Return the address by which a client is counted.

    All addresses of an IPv6 network of 64 bits count as one client, because one machine can have all of them. Of
    `forwarded_for`, the header of a proxy that is to be believed, the last address is the one that the proxy saw; the
    client itself may have written those before it.
    """
    address = peer if forwarded_for is None else forwarded_for.rpartition(",")[2].strip()
    try:
        parsed = ipaddress.ip_address(address)
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


def owner_of(request: Request) -> str:
    """Return whose things are kept apart from those of others: the owner of the token, or the client."""
    state = request.scope["state"]
    return str(state["person"] or state["client"])
