"""What held when the server was attacked, and must go on holding; SECURITY.md lists it."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sqlite3
import sys
import time

import httpx
import pytest
from browsing import names, to_view
from serving import client_of, place_of, server_of

from newfound.review.decisions import Decision
from newfound.review.reviewed import load
from newfound.review.store import ReviewStore
from newfound.workflows.updating import refit

pytest_plugins = ["browsing_fixtures"]
SCRIPT = '<img src=x onerror="window.owned=1">'


def test_markup_in_a_name_is_text_in_every_view(page):
    first, second = names(page)
    rename = f"""() => fetch('/v1/review/state').then((a) => a.json()).then((state) => fetch('/v1/review/decisions', {{
      method: 'POST', headers: {{ 'content-type': 'application/json',
        'x-csrf-token': document.querySelector('meta[name=csrf]').content }},
      body: JSON.stringify({{ author: 'Eve', version: state.version, decisions: [
        {{ rename: {{ intent: '{first}', to: {SCRIPT!r} }} }},
        {{ comment: {{ intent: {SCRIPT!r}, text: {SCRIPT!r} }} }}] }}) }})).then((a) => a.status)"""
    assert page.evaluate(rename) == 200
    page.reload()
    for view in ("intents", "queue", "map", "pairs", "history", f"pair/{first}/{second}", "export", "none"):
        to_view(page, view)
        page.wait_for_timeout(200)
    to_view(page, "intents")
    page.locator("a.name", has_text="onerror").click()
    page.wait_for_selector("h2:has-text('onerror')")
    assert page.locator(".comment .lines").inner_text() == SCRIPT
    assert page.locator("main img").count() == 0
    assert page.evaluate("() => window.owned ?? null") is None


@pytest.mark.slow
def test_ten_thousand_connections_leave_the_server_answering(folder, tiny_encoder):
    """They come from forty addresses, 250 at a time, and most of them never say a word."""
    with server_of(folder, tiny_encoder) as address:
        for round_number in range(40):
            source = (f"127.0.0.{2 + round_number}", 0)
            held = [socket.create_connection(place_of(address), timeout=60, source_address=source) for _ in range(250)]
            held[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in held[0].recv(500)
            for connection in held:
                connection.close()
        assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        b"X-Bomb: " + b"a" * 2**20 + b"\r\n",
        b"".join(b"X-%d: %s\r\n" % (i, b"b" * 100) for i in range(10_000)),
        b"Cookie: " + b"a=b; " * 100_000 + b"\r\n",
    ],
)
def test_header_bombs_are_refused_and_the_server_goes_on(folder, tiny_encoder, headers):
    with server_of(folder, tiny_encoder) as address:
        with socket.create_connection(place_of(address), timeout=60) as bomb:
            try:
                bomb.sendall(b"GET /v1/review/state HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + b"\r\n")
                answer = bomb.recv(1_000)
            except (ConnectionError, TimeoutError):
                answer = b""  # hung up on while it was still sending
            assert b" 200 " not in answer
        assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200


def test_two_servers_on_one_folder_see_each_others_decisions(folder, tiny_encoder):
    with client_of(folder, tiny_encoder) as one, client_of(folder, tiny_encoder) as other:
        first, second = [i["name"] for i in one.get("/v1/review/state").json()["intents"] if not i["known"]]

        def decide(client, author, decision):
            body = {"author": author, "version": 0, "decisions": [decision]}
            return client.post("/v1/review/decisions", json=body)

        assert decide(one, "ana", {"rename": {"intent": first, "to": "a_name"}}).status_code == 200
        late = decide(other, "bo", {"accept": {"intent": first}})
        assert late.status_code == 409
        assert f"Ana renamed {first}".lower() in late.json()["detail"].lower()
        assert decide(other, "bo", {"accept": {"intent": second}}).status_code == 200
        states = [client.get("/v1/review/state").json() for client in (one, other)]
        assert states[0]["intents"] == states[1]["intents"]
        assert {i["name"] for i in states[0]["intents"] if i["status"] == "accepted"} == {second}


def test_a_full_disk_is_one_clear_line_and_nothing_is_lost(folder, tiny_encoder, monkeypatch):
    connect = sqlite3.connect

    def connect_without_room(*args, **options):
        connection = connect(*args, **options)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    def no_room(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with client_of(folder, tiny_encoder) as client:
        question = client.get("/v1/audit").json()["questions"][0]
        answers = {"answers": [{"text": question["text"], "id": question["id"], "belongs": True}]}
        comments = [{"comment": {"intent": question["intent"], "text": "x" * 2_000}}] * 9
        body = {"author": "ana", "version": 0, "decisions": comments}
        with monkeypatch.context() as patch:
            patch.setattr("sqlite3.connect", connect_without_room)
            patch.setattr("os.fsync", no_room)
            for refused in (client.post("/v1/review/decisions", json=body), client.post("/v1/audit", json=answers)):
                assert refused.status_code == 507
                assert "the disk is full, nothing was recorded; make room and" in refused.json()["detail"]
        assert client.post("/v1/review/decisions", json=body).json()["version"] == 9
        assert client.post("/v1/audit", json=answers).json()["answered"] == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_killed_refit_leaves_the_model_and_no_half_of_another(folder, tiny_encoder, tmp_path):
    """Killed at five moments: either there is no new folder, or a whole one that can be loaded."""
    ReviewStore(folder).decide([Decision("accept", {"intent": ReviewStore(folder).names[-1]})], author="ana")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for attempt in range(5):
        out = tmp_path / f"refit-{attempt}"
        child = os.fork()
        if child == 0:  # pragma: no cover (the child is killed)
            refit(folder, out, encoder=tiny_encoder, device="cpu")
            os._exit(0)
        time.sleep(0.02 + 0.15 * attempt)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        if out.exists():
            assert load(out, encoder=tiny_encoder).predict(["pay"])
    assert load(folder, encoder=tiny_encoder).reviewed.review.accepted
