"""Runs the application with uvicorn, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
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
from newfound.serve.settings import ServeSettings

logger = logging.getLogger("newfound.serve")
SECONDS_FOR_HEADERS = 10.0
SECONDS_TO_FINISH = 30


class TimeoutProtocol(H11Protocol):
    """Hangs up on a client that opens a connection, or begins a request, and then says nothing or too little."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if not self._answering:
            self._wait()
        super().data_received(data)
        if self._answering:  # the headers are there; the body's pace is the gate's business
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        if self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(SECONDS_FOR_HEADERS, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _hang_up(self) -> None:
        self._patience = None
        if not self._answering and not self.transport.is_closing():
            self.transport.close()


def serve(
    folder: Path,
    settings: ServeSettings,
    *,
    encoder: str | None = None,
    open_page: bool = False,
    announce: Callable[[str], None] = logger.info,
) -> None:
    """Answer requests until SIGINT or SIGTERM; what was accepted by then is finished.

    Args:
        folder: The model folder.
        settings: Where to listen, what may be asked for, and by whom.
        encoder: Where the model's encoder lies, if it cannot be found.
        open_page: Open the review page in a browser.
        announce: Told the address once the server listens there.
    """
    settings.check()
    listening = _listen(settings)
    app = create_app(folder, settings, encoder=encoder)
    port = listening.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    announce(f"newfound serves {folder} at http://{host}:{port}/")
    if open_page:
        Thread(target=webbrowser.open, args=(f"http://{host}:{port}/",), daemon=True).start()
    config = uvicorn.Config(
        app,
        http=TimeoutProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # or anybody could claim to be somebody else, and so pass the rate limit
        timeout_keep_alive=15,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        limit_concurrency=1_000,
        h11_max_incomplete_event_size=32 * 1024,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _listen(settings: ServeSettings) -> socket.socket:
    """Take the port before the model is loaded: that it is in use is said at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen()  # a second server on the port fails here, and early clients wait
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"{settings.host}, port {settings.port}: {error.strerror}; choose another host or port"
        ) from None
    return listening
