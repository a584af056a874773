"""The application over a model, in the test's own process or behind a real socket."""

from __future__ import annotations

import base64
import dataclasses
import gc
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="extra `serve` not installed")

from starlette.testclient import TestClient

from newfound.review import session
from newfound.serve import service
from newfound.serve.app import create_app
from newfound.serve.routes import reviews
from newfound.serve.server import Server, listen
from newfound.serve.settings import ServeSettings

QUIET = ServeSettings()


def _computed_once(positions):
    """The same function with a memory: nearly all of two hundred servers show the map of the same model."""
    memory = {}

    def remembered(x, *, quick=False):
        key = x.tobytes(), quick
        if key not in memory:
            memory[key] = positions(x, quick=quick)
        return memory[key].copy()

    return remembered


session.map_positions = _computed_once(session.map_positions)
reviews.SECONDS_BETWEEN_NEWS = 0.2
# Each server would look through all that the test process holds.
service.gc = SimpleNamespace(unfreeze=gc.unfreeze, collect=lambda: 0, freeze=gc.freeze)


@contextmanager
def client_of(folder, encoder, settings=QUIET, *, warm_up=False):
    """The application in this process. Most tests have no reviewer who would wait for what is computed at the start."""
    app = create_app(folder, settings, encoder=encoder)
    if not warm_up:
        app.service.warm_up = lambda: None
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


def wait_for_job(client):
    """What the server says of its job once it is done."""
    deadline = time.monotonic() + 300
    while (state := client.get("/v1/jobs").json())["status"] == "running":
        assert time.monotonic() < deadline, state
        time.sleep(0.05)
    assert state["status"] == "done", state
    return state


@contextmanager
def server_of(folder, encoder, settings=QUIET, *, port=0):
    """A real server as `newfound serve` runs it, in a thread and by default on a free port; gives its address."""
    listener = listen(dataclasses.replace(settings, port=port))
    app = create_app(folder, settings, encoder=encoder)
    server = Server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


COLUMNS = {"positions": "<u2", "intents": "<i4", "ids": "<i4", "probabilities": "<u2", "checked": "u1"}


def place_of(address):
    """Return the host and the port of a server."""
    return urlsplit(address).hostname, urlsplit(address).port


def columns_of(answer):
    """The columns of an answer of /v1/review/map; positions lie between 0 and 1, and so do probabilities."""
    read = {name: np.frombuffer(base64.b64decode(answer[name]), kind) for name, kind in COLUMNS.items()}
    positions = read["positions"].reshape(-1, 2) / 65_535
    return SimpleNamespace(**{**read, "positions": positions, "probabilities": read["probabilities"] / 1_000})
