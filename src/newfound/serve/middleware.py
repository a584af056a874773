"""Checks every request before the application sees it: host, origin, size, and who asks: tokens, sessions, lock-out.

This is plain ASGI, so that a body that is too large or too slow is refused while it is still arriving.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from time import monotonic
from urllib.parse import SplitResult, urlsplit

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from newfound.serve.service import Service
from newfound.serve.settings import MAX_BYTES

logger, access_logger = logging.getLogger("newfound.serve"), logging.getLogger("newfound.access")

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/healthz", "/login"})  # they show nothing of the model
OPEN_FOLDER = "/static/"  # nor do the page's own files, of which the login is made
POLLING_PATHS = frozenset({"/v1/review/news", "/v1/review/training"})  # they keep no session alive
SECONDS_TO_SEND = 10.0  # the body of a request
MAX_CLIENTS_REMEMBERED = 10_000
MAX_SESSIONS = 1_000
SECONDS_OF_SESSION = 12 * 3600.0  # without a request
MAX_WRONG_TOKENS = 10
SECONDS_OF_LOCKOUT = 900.0  # after the last wrong token, which is forgiven then
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # no-referrer would send `Origin: null` with the login form
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Sessions:
    """The people who logged in. A session ends after some time without a request."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # the least recently used first

    def begin(self, person: str) -> str:
        """Return the secret key of a new session."""
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.popitem(last=False)
        key = secrets.token_urlsafe(32)
        self._sessions[key] = person, monotonic()
        return key

    def use(self, key: str, *, keep_alive: bool = True) -> str | None:
        """Return whose session it is, or None; what a page asks on its own does not keep a session alive."""
        person, used_at = self._sessions.get(key, ("", -math.inf))
        if monotonic() - used_at > SECONDS_OF_SESSION:
            return None
        if keep_alive:
            self._sessions[key] = person, monotonic()
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
        return max(0, math.ceil(forgiven_at - monotonic())) if count >= MAX_WRONG_TOKENS else 0

    def add_wrong_token(self, client: str) -> None:
        now = monotonic()
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
    except ValueError:
        return peer
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((int(parsed), 64), strict=False))
    return str(parsed)


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


class GuardMiddleware:
    """Wraps the application and refuses requests that it must not see."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self.service, self._settings = app, service, service.settings
        token = service.settings.token or {}
        self._tokens = token if isinstance(token, Mapping) else {"": token}
        self._lockout = Lockout()
        self.sessions = Sessions()
        self.csrf = secrets.token_urlsafe(24)  # our page repeats it in the header `X-CSRF-Token`
        self.cookie = f"newfound_{secrets.token_hex(4)}"  # two servers on one host share cookies, so the names differ

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                for name, value in SECURITY_HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, value)
            await send(message)

        try:
            request = Request(scope, receive)
            scope["state"] = {**scope.get("state", {}), **self._check(request)}
            body = await _read_body(request)
            await self._app(scope, _replay(body, receive), send_with_headers)
        except HTTPException as refused:
            headers = {"connection": "close", **(refused.headers or {})}  # the rest of its body is not read
            answer = JSONResponse({"detail": refused.detail}, refused.status_code, headers)
            await answer(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            self.service.metrics.count_request(scope, status, seconds)
            _log(scope, status, seconds)

    def check_token(self, request: Request, secret: str) -> str:
        """Return whose token it is, "" if all share it. The time that it takes does not depend on the token.

        A wrong one is refused with 401, any of a client that is locked out with 429.
        """
        client = self._client(request)
        if seconds := self._lockout.seconds_left(client):
            raise HTTPException(429, f"too many wrong tokens; try again in {seconds} s", {"retry-after": str(seconds)})
        given, person = secret.encode("utf-8", "surrogateescape"), None
        for owner, expected in self._tokens.items():
            if hmac.compare_digest(given, expected.encode()):
                person = owner
        if person is None:
            self._lockout.add_wrong_token(client)
            raise HTTPException(401, "that is not a token of this server", {"www-authenticate": "Bearer"})
        return person

    def is_over_tls(self, request: Request) -> bool:
        """Return whether the request reached the server, or the proxy before it, over TLS."""
        return "https" in (request.scope.get("scheme"), self._told_by_proxy(request, "x-forwarded-proto").lower())

    def session_key(self, request: Request) -> str:
        """Return the session cookie of a request, or an empty string."""
        return request.cookies.get(self.cookie, "")

    def _told_by_proxy(self, request: Request, header: str) -> str:
        """Return the last value of a header, which the proxy has added, if there is one that is to be believed."""
        values = request.headers.getlist(header) if self._settings.behind_proxy else []
        return ",".join(values).rpartition(",")[2].strip()

    def _client(self, request: Request) -> str:
        peer = request.client.host if request.client else "unknown"
        return client_address(peer, self._told_by_proxy(request, "x-forwarded-for"))

    def _check(self, request: Request) -> dict[str, str | None]:
        """Check all but the body of a request, and return whose it is."""
        self._check_host(request)
        person = self._identify(request)
        if request.method not in SAFE_METHODS:
            self._check_origin(request)
        return {"person": person or None}

    def _check_host(self, request: Request) -> None:
        """Refuse names that are not this machine's: a page elsewhere may point its own name here (DNS rebinding)."""
        if not self._settings.is_local or (self._settings.behind_proxy and self._tokens):
            return
        name = _split(f"//{request.headers.get('host', '')}").hostname
        if name not in ("127.0.0.1", "localhost", "::1", self._settings.host):
            raise HTTPException(421, "this server answers for localhost only")

    def _identify(self, request: Request) -> str:
        """Return whose token or session a request has, "" if it is nobody's own."""
        path = request.scope["path"]
        if not self._tokens or path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
            return ""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.check_token(request, secret.strip())
        person = self.sessions.use(self.session_key(request), keep_alive=path not in POLLING_PATHS)
        if person is not None:
            return person
        if path == "/" and request.method == "GET":
            raise HTTPException(303, "log in first", {"location": "/login"})
        raise HTTPException(401, "a token is needed: Authorization: Bearer ...", {"www-authenticate": "Bearer"})

    def _check_origin(self, request: Request) -> None:
        """Refuse what a browser sends on behalf of another site's page. Programs send no origin."""
        headers = request.headers
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None and site is None and "cookie" not in headers:
            return
        if site not in (None, "same-origin") or (origin is not None and _split(origin).netloc != headers.get("host")):
            raise HTTPException(403, "the request comes from a page of another site")
        if request.scope["path"] == "/login":
            return
        if not hmac.compare_digest(headers.get("x-csrf-token", "").encode("utf-8", "replace"), self.csrf.encode()):
            raise HTTPException(403, "the page is out of date; reload it")


async def _read_body(request: Request) -> bytes:
    too_large = HTTPException(413, f"the request is larger than {MAX_BYTES:,} bytes; send fewer texts at a time")
    if int(request.headers.get("content-length", 0)) > MAX_BYTES:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BYTES:
                    raise too_large
    except ClientDisconnect:
        raise HTTPException(400, "the client has disconnected") from None
    except TimeoutError:
        raise HTTPException(408, "the request took too long to arrive") from None
    return bytes(body)


def _log(scope: Scope, status: int, seconds: float) -> None:
    """Write one JSON line about a request, without anything that a user typed."""
    entry = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "method": scope["method"],
        "path": scope["path"] if scope["path"].isascii() else "(not ASCII)",
        "status": status,
        "ms": round(1000 * seconds, 1),
    }
    access_logger.info(json.dumps(entry))


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise HTTPException(400, "a header holds a malformed address") from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read, and then what the client sends next."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
