"""Checks every request before the application sees it: host, identity, origin and size.

This is plain ASGI, so that a body that is too large or too slow is refused while it is still arriving.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from newfound.serve.access import Identity, Lockout, Sessions, Tokens, client_address
from newfound.serve.settings import ServeSettings

access_logger = logging.getLogger("newfound.access")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OnRequest = Callable[[str, int, float], None]  # path, status, seconds

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login", "/static/app.css"})  # they show nothing of the model
PATHS_A_PAGE_ASKS_ALONE = frozenset({"/v1/review/news"})  # an open page that nobody uses does not keep a session alive
SECURITY_HEADERS = [
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
    """A request that is not answered.

    Attributes:
        status: The HTTP status of the answer.
        headers: Further headers of the answer, by their names with `_` for `-`.
    """

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class GuardMiddleware:
    """Wraps the application and refuses requests that it must not see.

    Attributes:
        csrf: The secret that our page repeats in the header `X-CSRF-Token`.
        cookie: The name of the session cookie.
        tokens: The secrets that open the server.
        sessions: The people who logged in.
        stop_work: Ends the work in the background, which need not be finished before the server ends.
    """

    def __init__(
        self, app: App, settings: ServeSettings, on_request: OnRequest, *, stop_work: Callable[[], Awaitable[None]]
    ) -> None:
        """Wrap an application.

        Args:
            app: Answers what is not refused here.
            settings: Whom to answer, and the limits.
            on_request: Called after each request with its path, its status and how long it took in seconds.
            stop_work: Ends the work in the background.
        """
        self.stop_work = stop_work
        self._app, self._settings, self._on_request = app, settings, on_request
        self._lockout = Lockout()
        self.tokens = Tokens(settings.token)
        self.sessions = Sessions(settings.seconds_of_session)
        self.csrf = secrets.token_urlsafe(24)
        self.cookie = f"newfound_{secrets.token_hex(4)}"  # two servers on one host share cookies, so the names differ

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, is_head = time.perf_counter(), 500, scope["method"] == "HEAD"

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                names = {name for name, _ in message.get("headers", [])}
                message["headers"] = [
                    *message.get("headers", []),
                    *(header for header in SECURITY_HEADERS if header[0] not in names),
                ]
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            body = await self._check_and_read(scope, receive)
            asked = {**scope, "method": "GET"} if is_head else scope  # the same answer, without its body
            await self._app(asked, _replay(body, receive), send_with_headers)
        except Refused as refused:
            await _refuse(refused, send_with_headers, close=not self._has_small_body(_headers(scope)))
        finally:
            seconds = time.perf_counter() - started
            self._on_request(scope["path"], status, seconds)
            self._log(scope, status, seconds)

    def check_token(self, scope: Scope, secret: str) -> Identity:
        """Return whose token it is. Wrong tokens are counted, and too many of them lock the client out.

        Args:
            scope: The ASGI scope of the request.
            secret: The token that came with it.

        Raises:
            Refused: With 401 if the token is wrong, with 429 if the client is locked out.
        """
        client = self._client(scope)
        if seconds := self._lockout.seconds_left(client):
            raise Refused(429, f"too many wrong tokens; try again in {seconds} s", retry_after=str(seconds))
        identity = self.tokens.identify(secret)
        if identity is None:
            self._lockout.add_wrong_token(client)
            raise Refused(401, "that is not a token of this server", www_authenticate="Bearer")
        return identity

    def is_over_tls(self, scope: Scope) -> bool:
        """Return whether the request reached the server, or the proxy before it, over TLS."""
        if scope.get("scheme") == "https":
            return True
        forwarded = _headers(scope).get("x-forwarded-proto", "") if self._settings.behind_proxy else ""
        return forwarded.rpartition(",")[2].strip().lower() == "https"

    def session_key(self, scope: Scope) -> str:
        """Return the session cookie of a request, or an empty string.

        It is read by hand, because the standard library drops all cookies if one of them is malformed.
        """
        pairs = (part.strip().partition("=") for part in _headers(scope).get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")

    async def _check_and_read(self, scope: Scope, receive: Receive) -> bytes:
        """Check the request, then read and return its body."""
        headers = _headers(scope)
        self._check_host(headers)
        identity = self._check_identity(scope, headers)
        scope.setdefault("state", {}).update(person=identity.person, client=self._client(scope))
        if scope["method"] not in SAFE_METHODS:
            self._check_origin(scope, headers)
        return await self._read_body(headers, receive)

    def _client(self, scope: Scope) -> str:
        peer = (scope.get("client") or ("unknown",))[0]
        return client_address(peer, _headers(scope).get("x-forwarded-for") if self._settings.behind_proxy else None)

    def _check_host(self, headers: dict[str, str]) -> None:
        """Refuse names that are not this machine's: a page elsewhere may point its own name here (DNS rebinding)."""
        if not self._settings.is_local or (self._settings.behind_proxy and self.tokens.required):
            return
        name = _split(f"//{headers.get('host', '')}").hostname
        if name not in ("127.0.0.1", "localhost", "::1", self._settings.host):
            raise Refused(421, "this server answers for localhost only")

    def _check_identity(self, scope: Scope, headers: dict[str, str]) -> Identity:
        if not self.tokens.required or scope["path"] in OPEN_PATHS:
            return Identity()
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.check_token(scope, secret.strip())
        identity = self.sessions.use(self.session_key(scope), keep_alive=scope["path"] not in PATHS_A_PAGE_ASKS_ALONE)
        if identity is not None:
            return identity
        if scope["path"] == "/" and scope["method"] in ("GET", "HEAD"):
            raise Refused(303, "log in first", location="/login")
        raise Refused(401, "a token is needed: Authorization: Bearer ...", www_authenticate="Bearer")

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse what a browser sends on behalf of another site's page. Programs send no origin."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None and site is None and "cookie" not in headers:
            return
        if site not in (None, "same-origin") or (origin is not None and _split(origin).netloc != headers.get("host")):
            raise Refused(403, "the request comes from a page of another site")
        if scope["path"] == "/login":
            return
        if not hmac.compare_digest(headers.get("x-csrf-token", "").encode("utf-8", "replace"), self.csrf.encode()):
            raise Refused(403, "the page is out of date; reload it")

    def _has_small_body(self, headers: dict[str, str]) -> bool:
        """Return whether the body is at most as large as it may be. The rest of any other one is not read."""
        announced = headers.get("content-length", "0")
        return (
            "transfer-encoding" not in headers and announced.isdecimal() and int(announced) <= self._settings.max_bytes
        )

    async def _read_body(self, headers: dict[str, str], receive: Receive) -> bytes:
        max_bytes = self._settings.max_bytes
        too_large = Refused(413, f"the request is larger than {max_bytes:,} bytes; send fewer texts at a time")
        if "content-length" in headers and not self._has_small_body(headers):
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._settings.seconds_to_send):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the client has disconnected")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > max_bytes:
                        raise too_large
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refused(408, "the request took too long to arrive", connection="close") from None

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        """Write one JSON line about a request, without anything that a user typed."""
        if not self._settings.log_requests:
            return
        entry = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "method": scope["method"],
            "path": scope["path"] if scope["path"].isascii() else "(not ASCII)",
            "status": status,
            "ms": round(1000 * seconds, 1),
        }
        access_logger.info(json.dumps(entry))


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise Refused(400, "a header holds a malformed address") from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body that was read, and then what the client sends next."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if not is_given:
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


async def _refuse(refused: Refused, send: Send, *, close: bool) -> None:
    body = json.dumps({"detail": str(refused)}).encode()
    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in refused.headers.items()]
    if close and "connection" not in refused.headers:
        headers.append((b"connection", b"close"))
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
