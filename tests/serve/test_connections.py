"""Connections to a real server: clients that do not read, and delays."""

from __future__ import annotations

import dataclasses
import socket
import sys
from pathlib import Path

import httpx
import pytest
from serving import QUIET, place_of, server_of

from newfound.serve.server import listen
from waiting import until


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
    monkeypatch.setattr("newfound.serve.service.ServerMetrics.text", lambda self: (content, "text/plain"))
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


def test_answers_are_not_delayed_by_nagles_algorithm():
    """asyncio sets TCP_NODELAY only if the protocol is explicit; without it each answer waits 40 ms."""
    with listen(dataclasses.replace(QUIET, port=0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
