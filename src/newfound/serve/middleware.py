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
from collections.abc import Awaitable, Callable
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from newfound.serve.access import Lockout, Sessions, Tokens, client_address
from newfound.serve.settings import MAX_BYTES, ServeSettings

access_logger = logging.getLogger("newfound.access")

OnRequest = Callable[[str, int, float], None]  # path, status, seconds

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login"})  # they show nothing of the model
OPEN_FOLDER = "/static/"  # nor do the page's own files, of which the login is made
POLLING_PATHS = frozenset({"/v1/review/news", "/v1/review/training"})  # they keep no session alive
SECONDS_TO_SEND = 10.0  # the body of a request
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


class GuardMiddleware:
    """Wraps the application and refuses requests that it must not see.

    `on_request` is called after each request, `stop_work` before the server ends: work in the background need not be
    finished by then.
    """

    def __init__(
        self, app: ASGIApp, settings: ServeSettings, on_request: OnRequest, *, stop_work: Callable[[], Awaitable[None]]
    ) -> None:
        self.stop_work = stop_work
        self._app, self._settings, self._on_request = app, settings, on_request
        self._lockout = Lockout()
        self.tokens = Tokens(settings.token)
        self.sessions = Sessions()
        self.csrf = secrets.token_urlsafe(24)  # our page repeats it in the header `X-CSRF-Token`
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
                message.setdefault("headers", [])
                for name, value in SECURITY_HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, value)
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            body = await self._check_and_read(scope, receive)
            asked = {**scope, "method": "GET"} if is_head else scope  # the same answer, without its body
            await self._app(asked, _replay(body, receive), send_with_headers)
        except HTTPException as refused:
            close = {} if self._has_small_body(_headers(scope)) else {"connection": "close"}
            headers = {**close, **(refused.headers or {})}
            answer = JSONResponse({"detail": refused.detail}, refused.status_code, headers)
            await answer(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            self._on_request(scope["path"], status, seconds)
            self._log(scope, status, seconds)

    def check_token(self, scope: Scope, secret: str) -> str:
        """Return whose token it is, "" if all share it.

        A wrong one is refused with 401, any of a client that is locked out with 429.
        """
        client = self._client(scope)
        if seconds := self._lockout.seconds_left(client):
            raise HTTPException(429, f"too many wrong tokens; try again in {seconds} s", {"retry-after": str(seconds)})
        person = self.tokens.identify(secret)
        if person is None:
            self._lockout.add_wrong_token(client)
            raise HTTPException(401, "that is not a token of this server", {"www-authenticate": "Bearer"})
        return person

    def is_over_tls(self, scope: Scope) -> bool:
        """Return whether the request reached the server, or the proxy before it, over TLS."""
        if scope.get("scheme") == "https":
            return True
        forwarded = _headers(scope).get("x-forwarded-proto", "") if self._settings.behind_proxy else ""
        return forwarded.rpartition(",")[2].strip().lower() == "https"

    def session_key(self, scope: Scope) -> str:
        """Return the session cookie of a request, or an empty string."""
        return cookie_parser(_headers(scope).get("cookie", "")).get(self.cookie, "")

    async def _check_and_read(self, scope: Scope, receive: Receive) -> bytes:
        """Check the request, then read and return its body."""
        headers = _headers(scope)
        self._check_host(headers)
        person = self._identify(scope, headers)
        scope.setdefault("state", {}).update(person=person or None, client=self._client(scope))
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
            raise HTTPException(421, "this server answers for localhost only")

    def _identify(self, scope: Scope, headers: dict[str, str]) -> str:
        """Return whose token or session a request has, "" if it is nobody's own."""
        if not self.tokens.required or scope["path"] in OPEN_PATHS or scope["path"].startswith(OPEN_FOLDER):
            return ""
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.check_token(scope, secret.strip())
        person = self.sessions.use(self.session_key(scope), keep_alive=scope["path"] not in POLLING_PATHS)
        if person is not None:
            return person
        if scope["path"] == "/" and scope["method"] in ("GET", "HEAD"):
            raise HTTPException(303, "log in first", {"location": "/login"})
        raise HTTPException(401, "a token is needed: Authorization: Bearer ...", {"www-authenticate": "Bearer"})

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse what a browser sends on behalf of another site's page. Programs send no origin."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is None and site is None and "cookie" not in headers:
            return
        if site not in (None, "same-origin") or (origin is not None and _split(origin).netloc != headers.get("host")):
            raise HTTPException(403, "the request comes from a page of another site")
        if scope["path"] == "/login":
            return
        if not hmac.compare_digest(headers.get("x-csrf-token", "").encode("utf-8", "replace"), self.csrf.encode()):
            raise HTTPException(403, "the page is out of date; reload it")

    def _has_small_body(self, headers: dict[str, str]) -> bool:
        """Return whether the body is at most as large as it may be. The rest of any other one is not read."""
        announced = headers.get("content-length", "0")
        return "transfer-encoding" not in headers and announced.isdecimal() and int(announced) <= MAX_BYTES

    async def _read_body(self, headers: dict[str, str], receive: Receive) -> bytes:
        too_large = HTTPException(413, f"the request is larger than {MAX_BYTES:,} bytes; send fewer texts at a time")
        if "content-length" in headers and not self._has_small_body(headers):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(SECONDS_TO_SEND):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HTTPException(400, "the client has disconnected")
                    body += message.get("body", b"")
                    if len(body) > MAX_BYTES:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive", {"connection": "close"}) from None

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
    """Return the headers; of several with one name the last, as a proxy writes its own after the client's."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise HTTPException(400, "a header holds a malformed address") from None


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
