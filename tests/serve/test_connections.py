"""Connections to a real server: clients that do not read, delays, and fairness."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from serving import QUIET, server_of

from newfound.serve.batching import Batcher
from newfound.serve.server import listen
from newfound.serve.service import Service
from waiting import SECONDS_TO_WAIT, until


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


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such limit")
def test_a_client_that_never_reads_is_disconnected(folder, tiny_encoder, large_answer, monkeypatch):
    monkeypatch.setattr("newfound.serve.server.SECONDS_TO_READ", 0.5)
    with server_of(folder, tiny_encoder) as address:
        silent = connect_and_ask(address, "/metrics", 4_096)

        def is_disconnected_while_others_are_answered():
            assert httpx.get(f"{address}/healthz", headers={"connection": "close"}).status_code == 200
            return open_connections(address) == 0

        assert open_connections(address) == 1
        assert until(is_disconnected_while_others_are_answered)
        silent.close()


def test_a_client_that_reads_slowly_gets_the_whole_answer(folder, tiny_encoder, large_answer, monkeypatch):
    """It takes several times as long as a client may read nothing, but never stops reading for so long."""
    monkeypatch.setattr("newfound.serve.server.SECONDS_TO_READ", 1.5)
    with server_of(folder, tiny_encoder) as address:
        slow = connect_and_ask(address, "/metrics", 2**20)
        slow.settimeout(SECONDS_TO_WAIT)
        started, received = time.monotonic(), 0
        while received < large_answer:
            part = slow.recv(2**20)
            assert part, "disconnected"
            received += len(part)
            time.sleep(0.1)
        assert time.monotonic() - started > 2 * 1.5
        slow.close()


def test_answers_are_not_delayed_by_nagles_algorithm():
    """asyncio sets TCP_NODELAY only if the protocol is explicit; without it each answer waits 40 ms."""
    with listen(dataclasses.replace(QUIET, port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_large_request_does_not_block_small_ones(folder, tiny_encoder, monkeypatch):
    """256 long texts are divided into batches; those after the third wait here until a small request is answered."""
    classify, ask = Service.classify, Batcher.ask
    large_is_begun, small_is_queued, small_is_answered = threading.Event(), threading.Event(), threading.Event()
    large_batches = []

    def classify_in_step(self, texts):
        if "pay" not in texts:
            large_batches.append(len(texts))
            large_is_begun.set()
            assert small_is_queued.wait(SECONDS_TO_WAIT)
            assert len(large_batches) <= 3 or small_is_answered.wait(SECONDS_TO_WAIT), "the small request is blocked"
        return classify(self, texts)

    async def ask_and_tell(self, texts):
        answers = asyncio.ensure_future(ask(self, texts))
        await asyncio.sleep(0)  # it is in the queue now
        if list(texts) == ["pay"]:
            small_is_queued.set()
        return await answers

    monkeypatch.setattr(Service, "classify", classify_in_step)
    monkeypatch.setattr(Batcher, "ask", ask_and_tell)
    monkeypatch.setattr("newfound.serve.routes.predictions.SECONDS_TO_ANSWER", 2 * SECONDS_TO_WAIT)
    with server_of(folder, tiny_encoder) as address, ThreadPoolExecutor(1) as pool:
        options = {"timeout": 2 * SECONDS_TO_WAIT}
        body = {"texts": ["water " * 1_666] * 256}
        large = pool.submit(httpx.post, f"{address}/v1/predict", json=body, **options)
        assert large_is_begun.wait(SECONDS_TO_WAIT)
        assert httpx.post(f"{address}/v1/predict", json={"texts": ["pay"]}, **options).status_code == 200
        small_is_answered.set()
        assert len(large.result().json()["predictions"]) == 256
    assert len(large_batches) > 3
