"""The application over a model, in the test's own process or behind a real socket."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi", reason="extra `serve` not installed")

import uvicorn
from starlette.testclient import TestClient

from newfound.serve.app import create_app
from newfound.serve.server import TimeoutProtocol
from newfound.serve.settings import ServeSettings

QUIET = ServeSettings(log_requests=False)


@contextmanager
def client_of(folder, encoder, settings=QUIET, **options):
    with TestClient(create_app(folder, settings, encoder=encoder), base_url="http://127.0.0.1", **options) as client:
        yield client


@contextmanager
def server_of(folder, encoder, settings=QUIET):
    """A real server on a free port, in a thread; gives its address."""
    config = uvicorn.Config(
        create_app(folder, settings, encoder=encoder), port=0, http=TimeoutProtocol, log_level="error", access_log=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
