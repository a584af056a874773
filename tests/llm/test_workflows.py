"""A language model in discovery, updates and refits, in every interface."""

from __future__ import annotations

import csv
import json
import shutil
import socket

import pytest
from server import error, says, says_by, serving, slow

import newfound
from commands import newfound as command
from newfound.llm import LanguageModelSettings
from waiting import until

pytestmark = pytest.mark.slow  # dozens of fits

SETTINGS = {"n_new": 2, "device": "cpu", "effort": "quick"}


@pytest.fixture(autouse=True)
def _forgetful(tmp_path, monkeypatch):
    """Answers of one test are not remembered in the next."""
    monkeypatch.setattr("newfound.llm.asking.answer_cache_dir", lambda: tmp_path / "answers")


@pytest.fixture
def endpoint():
    numbers = iter(range(1_000))

    def answer(prompt):
        return json.dumps({"name": f"asked name {next(numbers)}"}) if is_for_a_name(prompt) else '{"1": "a label"}'

    with serving(says_by(answer)) as server:
        yield server


def is_for_a_name(prompt):
    return prompt.startswith("You name intents")


@pytest.fixture(scope="module")
def files(tmp_path_factory, themed):
    folder = tmp_path_factory.mktemp("asked")
    with (folder / "known.csv").open("w", newline="") as file:
        rows = zip(themed.labelled().texts, themed.labelled().labels, strict=True)
        csv.writer(file).writerows([("text", "label"), *rows])
    texts = [*themed.unlabelled().texts, "call me on 0171 2345678 please"]
    (folder / "logs.txt").write_text("\n".join(texts))
    return folder


@pytest.fixture(scope="module")
def labels_without(files, tiny_encoder):
    """The intents that are found without a language model."""
    result = newfound.discover(files / "known.csv", files / "logs.txt", encoder=tiny_encoder, **SETTINGS)
    return result.model.labels_.tolist()


def new_names(model):
    return [intent.name for intent in model.intents if not intent.known]


def test_discover_and_update_ask_for_names_and_write_a_transcript(endpoint, files, tiny_folder, tmp_path):
    out, asked = tmp_path / "model", tmp_path / "asked.jsonl"
    done = command(
        *("discover", files / "known.csv", files / "logs.txt", "--out", out, "--n-new", 2, "--device", "cpu"),
        *("--encoder", tiny_folder, "--llm", endpoint.url, "--llm-model", "m", "--llm-transcript", asked),
    )
    assert done.returncode == 0, done.stderr
    model = newfound.load(out)
    assert sorted(new_names(model)) == ["asked_name_0", "asked_name_1"]
    overlaps = {overlap.name for intent in model.intents for overlap in intent.overlaps}
    assert overlaps <= {intent.name for intent in model.intents}, "overlaps have the new names"
    lines = [json.loads(line) for line in asked.read_text().splitlines()]
    assert sorted(line["prompt"] for line in lines) == sorted(endpoint.prompts)
    assert sum(map(is_for_a_name, endpoint.prompts)) == 2
    assert "2345678" not in asked.read_text()

    newer = ["cancel book today stop", "cancel book now stop", "please cancel book", "stop cancel book late", "hello"]
    (tmp_path / "newer.txt").write_text("\n".join(newer))
    options = ("--n-new", 1, "--device", "cpu", "--accept-all", "--encoder", tiny_folder, "--llm", endpoint.url)
    done = command("update", out, tmp_path / "newer.txt", "--out", tmp_path / "next", *options)
    assert done.returncode == 0, done.stderr
    asked_in_the_update = sum(map(is_for_a_name, endpoint.prompts)) - 2
    assert asked_in_the_update == sum(
        name.startswith("asked_name") for name in new_names(newfound.load(tmp_path / "next").reviewed.model)
    )
    assert asked_in_the_update == 1


@pytest.mark.parametrize("fault", ["down", "slow", "quota", "nonsense", "no such message"])
def test_a_run_goes_on_without_an_endpoint(endpoint, files, labels_without, tiny_encoder, fault, caplog):
    endpoint.answer = {
        "down": error(503, "down"),
        "slow": slow(600),
        "quota": error(429, "no credit", "insufficient_quota"),
        "nonsense": says("¿"),
        "no such message": says('{"17": "a label"}'),
    }[fault]
    llm = LanguageModelSettings(endpoint.url, timeout=0.2 if fault == "slow" else 60, retries=0)
    result = newfound.discover(files / "known.csv", files / "logs.txt", encoder=tiny_encoder, llm=llm, **SETTINGS)
    assert result.model.labels_.tolist() == labels_without, "nothing changes, names included"
    said = [r.getMessage() for r in caplog.records if "language model" in r.getMessage()]
    assert len(said) == (0 if fault in ("nonsense", "no such message") else 1), said


def test_without_the_option_nothing_leaves_the_machine(files, tiny_encoder, monkeypatch):
    def connect(*args):
        raise AssertionError(f"a connection to {args[1:]}")

    monkeypatch.setenv("NEWFOUND_LLM_KEY", "set, and not enough to ask anybody")
    monkeypatch.setattr(socket.socket, "connect", connect)
    result = newfound.discover(files / "known.csv", files / "logs.txt", encoder=tiny_encoder, **SETTINGS)
    assert result.n_new == 2


def test_wrong_settings_are_refused_before_anything_is_read(tmp_path):
    done = command("discover", "missing.csv", "missing.txt", "--out", tmp_path / "x", "--llm", "localhost:8000")
    assert done.returncode == 2
    assert "give the address of an endpoint" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_server_says_that_the_language_model_failed(endpoint, saved, tiny_encoder, themed, tmp_path, caplog):
    serving_app = pytest.importorskip("serving", reason="extra `serve` not installed")
    from newfound.serve.settings import ServeSettings

    endpoint.answer = error(401, "no such <b>key</b>")
    folder = shutil.copytree(saved, tmp_path / "model")
    known = zip(themed.labelled().texts, themed.labelled().labels, strict=True)
    body = {
        "author": "ana",
        "known": [{"text": text, "label": label} for text, label in known],
        "logs": list(themed.unlabelled().texts),
        "n_new": 2,
    }
    settings = ServeSettings(llm=LanguageModelSettings(endpoint.url))
    with serving_app.client_of(folder, tiny_encoder, settings) as client:
        assert client.post("/v1/discover", json=body).json()["warnings"] == []
        until(lambda: client.get("/v1/jobs").json()["status"] != "running")
        job = client.get("/v1/jobs").json()
    assert job["status"] == "done", job
    (warning,) = [line for line in job["warnings"] if "language model" in line]
    assert "gave it up (HTTP 401, no such <b>key</b>)" in warning
    assert [r.levelname for r in caplog.records if warning in r.getMessage()] == ["WARNING"]


def test_a_client_of_the_server_cannot_name_an_endpoint(endpoint, saved, tiny_encoder, themed):
    serving_app = pytest.importorskip("serving", reason="extra `serve` not installed")
    body = {
        "author": "ana",
        "known": [
            {"text": t, "label": y} for t, y in zip(themed.labelled().texts, themed.labelled().labels, strict=True)
        ],
        "logs": list(themed.unlabelled().texts),
    }
    with serving_app.client_of(saved, tiny_encoder) as client:
        for field in ("llm", "llm_url"):
            for value in (endpoint.url, {"url": endpoint.url}):
                assert client.post("/v1/discover", json={**body, field: value}).status_code == 422
        refused = client.post("/v1/update", json={"author": "ana", "logs": body["logs"], "llm": {"url": endpoint.url}})
        assert refused.status_code == 422
        assert client.post("/v1/review/refit", json={"author": "ana", "llm": endpoint.url}).status_code == 422
    assert endpoint.asked == []
