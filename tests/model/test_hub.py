"""Models are put on the Hugging Face hub and loaded from there, against a stand-in of its client."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants, errors

import newfound
from commands import newfound as command
from newfound.errors import HubError, SettingsError
from newfound.model import hub as client
from newfound.model.folder import load
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore
from newfound.workflows import publishing

TEXTS = ["please pay my bill today", "the meter is old", "water leak"]


class FakeHub:
    """The methods of `HfApi` that newfound calls; models by name, each with its commits and their files."""

    endpoint = "https://hub.test"

    def __init__(self) -> None:
        self.private: dict[str, bool] = {}
        self.commits: dict[str, dict[str, dict[str, bytes]]] = {}
        self.asked: list[str] = []
        self.is_reachable = True

    def create_repo(self, name, *, private, exist_ok):
        self._answer("create_repo")
        if name.startswith("others/"):
            raise errors.HfHubHTTPError("no rights", response=_response(403))
        self.private.setdefault(name, bool(private))
        self.commits.setdefault(name, {"0" * 40: {}})

    def model_info(self, name, revision="main"):
        self._answer("model_info")
        if name not in self.commits:
            raise errors.RepositoryNotFoundError("not found", response=_response(404))
        if revision != "main" and revision not in self.commits[name]:
            raise errors.RevisionNotFoundError("not found", response=_response(404))
        sha = list(self.commits[name])[-1] if revision == "main" else revision
        return SimpleNamespace(sha=sha, private=self.private[name])

    def upload_folder(self, *, repo_id, folder_path, commit_message, delete_patterns):
        self._answer("upload_folder")
        kept = {
            name: content
            for name, content in self.files(repo_id).items()
            if not any(Path(name).match(pattern) for pattern in delete_patterns)
        }
        fresh = {
            path.relative_to(folder_path).as_posix(): path.read_bytes()
            for path in folder_path.rglob("*")
            if path.is_file()
        }
        sha = hashlib.sha1(repr((repo_id, len(self.commits[repo_id]))).encode()).hexdigest()
        self.commits[repo_id][sha] = kept | fresh
        return SimpleNamespace(oid=sha)

    def snapshot_download(self, name, *, revision, local_dir, allow_patterns):
        self._answer("snapshot_download")
        for file, content in self.commits[name][revision].items():
            if any(Path(file).match(pattern) for pattern in allow_patterns):
                (Path(local_dir) / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(local_dir) / file).write_bytes(content)

    def files(self, name):
        return list(self.commits[name].values())[-1]

    def _answer(self, what):
        if not self.is_reachable:
            raise ConnectionError("no route to host")
        self.asked.append(what)


def _response(status):
    return SimpleNamespace(status_code=status, headers={}, request=None)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    hub = FakeHub()
    for module in (client, publishing):
        monkeypatch.setattr(module, "open_hub", lambda: hub)
    monkeypatch.setenv("HF_TOKEN", "hf_standin")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    yield hub
    client._fetch.cache_clear()


@pytest.fixture
def model(saved, tmp_path):
    """A model folder that holds its encoder, without a review."""
    load(saved).save(tmp_path / "bank-bot", with_encoder=True)
    return tmp_path / "bank-bot"


def test_a_model_makes_the_round_trip_without_its_utterances(hub, model):
    result = newfound.push(model, "ana/bank-bot")
    files = hub.files("ana/bank-bot")
    assert {"model.json", "weights.safetensors", "README.md"} <= set(files)
    assert "utterances.jsonl" not in files
    assert hub.private == {"ana/bank-bot": False}
    about = json.loads(files["model.json"])
    assert all(intent["exemplars"] == intent["border"] == [] for intent in about["intents"])
    assert "/tmp/" not in files["model.json"].decode()
    texts = [json.loads(line)["text"] for line in (model / "utterances.jsonl").read_text("utf-8").splitlines()]
    published = b"\n".join(content for name, content in files.items() if name.endswith((".json", ".md"))).decode()
    assert not [text for text in texts if len(text.split()) > 2 and text in published]
    assert "| leak | known |" in files["README.md"].decode()
    assert 'newfound.load("hf://ana/bank-bot")' in files["README.md"].decode()

    there, here = newfound.load("hf://ana/bank-bot"), newfound.load(model)
    assert there.predict(TEXTS) == here.predict(TEXTS)
    assert newfound.load(f"hf://ana/bank-bot@{result.commit}").predict(TEXTS) == here.predict(TEXTS)
    assert [p.intent for p in newfound.predict("hf://ana/bank-bot", TEXTS, device="cpu")] == here.predict(TEXTS)
    assert [p.intent for p in newfound.predict(Path("hf://ana/bank-bot"), TEXTS)] == here.predict(TEXTS)


def test_utterances_are_published_if_asked_for_and_deleted_by_the_next_push(hub, model, tmp_path):
    newfound.push(model, "ana/bank-bot", with_utterances=True, private=True)
    assert hub.private == {"ana/bank-bot": True}
    assert hub.files("ana/bank-bot")["utterances.jsonl"] == (model / "utterances.jsonl").read_bytes()
    assert newfound.export("hf://ana/bank-bot", "csv", tmp_path / "x.csv").utterances > 0
    newfound.push(model, "ana/bank-bot", private=True)
    assert "utterances.jsonl" not in hub.files("ana/bank-bot")


def test_decisions_go_along_and_texts_in_them_are_refused(hub, model):
    store = ReviewStore(model)
    store.decide([Decision("rename", {"intent": "leak", "to": "water_leak"})], author="ana")
    store.decide([Decision("comment", {"intent": "pay", "text": "secret remark"})], author="ana")
    newfound.push(model, "ana/bank-bot")
    assert "water_leak" in newfound.load("hf://ana/bank-bot").names
    assert b"| water_leak | known |" in hub.files("ana/bank-bot")["README.md"]
    assert b"secret" not in hub.files("ana/bank-bot")["review.sqlite3"]
    text = newfound.load(model).utterances[0].text
    store.decide([Decision("move", {"texts": [text], "to": "pay"})], author="ana")
    with pytest.raises(SettingsError, match="has moved or split utterances, and has their texts; refit"):
        newfound.push(model, "ana/bank-bot")
    newfound.push(model, "ana/bank-bot", with_utterances=True)
    client._fetch.cache_clear()
    assert newfound.load("hf://ana/bank-bot").predict([text]) == ["pay"]


def test_a_push_writes_its_card_or_the_one_that_somebody_wrote_into_the_folder(hub, model):
    newfound.push(model, "ana/bank-bot")
    generated = hub.files("ana/bank-bot")["README.md"]
    hub.files("ana/bank-bot")["README.md"] = b"# Edited on the hub\n"
    newfound.push(model, "ana/bank-bot", with_utterances=True)
    assert hub.files("ana/bank-bot")["README.md"] == generated
    (model / "README.md").write_text("# Mine\n")
    newfound.push(model, "ana/bank-bot")
    assert hub.files("ana/bank-bot")["README.md"] == b"# Mine\n"


def test_nothing_is_put_into_a_public_model_that_is_asked_to_be_private(hub, model):
    hub.create_repo("ana/bank-bot", private=False, exist_ok=False)
    with pytest.raises(HubError, match="is public already, nothing was put there"):
        newfound.push(model, "ana/bank-bot", private=True)
    assert not hub.files("ana/bank-bot")


def test_a_fetched_model_serves_without_the_network_and_a_newer_one_is_fetched(hub, model):
    newfound.push(model, "ana/bank-bot")
    expected = newfound.load("hf://ana/bank-bot").predict(TEXTS)
    hub.asked.clear()
    newfound.load("hf://ana/bank-bot")
    assert not hub.asked, "once in a process"
    client._fetch.cache_clear()
    newfound.load("hf://ana/bank-bot")
    assert hub.asked == ["model_info"]
    hub.is_reachable = False
    client._fetch.cache_clear()
    assert newfound.load("hf://ana/bank-bot").predict(TEXTS) == expected
    with pytest.raises(HubError, match=r"the hub cannot be reached .*; check the network, or give a model folder"):
        newfound.load("hf://ana/another")


def test_a_server_takes_an_address(hub, model):
    app = pytest.importorskip("newfound.serve.app", reason="extra `serve` not installed")
    newfound.push(model, "ana/bank-bot", with_utterances=True)
    assert app.create_app("hf://ana/bank-bot") is not None
    assert "snapshot_download" in hub.asked


def _one_line(done, *parts):
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    for part in parts:
        assert part in line
    assert "Traceback" not in done.stderr


def test_the_command_pushes_and_takes_the_address_as_a_model(hub, model):
    done = command("push", model, "ana/bank-bot")
    assert done.returncode == 0, done.stderr
    assert f"to {hub.endpoint}/ana/bank-bot, without utterances, which are customers' texts" in done.stdout
    done = command("predict", "hf://ana/bank-bot", stdin="water leak\n")
    assert json.loads(done.stdout)["intent"] == newfound.load(model).predict(["water leak"])[0]
    done = command("inspect", "hf://ana/bank-bot")
    assert "leak" in done.stdout

    _one_line(command("predict", "hf://ana/none"), "no such model on the hub", "hf auth login")
    _one_line(command("predict", "hf://ana/bank-bot@v9"), "hf://ana/bank-bot@v9", "not this revision")
    _one_line(command("predict", "hf://ana"), "give hf://owner/name")
    _one_line(command("push", model, "bank-bot"), "give owner/name")
    _one_line(command("push", model, "others/bank-bot"), "the hub refuses the token", "HTTP 403")
    _one_line(command("push", model, "ana/b", HF_TOKEN=""), "there is no token for the hub", "set HF_TOKEN")
    hub.is_reachable = False
    client._fetch.cache_clear()
    _one_line(command("predict", "hf://ana/unseen"), "the hub cannot be reached", "check the network")
    _one_line(command("push", model, "ana/b"), "the hub cannot be reached")
