"""What the review page asks the server for: the map before its layout is done, refits, news."""

from __future__ import annotations

import dataclasses
import threading

from serving import QUIET, client_of

import newfound.review.session as session_module
from newfound.serve import middleware
from waiting import SECONDS_TO_WAIT, until


def test_the_map_does_not_wait_for_the_final_layout(saved, tiny_encoder, monkeypatch):
    """With many utterances t-SNE takes long; until it is done a simple layout is shown."""
    go_on, original = threading.Event(), session_module.map_positions

    def slow(x, *, quick=False):
        assert quick or go_on.wait(SECONDS_TO_WAIT)
        return original(x, quick=quick)

    monkeypatch.setattr(session_module, "map_positions", slow)
    monkeypatch.setattr(session_module, "MAX_UTTERANCES_TO_WAIT_FOR", {"layout": 10, "votes": 10})
    with client_of(saved, tiny_encoder, warm_up=True) as client:
        first = client.get("/v1/review/map").json()
        assert first["is_final"] is False
        go_on.set()
        until(lambda: client.get("/v1/review/map").json()["is_final"])
        last = client.get("/v1/review/map").json()
    assert last["is_final"]
    assert {name: last[name] for name in ("intents", "ids", "probabilities", "checked")}.items() <= first.items()
    assert last["positions"] != first["positions"]


def test_a_refit_that_cannot_be_written_is_refused_before_it_trains(saved, tiny_encoder, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    with client_of(saved, tiny_encoder) as client:
        monkeypatch.setattr("tempfile.mkdtemp", full)
        answer = client.post("/v1/review/refit", json={"author": "ana"})
        assert answer.status_code == 409
        assert "cannot be written beside the model (Read-only file system)" in answer.json()["detail"]
        assert answer.json()["detail"].startswith("model-2: "), "a client sees no path"
        assert client.get("/v1/jobs").json()["status"] == "idle"
        refused = client.post("/v1/review/serve", json={"author": "ana"})
        assert refused.status_code == 409
        assert "no job has written a model" in refused.json()["detail"]


def test_news_tell_what_others_did_and_keep_no_session_alive(folder, tiny_encoder, monkeypatch):
    now = 0.0
    monkeypatch.setattr(middleware, "monotonic", lambda: now)
    monkeypatch.setattr(middleware, "SECONDS_OF_SESSION", 1.5)
    settings = dataclasses.replace(QUIET, token="a-secret-of-24-characters")
    with client_of(folder, tiny_encoder, settings) as client:
        client.post("/login", data={"token": settings.token}, headers={"origin": "http://127.0.0.1"})
        bearer = {"Authorization": f"Bearer {settings.token}"}
        assert client.get("/v1/review/news").json()["events"] == []
        decision = {"author": "bo", "version": 0, "decisions": [{"accept": {"intent": "pay"}}]}
        with_cookie = client.post("/v1/review/decisions", json=decision, headers=bearer)
        assert with_cookie.status_code == 403, "who sends the cookie needs the secret of the page, too"
        cookies = dict(client.cookies)
        client.cookies.clear()
        assert client.post("/v1/review/decisions", json=decision, headers=bearer).status_code == 200
        client.cookies.update(cookies)
        assert [e["words"] for e in client.get("/v1/review/news?since=0").json()["events"]] == ["bo accepted pay"]
        for _ in range(4):
            now += 0.5
            answer = client.get("/v1/review/news?since=0")
        assert answer.status_code == 401, "a page that only asks for news is logged out in the end"
