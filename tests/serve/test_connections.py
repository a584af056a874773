"""Connections to a real server: clients that do not read, clients with many connections, delays, and fairness."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from serving import QUIET, server_of

from newfound.serve.server import listen
from newfound.serve.service import Service


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def place_of(address):
    return urlsplit(address).hostname, urlsplit(address).port


def connect_and_ask(address, path, receive_buffer):
    """Send a request for `path`, with room for only a part of the answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect(place_of(address))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return connection


@pytest.fixture
def large_answer(monkeypatch):
    """The metrics become an answer that no buffer of the system can hold."""
    content = bytes(32 * 2**20)
    monkeypatch.setattr("newfound.serve.metrics.ServerMetrics.text", lambda self: (content, "text/plain"))
    return len(content)


def open_connections(address):
    """Count the connections that the server has open, as the system sees them."""
    port = f":{place_of(address)[1]:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(port) and row[3] == "01" for row in rows)


def test_a_client_that_never_reads_is_disconnected(folder, tiny_encoder, large_answer):
    with server_of(folder, tiny_encoder, dataclasses.replace(QUIET, seconds_to_read=0.5)) as address:
        silent = connect_and_ask(address, "/metrics", 4_096)
        deadline = time.monotonic() + 10
        time.sleep(0.2)
        assert open_connections(address) == 1
        while open_connections(address) and time.monotonic() < deadline:
            assert httpx.get(f"{address}/healthz", headers={"connection": "close"}).status_code == 200
            time.sleep(0.1)
        assert open_connections(address) == 0
        silent.close()


def test_a_client_that_reads_slowly_gets_the_whole_answer(folder, tiny_encoder, large_answer):
    """It takes several times `seconds_to_read`, but never stops reading for so long."""
    with server_of(folder, tiny_encoder, dataclasses.replace(QUIET, seconds_to_read=0.3)) as address:
        slow = connect_and_ask(address, "/metrics", 2**20)
        slow.settimeout(5)
        started, received = time.monotonic(), 0
        while received < large_answer:
            part = slow.recv(2**20)
            assert part, "disconnected"
            received += len(part)
            time.sleep(0.02)
        assert time.monotonic() - started > 0.6
        slow.close()


def test_one_client_cannot_hold_all_connections(folder, tiny_encoder):
    with server_of(folder, tiny_encoder, dataclasses.replace(QUIET, max_connections_per_client=3)) as address:
        held = [socket.create_connection(place_of(address)) for _ in range(3)]
        time.sleep(0.1)
        refused = socket.create_connection(place_of(address))
        refused.settimeout(5)
        answer = refused.recv(1_000)
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert answer.endswith(b'{"detail": "too many connections of one client"}')
        assert refused.recv(1_000) == b"", "closed"
        for connection in [*held, refused]:
            connection.close()
        time.sleep(0.1)
        assert httpx.get(f"{address}/healthz").status_code == 200, "closed connections are not counted"


def test_answers_are_not_delayed_by_nagles_algorithm():
    """An accepted connection has TCP_NODELAY; without it each answer waits 40 ms for the client's acknowledgement."""

    async def accepted_option():
        listener = listen(dataclasses.replace(QUIET, port=0))
        options = []

        class Accepted(asyncio.Protocol):
            def connection_made(self, transport):
                accepted = transport.get_extra_info("socket")
                options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

        server = await asyncio.get_running_loop().create_server(Accepted, sock=listener)
        _, writer = await asyncio.open_connection(*listener.getsockname())
        await asyncio.sleep(0.05)
        writer.close()
        server.close()
        return options

    assert asyncio.run(accepted_option()) == [1]


def test_a_large_request_does_not_block_small_ones(folder, tiny_encoder, monkeypatch):
    """256 texts of 10,000 characters take over a second here; a small request in the meantime takes a fraction."""
    classify = Service.classify

    def slow_classify(self, texts):
        time.sleep(0.004 * len(texts))  # as an encoder that is not tiny
        return classify(self, texts)

    monkeypatch.setattr(Service, "classify", slow_classify)
    sent, large, small = threading.Event(), {}, []
    with server_of(folder, tiny_encoder) as address:

        def ask_much():
            started = time.perf_counter()
            sent.set()
            answer = httpx.post(f"{address}/v1/predict", json={"texts": ["water " * 1_666] * 256}, timeout=60)
            large.update(seconds=time.perf_counter() - started, answer=answer)

        asking = threading.Thread(target=ask_much)
        with httpx.Client() as client:
            client.post(f"{address}/v1/predict", json={"texts": ["pay"]})
            asking.start()
            sent.wait()
            while asking.is_alive():
                started = time.perf_counter()
                assert client.post(f"{address}/v1/predict", json={"texts": ["pay"]}, timeout=60).status_code == 200
                small.append(time.perf_counter() - started)
        asking.join()
    assert large["answer"].status_code == 200
    assert len(large["answer"].json()["predictions"]) == 256
    assert large["seconds"] > 1
    assert max(small) < large["seconds"] / 3, (max(small), large["seconds"])
