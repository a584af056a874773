"""Runs the application with uvicorn, until it is told to stop."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from newfound.errors import SettingsError
from newfound.serve.app import create_app
from newfound.serve.middleware import GuardMiddleware
from newfound.serve.settings import ServeSettings

MAX_CONNECTIONS = 1_000
MAX_HEADER_BYTES = 32 * 1024
SECONDS_TO_KEEP_ALIVE = 15  # a connection without a whole request, be it the first or the next one
SECONDS_TO_READ = 30  # without the client's reading anything of an answer that waits for it
SECONDS_TO_FINISH = 30


def serve(
    folder: Path,
    settings: ServeSettings,
    *,
    encoder: str | None = None,
    open_page: bool = False,
    announce: Callable[[str], None],
) -> None:
    """Answer requests until SIGINT or SIGTERM; requests that were accepted by then are finished.

    `announce` is called with the address once the server listens there, and `open_page` opens it in a browser.
    """
    listener = listen(settings)
    app = create_app(folder, settings, encoder=encoder)
    port = listener.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    announce(f"newfound serves {folder} at http://{host}:{port}/")
    if open_page:
        Thread(target=webbrowser.open, args=(f"http://{host}:{port}/",), daemon=True).start()
    Server(app).run(sockets=[listener])


class Server(uvicorn.Server):
    """Ends the work in the background first: it would take longer than anybody waits for the end of a server."""

    def __init__(self, app: GuardMiddleware) -> None:
        config = uvicorn.Config(
            app,
            http=TimedProtocol,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the middleware reads them, and only behind a proxy
            timeout_keep_alive=SECONDS_TO_KEEP_ALIVE,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
            limit_concurrency=MAX_CONNECTIONS,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        )
        super().__init__(config)
        self._service = app.service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._service.stop_work()
        await super().shutdown(sockets)


class TimedProtocol(H11Protocol):
    """Gives the headers of a request as long as uvicorn gives an idle connection; uvicorn itself waits forever."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, and keep the timer until the headers are there."""
        timer, self.timeout_keep_alive_task = self.timeout_keep_alive_task, None
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self.timeout_keep_alive_task = timer
        elif timer is not None:
            timer.cancel()


def listen(settings: ServeSettings) -> socket.socket:
    """Return a listening socket. This comes before the model is loaded, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio disables Nagle's algorithm (TCP_NODELAY), which delays answers by 40 ms, only if the protocol is explicit.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; the connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1_000 * SECONDS_TO_READ))
    try:
        listener.bind((settings.host, settings.port))
        listener.listen()  # a second server on the port fails here
    except OSError as error:
        listener.close()
        raise SettingsError(f"{settings.host}, port {settings.port}: {error.strerror}", "host") from None
    return listener
