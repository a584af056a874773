"""Checks every request before the application sees it: rate, host, identity, origin and size.

Plain ASGI, so that a body that is too large or too slow is refused while it is still arriving.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from newfound.serve.settings import ServeSettings

access_logger = logging.getLogger("newfound.access")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OnRequest = Callable[[str, int, float], None]  # path, status, seconds

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login", "/static/app.css"})  # nothing of the model in them
MAX_CLIENTS = 10_000
MAX_SESSIONS = 1_000
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # no-referrer would send `Origin: null` with the login form
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class Refused(Exception):
    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class GuardMiddleware:
    """Wraps the application. `csrf` is the token that the page must repeat in a header."""

    def __init__(self, app: App, settings: ServeSettings, on_request: OnRequest) -> None:
        self._app, self._settings, self._on_request = app, settings, on_request
        self._rate_limiter = RateLimiter(settings.requests_per_second, settings.burst)
        self.csrf = secrets.token_urlsafe(24)
        self.sessions: OrderedDict[str, None] = OrderedDict()
        self.cookie = f"newfound_{secrets.token_hex(4)}"  # cookies know no ports: two servers must not share one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message.get("headers", [])}
                message["headers"] = [*message.get("headers", []), *(h for h in HEADERS if h[0] not in own)]
            await send(message)

        try:
            body = await self._check_and_read(scope, receive)
            await self._app(scope, _replayed(body, receive), sending)
        except Refused as refused:
            await _refuse(refused, sending)
        finally:
            seconds = time.perf_counter() - started
            self._on_request(scope["path"], status, seconds)
            self._log(scope, status, seconds)

    async def _check_and_read(self, scope: Scope, receive: Receive) -> bytes:
        """Check the request, then read and return its body."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        client = (scope.get("client") or ("?",))[0]
        if not self._rate_limiter.allows(client):
            raise Refused(429, "too many requests; slow down", retry_after="1")
        self._check_host(headers)
        self._check_identity(scope, headers)
        if scope["method"] not in SAFE_METHODS:
            self._check_origin(scope, headers)
        return await self._body(headers, receive)

    def _check_host(self, headers: dict[str, str]) -> None:
        """A page elsewhere may point its own name at this machine (DNS rebinding): only our names are answered."""
        if not self._settings.is_local:
            return
        name = _split(f"//{headers.get('host', '')}").hostname
        if name not in ("127.0.0.1", "localhost", "::1", self._settings.host):
            raise Refused(421, "this server answers for localhost only")

    def _check_identity(self, scope: Scope, headers: dict[str, str]) -> None:
        if self._settings.token is None or scope["path"] in OPEN_PATHS:
            return
        given = headers.get("authorization", "")
        if given.startswith("Bearer ") and self.is_token(given.removeprefix("Bearer ").strip()):
            return
        if self._session(headers) in self.sessions:
            return
        if scope["path"] == "/" and scope["method"] == "GET":
            raise Refused(303, "log in first", location="/login")
        raise Refused(401, "a token is needed: Authorization: Bearer ...", www_authenticate="Bearer")

    def is_token(self, given: str) -> bool:
        expected = self._settings.token or ""
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())

    def begin_session(self) -> str:
        session = secrets.token_urlsafe(32)
        self.sessions[session] = None
        while len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)
        return session

    def _session(self, headers: dict[str, str]) -> str:
        """Read by hand: the standard library drops all cookies where one, of whatever other server, is odd."""
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """What a browser sends on behalf of a page must come from our page; programs send no origin."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None and site is None and "cookie" not in headers:
            return
        same = site in (None, "same-origin") and (origin is None or _split(origin).netloc == headers.get("host"))
        if not same:
            raise Refused(403, "a page of another site sent this; it is not obeyed")
        if scope["path"] == "/login":
            return
        if not hmac.compare_digest(headers.get("x-csrf-token", "").encode("utf-8", "replace"), self.csrf.encode()):
            raise Refused(403, "the page is out of date; reload it")

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        most = self._settings.most_bytes
        too_large = Refused(413, f"the request is larger than {most:,} bytes; send fewer texts at a time")
        if headers.get("content-length", "0").isdigit() and int(headers.get("content-length", "0")) > most:
            raise too_large
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._settings.seconds_to_send):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the client has gone")
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body", False):
                        return b"".join(pieces)
        except TimeoutError:
            raise Refused(408, "the request took too long to arrive", connection="close") from None

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        """One JSON line a request, without anything that a user typed."""
        entry = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "method": scope["method"],
            "path": scope["path"] if scope["path"].isascii() else "(not ASCII)",
            "status": status,
            "ms": round(1000 * seconds, 1),
        }
        if self._settings.log_requests:
            access_logger.info(json.dumps(entry))


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise Refused(400, "a header holds something that is no address") from None


class RateLimiter:
    """A token bucket for each client: `burst` requests at once, refilled steadily."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._rate, self._burst = per_second, float(burst)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when

    def allows(self, client: str) -> bool:
        now = time.monotonic()
        tokens, at = self._left.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        self._left[client] = (max(0.0, tokens - 1), now)
        while len(self._left) > MAX_CLIENTS:
            self._left.popitem(last=False)
        return tokens >= 1


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever the client does next."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


async def _refuse(refused: Refused, send: Send) -> None:
    body = json.dumps({"detail": str(refused)}).encode()
    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in refused.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
