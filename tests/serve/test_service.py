"""The served model is never older than what its folder holds, whenever that was written."""

from __future__ import annotations

import shutil
import threading

import pytest
from serving import QUIET, client_of

from newfound.model.sidecars import load_answers
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession
from newfound.review.store import ReviewStore
from newfound.serve.service import Service


def rename(folder, to):
    ReviewStore(folder).decide([Decision("rename", {"intent": ReviewStore(folder).names[-1], "to": to})], author="ana")


def after_the_next_view(monkeypatch, action):
    """Call `action` when the next view of a session was made, before the session's user has it."""
    original = ReviewSession.view

    def view(self):
        made = original(self)
        monkeypatch.setattr(ReviewSession, "view", original)
        action()
        return made

    monkeypatch.setattr(ReviewSession, "view", view)


def test_a_decision_while_the_model_is_loaded_is_noticed(folder, tiny_encoder, monkeypatch):
    after_the_next_view(monkeypatch, lambda: rename(folder, "renamed"))
    service = Service(folder, QUIET, encoder=tiny_encoder)
    assert "renamed" not in service.session.latest.names
    service.reload_if_newer()
    assert "renamed" in service.session.latest.names


def test_an_older_view_does_not_replace_a_newer_one(folder, tiny_encoder, monkeypatch):
    """Two requests at once: the one that read first ends last."""
    service = Service(folder, QUIET, encoder=tiny_encoder)
    other = threading.Thread(target=service.session.view)

    def decide_and_refresh_elsewhere():
        rename(folder, "renamed")
        other.start()
        other.join(0.5)  # it may have to wait for the first request

    after_the_next_view(monkeypatch, decide_and_refresh_elsewhere)
    service.session.view()
    other.join()
    assert "renamed" in service.session.latest.names


@pytest.mark.parametrize("path", ["/v1/review/decisions", "/v1/audit"])
def test_a_request_is_about_one_model_also_when_another_is_served_meanwhile(
    folder, tiny_encoder, tmp_path, monkeypatch, path
):
    other, session_for = shutil.copytree(folder, tmp_path / "other"), Service.session_for

    def switch_afterwards(self, model):
        session = session_for(self, model)
        self._switch_to(other, tiny_encoder)
        return session

    with client_of(folder, tiny_encoder) as client:
        model = client.get("/v1/review/state").json()["model"]
        question = client.get("/v1/audit").json()["questions"][0]
        body = {"answers": [{"text": question["text"], "id": question["id"], "belongs": True}]}
        if path != "/v1/audit":
            body = {"author": "ana", "version": 0, "decisions": [{"accept": {"intent": question["intent"]}}]}
        monkeypatch.setattr(Service, "session_for", switch_afterwards)
        assert client.post(path, json={**body, "model": model}).status_code == 200
        assert client.get("/v1/review/state").json()["name"] == "other"
    assert (len(ReviewStore(folder).entries()), len(load_answers(folder))) in ((1, 0), (0, 1))
    assert (len(ReviewStore(other).entries()), len(load_answers(other))) == (0, 0)
