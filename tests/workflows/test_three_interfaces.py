"""One job through the command line, HTTP and Python gives the same models and the same answers."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import asdict

import pytest

import newfound
from commands import newfound as command
from newfound import errors as newfound_errors
from newfound.data.validation import read_corpus
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore

pytestmark = pytest.mark.slow  # dozens of fits

serving = pytest.importorskip("serving", reason="extra `serve` not installed")

SETTINGS = {"n_new": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def files(tmp_path_factory, themed):
    folder = tmp_path_factory.mktemp("interfaces")
    with (folder / "known.csv").open("w", newline="") as file:
        rows = zip(themed.labelled().texts, themed.labelled().labels, strict=True)
        csv.writer(file).writerows([("text", "label"), *rows])
    with (folder / "logs.csv").open("w", newline="") as file:
        texts = [*themed.unlabelled().texts, *themed.unlabelled().texts[:10], "call me on 0171 2345678 please"]
        csv.writer(file).writerows([("text",), *((text,) for text in texts)])
    return folder


@pytest.fixture(scope="module")
def by_command(files, tiny_folder):
    out = files / "by-command"
    options = ("--n-new", 2, "--device", "cpu", "--encoder", tiny_folder, "--redact")
    done = command("discover", files / "known.csv", files / "logs.csv", "--out", out, *options)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def by_python(files, tiny_folder):
    out = files / "by-python"
    result = newfound.discover(
        files / "known.csv", files / "logs.csv", out, encoder=str(tiny_folder), redact=True, **SETTINGS
    )
    assert result.folder == out
    assert result.n_new == 2
    return out


@pytest.fixture(scope="module")
def by_http(files, by_command, tiny_encoder):
    known, _ = read_corpus(files / "known.csv")
    logs, _ = read_corpus(files / "logs.csv", labels="ignored")
    body = {
        "author": "ana",
        "known": [{"text": t, "label": y} for t, y in zip(known.texts, known.labels, strict=True)],
        "logs": list(logs.texts),
        "n_new": 2,
        "redact": True,
    }
    with serving.client_of(by_command, tiny_encoder) as client:
        assert client.post("/v1/discover", json=body).status_code == 200
        return files / serving.wait_for_job(client)["folder"]


def _contents(folder):
    about = json.loads((folder / "model.json").read_text())
    for key in ("created", "timings"):
        about["provenance"].pop(key)
    about["encoder"].pop("name")
    utterances = [json.loads(line) for line in (folder / "utterances.jsonl").read_text().splitlines()]
    for utterance in utterances:
        utterance.pop("source")  # a file's name, where there was a file
    return about, utterances, (folder / "weights.safetensors").read_bytes()


def test_discovery_is_the_same(by_command, by_python, by_http):
    expected = _contents(by_command)
    assert _contents(by_python) == expected
    assert _contents(by_http) == expected
    counts = {u["text"]: u["count"] for u in expected[1] if not u["labelled"]}
    assert sum(count > 1 for count in counts.values()) >= 10, "repeats are counted in every interface"
    assert any("<phone>" in text for text in counts), "masks are there in every interface"


def test_estimates_mask_as_discovery_does(tmp_path, tiny_folder, tiny_encoder):
    known = [("pay bill money", "pay"), ("leak water smell", "leak"), ("call 030 1234567", "pay"), ("pay now", "pay")]
    logs = [f"call me at 0301234{number}" for number in range(100, 130)]
    with (tmp_path / "known.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *known])
    (tmp_path / "logs.txt").write_text("\n".join(logs))
    options = ("--encoder", tiny_folder, "--redact")
    printed = command("estimate", tmp_path / "known.csv", tmp_path / "logs.txt", *options)
    assert printed.returncode == 0, printed.stderr
    assert "masked something in 30 of 30 utterances" in printed.stderr
    assert "30 utterances in the logs, 1 distinct ones" in printed.stderr
    pairs = tuple(zip(*known, strict=True))
    found = newfound.estimate(pairs, logs, encoder=tiny_encoder, redact=True)
    assert found == newfound.estimate(pairs, ["call me at <phone>"] * 30, encoder=tiny_encoder)


@pytest.fixture
def reviewed(by_command, tmp_path):
    folder = shutil.copytree(by_command, tmp_path / "model")
    first, second = (i["name"] for i in json.loads((folder / "model.json").read_text())["intents"] if not i["known"])
    decisions = [Decision("rename", {"intent": first, "to": "moving"}), Decision("accept", {"intent": "moving"})]
    ReviewStore(folder).decide([*decisions, Decision("reject", {"intent": second})], author="ana")
    return folder


LIMITS = {"none": {}, "the unsure": {"top": 3, "threshold": 0.6}}


@pytest.mark.parametrize("case", LIMITS)
def test_predictions_and_their_limits_are_the_same(case, reviewed, themed, tiny_folder, tiny_encoder, tmp_path):
    limits, texts = LIMITS[case], [*themed.texts[::7], "zzz qqq"]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    plain = newfound.load(reviewed, encoder=tiny_encoder).classify(texts)
    expected = newfound.predict(reviewed, texts, encoder=tiny_encoder, device="cpu", **limits)
    if case == "none":
        assert [p.intent for p in expected] == [p.intent for p in plain]
        assert {p.status for p in expected} == {"known", "accepted", None}, "an intent was rejected"
    else:
        assert [p.intent is None for p in expected] == [p.intent is None or p.probability < 0.6 for p in plain]
        assert {(p.status, p.known) for p in expected if p.intent is None} == {(None, False)}
    options = [part for name, value in limits.items() for part in (f"--{name.replace('_', '-')}", value)]
    printed = command("predict", reviewed, tmp_path / "texts.txt", "--encoder", tiny_folder, *options).stdout
    with serving.client_of(reviewed, tiny_encoder) as client:
        answers = client.post("/v1/predict", json={"texts": texts, **limits}).json()["predictions"]
    for found in ([json.loads(line) for line in printed.splitlines()], answers):
        assert [(one["intent"], one["status"], one["known"]) for one in found] == [
            (p.intent, p.status, p.known) for p in expected
        ]
        assert [one["probability"] for one in found] == pytest.approx([p.probability for p in expected], abs=1e-4)
        ranked = [one.get("top", []) for one in found]
        assert [[r["intent"] for r in top] for top in ranked] == [[r.intent for r in p.top] for p in expected]
        for top in ranked:
            probabilities = [one["probability"] for one in top]
            assert len(probabilities) == limits.get("top", 0)
            assert probabilities == sorted(probabilities, reverse=True)


NARROWED = {
    "accepted": ({"only": "accepted"}, {"moving"}),
    "accepted and sure": ({"only": "accepted", "min_probability": 0.9}, {"moving"}),
    "new": ({"only": "new"}, {"moving"}),
    "guesses": ({"with_guesses": True, "min_probability": 0.6}, {"moving", "pay", "meter", "leak"}),
}


@pytest.mark.parametrize("case", NARROWED)
def test_exports_are_narrowed_alike(case, reviewed, tiny_encoder, tmp_path):
    narrowed, names = NARROWED[case]
    newfound.export(reviewed, "jsonl", tmp_path / "a.jsonl", encoder=tiny_encoder, **narrowed)
    values = {name.replace("_", "-"): "" if value is True else f"={value}" for name, value in narrowed.items()}
    options = [f"--{name}{value}" for name, value in values.items()]
    assert command("export", reviewed, "--to", "jsonl", "--out", tmp_path / "b.jsonl", *options).returncode == 0
    with serving.client_of(reviewed, tiny_encoder) as client:
        by_http = client.get("/v1/export/jsonl", params=narrowed)
        assert client.get("/v1/export/jsonl", params={"only": "some"}).status_code == 422
    content = (tmp_path / "a.jsonl").read_bytes()
    assert content == (tmp_path / "b.jsonl").read_bytes() == by_http.content
    assert {json.loads(line)["label"] for line in content.splitlines()} == names
    least, wanted = narrowed.get("min_probability", 0.5), []
    for u in newfound.load(reviewed, encoder=tiny_encoder).utterances:
        if u.intent in names and (u.labelled or u.probability >= least):
            wanted.append(u.text)
    assert [json.loads(line)["text"] for line in content.splitlines()] == wanted


def test_descriptions_are_the_same(reviewed, tiny_folder, tiny_encoder):
    intents = {i.name: i for i in newfound.load(reviewed, encoder=tiny_encoder).intents}
    printed = json.loads(command("inspect", reviewed, "--json", "--encoder", tiny_folder).stdout)["intents"]
    with serving.client_of(reviewed, tiny_encoder) as client:
        answered = client.get("/v1/intents").json()
        paged = [client.get("/v1/review/intent", params={"name": i["name"]}).json() for i in answered]
    for shown in (printed, answered, paged):
        assert {i["name"] for i in shown} == set(intents)
        for one in shown:
            intent = asdict(intents[one["name"]])
            for key in ("status", "size", "labelled", "certainty", "expected_error"):
                assert one[key] == intent[key], (one["name"], key)
            for key in ("exemplars", "keywords", "border"):
                assert one[key] == list(intent[key]), (one["name"], key)
            assert [o["name"] for o in one["overlaps"]] == [o["name"] for o in intent["overlaps"]]


def test_refits_updates_and_exports_are_the_same(reviewed, files, tiny_folder, tiny_encoder, tmp_path):
    newer = ["cancel book today stop", "cancel book now stop", "please cancel book", "stop cancel book late", "hello"]
    (tmp_path / "newer.txt").write_text("\n".join(newer))
    (tmp_path / "decisions.yaml").write_text("- accept: moving\n")
    refitted, updated = tmp_path / "refitted", tmp_path / "updated"
    encoder = ("--encoder", tiny_folder)
    done = command(
        *("review", "apply", reviewed, tmp_path / "decisions.yaml", "--refit", "--out", refitted),
        *("--device", "cpu", *encoder),
    )
    assert done.returncode == 0, done.stderr
    done = command(
        "update", reviewed, tmp_path / "newer.txt", "--out", updated, "--n-new", 1, "--device", "cpu", *encoder
    )
    assert done.returncode == 0, done.stderr
    done = command("export", reviewed, "--to", "clu", "--out", tmp_path / "a.json", *encoder)
    assert done.returncode == 0, done.stderr

    newfound.refit(reviewed, tmp_path / "refitted-2", encoder=tiny_encoder, device="cpu")
    newfound.update(
        reviewed, tmp_path / "newer.txt", tmp_path / "updated-2", encoder=tiny_encoder, **SETTINGS | {"n_new": 1}
    )
    newfound.export(reviewed, "clu", tmp_path / "b.json", encoder=tiny_encoder)
    assert _contents(tmp_path / "refitted-2") == _contents(refitted)
    assert _contents(tmp_path / "updated-2") == _contents(updated)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()

    with serving.client_of(reviewed, tiny_encoder) as client:
        assert client.post("/v1/review/refit", json={"author": "ana"}).status_code == 200
        assert _contents(tmp_path / serving.wait_for_job(client)["folder"]) == _contents(refitted)
        assert client.post("/v1/update", json={"author": "ana", "logs": newer, "n_new": 1}).status_code == 200
        assert _contents(tmp_path / serving.wait_for_job(client)["folder"]) == _contents(updated)
        exported = client.get("/v1/export/clu").content
    assert exported == (tmp_path / "a.json").read_bytes()


def test_a_start_without_known_intents_is_the_same(files, tmp_path, tiny_folder, by_command, tiny_encoder):
    logs, _ = read_corpus(files / "logs.csv", labels="ignored")
    out = tmp_path / "cold-by-command"
    done = command(
        *("discover", files / "logs.csv", "--out", out, "--n-new", 3, "--device", "cpu", "--encoder", tiny_folder)
    )
    assert done.returncode == 0, done.stderr
    assert "No known intents: all intents are discovered." in done.stderr
    expected = _contents(out)
    assert len(expected[0]["intents"]) == 3
    assert not any(intent["known"] for intent in expected[0]["intents"])
    given = {"encoder": str(tiny_folder), "n_new": 3, "device": "cpu"}
    for number, call in enumerate(({"logs": files / "logs.csv"}, {"known": files / "logs.csv"}, {"logs": logs.texts})):
        newfound.discover(**call, out=tmp_path / f"cold-{number}", **given)
        assert _contents(tmp_path / f"cold-{number}") == expected
    estimated = newfound.estimate(None, files / "logs.csv", encoder=tiny_encoder)
    printed = command("estimate", files / "logs.csv", "--encoder", tiny_folder).stdout
    assert f"About {estimated.n_new} new intents" in printed
    with serving.client_of(by_command, tiny_encoder) as client:
        refused = client.post("/v1/discover", json={"author": "ana"})
        assert refused.status_code == 422
        assert "give either `logs` or `logs_file`" in refused.text
        body = {"author": "ana", "logs": list(logs.texts), "n_new": 3}
        assert client.post("/v1/discover", json=body).status_code == 200
        assert _contents(files / serving.wait_for_job(client)["folder"]) == expected
    with pytest.raises(newfound_errors.DataError, match="give the logs"):
        newfound.discover(encoder=tiny_encoder)


def test_combined_data_and_conflicts_are_the_same(files, tmp_path, tiny_folder, tiny_encoder):
    known, _ = read_corpus(files / "known.csv")
    logs, _ = read_corpus(files / "logs.csv", labels="ignored")
    other = next(label for label in known.intents if label != known.labels[0])
    texts = [*known.texts, known.texts[0], *logs.texts]
    labels = [*known.labels, other, *[None] * len(logs)]
    with (tmp_path / "all.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((t, y or "") for t, y in zip(texts, labels, strict=True))])
    encoder = {"encoder": tiny_encoder}
    with pytest.raises(newfound_errors.ConflictingLabels, match="is labelled") as caught:
        newfound.estimate((texts, labels), **encoder)
    assert [use[1] for use in caught.value.conflicts[0].uses] == [known.labels[0], other]
    done = command("estimate", tmp_path / "all.csv", "--encoder", tiny_folder)
    assert done.returncode == 2
    assert "--conflicts first" in done.stderr
    expected = newfound.estimate(files / "known.csv", files / "logs.csv", **encoder)
    assert newfound.estimate((texts, labels), conflicts="first", **encoder) == expected
    assert newfound.estimate(tmp_path / "all.csv", conflicts="first", **encoder) == expected
    printed = command("estimate", tmp_path / "all.csv", "--encoder", tiny_folder, "--conflicts", "first").stdout
    assert f"About {expected.n_new} new intents" in printed
