"""An intent that has no utterances is nowhere shown as certain."""

from __future__ import annotations

import json
import re
import shutil

import pytest

import newfound
from commands import newfound as command
from newfound.review.decisions import Decision
from newfound.review.state import described_without_network
from newfound.review.store import ReviewStore


@pytest.fixture
def folder(session):
    """A model one of whose two new intents is empty: a person has moved its utterances to the other one."""
    first, other = (intent.name for intent in session.view().state.intents if not intent.known)
    texts = [u.text for u in session.view().describer.utterances if u.intent == first]
    session.store.decide([Decision("move", {"texts": texts, "to": other})], author="ana")
    session.store.decide([Decision("rename", {"intent": first, "to": "empty"})], author="ana")
    return session.folder


def test_an_empty_intent_has_no_certainty_in_any_interface(folder, tiny_folder, tiny_encoder, tmp_path):
    encoder = ("--encoder", tiny_folder)
    (empty,) = (i for i in newfound.load(folder, encoder=tiny_encoder).intents if i.name == "empty")
    assert (empty.size, empty.certainty, empty.expected_error) == (0, None, None)
    (line,) = (row for row in command("inspect", folder, *encoder).stdout.splitlines() if row.startswith("empty"))
    assert re.split(r"\s*│\s*", line)[:4] == ["empty", "new", "0", "–"]
    inspected = json.loads(command("inspect", folder, "--json", *encoder).stdout)["intents"]
    assert [i["certainty"] for i in inspected if i["name"] == "empty"] == [None]
    page = tmp_path / "report.html"
    assert command("report", folder, "--out", page, *encoder).returncode == 0
    (card,) = re.findall(r'<article data-name="empty".*?</article>', page.read_text(), re.S)
    assert "0 utterances" in card
    assert "probably wrong" not in card


def test_an_empty_intent_has_no_certainty_over_http(folder, tiny_encoder):
    serving = pytest.importorskip("serving", reason="extra `serve` not installed")
    with serving.client_of(folder, tiny_encoder) as client:
        intents = client.get("/v1/review/state").json()["intents"]
        assert [(i["size"], i["certainty"]) for i in intents if i["name"] == "empty"] == [(0, None)]
        assert client.get("/v1/review/intent", params={"name": "empty"}).json()["certainty"] is None


def test_reviews_of_models_with_an_empty_intent_still_need_no_network(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    about = json.loads((folder / "model.json").read_text())
    about["intents"][-1] |= {"size": 0, "certainty": None}
    (folder / "model.json").write_text(json.dumps(about))
    name = about["intents"][0]["name"]
    ReviewStore(folder).decide([Decision("rename", {"intent": name, "to": "other"})], author="ana")
    store = ReviewStore(folder)
    described = described_without_network(store.review(), store.intents)
    assert described is not None
    assert [intent.certainty for intent in described][-1] is None
