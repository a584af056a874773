"""Lists of utterances over HTTP: parts of them, those of the logs, and many moved with one decision."""

from __future__ import annotations

import shutil

import pytest
from serving import client_of, columns_of

from newfound.review import views


@pytest.fixture
def client(saved, tmp_path, tiny_encoder):
    with client_of(shutil.copytree(saved, tmp_path / "model"), tiny_encoder) as client:
        yield client


def get(client, path, **parameters):
    answer = client.get(f"/v1/review/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def decide(client, *decisions):
    version = get(client, "state")["version"]
    return client.post("/v1/review/decisions", json={"author": "ana", "version": version, "decisions": decisions})


def test_a_selection_says_what_each_intent_would_lose(client):
    page = get(client, "intent", name="pay")
    other = get(client, "intent", name="meter")["ids"][:1]
    answer = client.post("/v1/review/selection", json={"ids": page["ids"][:3] + other}).json()
    assert answer["losses"] == [
        {"intent": "pay", "taken": 3, "size": page["total"]},
        {"intent": "meter", "taken": 1, "size": get(client, "intent", name="meter")["total"]},
    ]
    labelled = {u["id"] for u in page["utterances"] if u["labelled"]}
    everything = client.post("/v1/review/selection", json={"ids": page["ids"]}).json()
    assert everything["labelled"] == len(labelled) > 0


def test_many_are_moved_by_their_numbers_and_brought_back(client):
    before = columns_of(get(client, "map"))
    ids = get(client, "search", q="a", logs_only=True)["ids"]
    assert len(ids) > 40
    decided = decide(client, {"move": {"ids": ids, "to": "gathered", "create": True}})
    assert decided.status_code == 200, decided.text
    (entry,) = decided.json()["entries"]
    assert len(entry["arguments"]["texts"]) == len(ids), "the log holds texts: numbers mean something in one model only"
    answer = get(client, "map")
    after = columns_of(answer)
    assert set(after.ids[after.checked == 1]) == set(ids)
    assert {answer["names"][i] for i in after.intents[after.checked == 1]} == {"gathered"}
    undone = client.post("/v1/review/undo", json={"author": "ana", "version": decided.json()["version"]})
    assert len(undone.json()["entries"]) == 1
    restored = columns_of(get(client, "map"))
    assert restored.intents.tolist() == before.intents.tolist()


@pytest.mark.parametrize("ids", [[], [-1], [10**9], ["a"], [1.5], "all"])
def test_numbers_that_name_no_utterance_are_refused(client, ids):
    answer = decide(client, {"move": {"ids": ids, "to": "pay"}})
    assert answer.status_code == 422, answer.text
    assert client.post("/v1/review/selection", json={"ids": ids}).status_code == 422


def test_the_limit_of_a_move_is_told_and_kept(client, monkeypatch):
    monkeypatch.setattr(views, "MAX_UTTERANCES_TO_MOVE", 5)
    hits = get(client, "search", q="a")
    assert len(hits["ids"]) == 5 < hits["total"]
    assert decide(client, {"move": {"ids": hits["ids"], "to": "pay"}}).status_code == 200
    refused = decide(client, {"move": {"ids": list(range(6)), "to": "pay"}})
    assert refused.status_code == 422
    assert "at most 5 utterances" in refused.json()["detail"]
