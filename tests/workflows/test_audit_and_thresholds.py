"""Audits, thresholds and explanations: the same in every interface, kept by id, and clear about bad input."""

from __future__ import annotations

import json
import shutil

import pytest

import newfound
from commands import newfound as command
from newfound.errors import DataError, ModelError, SettingsError, TargetExists
from newfound.files import check_replaceable
from newfound.model.sidecars import load_answers
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore

serving = pytest.importorskip("serving", reason="extra `serve` not installed")


@pytest.fixture
def model(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def _answer(model, count, belongs=lambda i: i % 4 > 0):
    questions = newfound.audit(model, count).questions
    return newfound.audit(model, count, {(q.text, q.id): belongs(i) for i, q in enumerate(questions)})


def test_an_audit_goes_on_and_its_answers_stay_with_renamed_intents_and_moved_utterances(model):
    """Correcting what an audit found wrong makes those utterances right, and tells nothing good about the others."""
    first = newfound.audit(model, 12)
    assert first.accuracy is None
    assert len(first.questions) == 12
    assert all(q.examples and q.text not in q.examples for q in first.questions)
    done = _answer(model, 12)
    assert done.answered == 12
    assert not done.questions
    assert done.accuracy.low < done.accuracy.value < done.accuracy.high
    assert len(done.wrong) == 3
    assert sum(i.answered for i in done.intents) == 12
    assert len(newfound.audit(model, 20).questions) == 8
    name = done.intents[0].name
    ReviewStore(model).decide([Decision("rename", {"intent": name, "to": "other"})], author="ana")
    renamed = newfound.audit(model, 12)
    assert renamed.answered == 12
    assert "other" in {i.name for i in renamed.intents}
    promised = newfound.thresholds(model, 0.8)
    found = [text for text, _ in done.wrong]
    ReviewStore(model).decide([Decision("move", {"texts": found, "to": None})], author="ana")
    moved = newfound.audit(model, 12)
    assert (moved.answered, moved.wrong) == (12, ())
    rise = len(found) / sum(i.utterances for i in promised.intents)
    assert moved.accuracy.value == pytest.approx(done.accuracy.value + rise, abs=0.01)
    assert newfound.thresholds(model, 0.8).coverage == pytest.approx(promised.coverage, abs=0.05)
    ReviewStore(model).decide([Decision("reject", {"intent": "other"})], author="ana")
    assert newfound.audit(model, 12).answered < 12


def test_an_audit_is_the_same_in_every_interface(model, tiny_encoder):
    questions = newfound.audit(model, 8).questions
    printed = command("audit", model, "--questions", 8, "--json")
    assert [q["text"] for q in json.loads(printed.stdout)["questions"]] == [q.text for q in questions]
    asked = command("audit", model, "--questions", 8, stdin="n\ns\ny\nu\n" + "y\n" * 6)
    assert asked.returncode == 0, asked.stderr
    assert f"“{questions[0].text}”\nDoes it belong to {questions[0].intent}?" in asked.stdout
    assert "from 7 answers" in asked.stdout
    printed = command("audit", model, "--json")
    assert printed.returncode == 0, printed.stderr
    expected = newfound.audit(model, 0)
    assert json.loads(printed.stdout)["accuracy"]["value"] == expected.accuracy.value
    assert expected.answered == 7
    with serving.client_of(model, tiny_encoder) as client:
        served = client.get("/v1/audit", params={"questions": 8}).json()
        assert served["accuracy"]["value"] == pytest.approx(expected.accuracy.value)
        (left,) = served["questions"]
        answer = {"text": left["text"], "id": left["id"], "belongs": True}
        assert client.post("/v1/audit", json={"answers": [answer]}).json()["answered"] == 8
        other = client.post("/v1/audit", json={"answers": [{**answer, "text": "never said"}]})
        assert other.status_code == 409
        assert "is no utterance of this model" in other.text
    assert len(load_answers(model)) == 8


def test_thresholds_are_in_predictions_and_stay_with_renamed_intents(model, themed, tiny_encoder):
    texts = [*themed.texts[::9], "zzz qqq"]
    plain = newfound.predict(model, texts, encoder=tiny_encoder, device="cpu")
    assert {p.above_threshold for p in plain} == {None}
    result = newfound.thresholds(model, 0.9)
    written = json.loads((model / "thresholds.json").read_text())["intents"]
    assert written == {i.id: i.threshold for i in result.intents}
    least = {i.name: i.threshold for i in result.intents}
    assert 0 < result.coverage < 1
    expected = [
        p.intent is not None and least[p.intent] is not None and p.probability >= least[p.intent] for p in plain
    ]
    assert len(set(expected)) == 2
    loaded = newfound.load(model, encoder=tiny_encoder)
    assert [p.above_threshold for p in loaded.classify(texts)] == expected
    limited = newfound.predict(model, texts, encoder=tiny_encoder, device="cpu", threshold=1.0)
    assert {p.above_threshold for p in limited if p.intent is None} == {False}
    empty = newfound.thresholds(model, 0.9999)
    assert {(i.precision, i.coverage) for i in empty.intents} == {(None, None)}, "no row is above it"
    assert (empty.expected, empty.coverage) == (None, 0.0)
    shown = command("thresholds", model, "--precision", "99.99%").stdout
    assert "0 %" not in shown.split("in all")[0]
    newfound.thresholds(model, 0.9)
    name = result.intents[0].name
    ReviewStore(model).decide([Decision("rename", {"intent": name, "to": "other"})], author="ana")
    assert newfound.load(model, encoder=tiny_encoder).thresholds["other"] == result.intents[0].threshold


def test_answers_correct_thresholds(model):
    trusting = newfound.thresholds(model, 0.8)
    _answer(model, 40, lambda i: False)
    doubting = newfound.thresholds(model, 0.8)
    assert doubting.coverage < trusting.coverage


def test_explanations_are_the_same_in_every_interface(model, themed, tmp_path, tiny_folder, tiny_encoder):
    text = themed.labelled().texts[0]
    ReviewStore(model).decide([Decision("move", {"texts": [themed.texts[-1]], "to": "pay"})], author="ana")
    (why,) = newfound.predict(model, [text], encoder=tiny_encoder, device="cpu", explain=True)
    (plain,) = newfound.predict(model, [text], encoder=tiny_encoder, device="cpu")
    assert (why.intent, why.probability) == (plain.intent, plain.probability)
    assert why.utterances[0].text == text
    assert why.utterances[0].labelled_by == "labelled data"
    assert why.runner_up.intent != why.intent
    loaded = newfound.load(model, encoder=tiny_encoder)
    words = text.split()
    for word in why.words:  # a word may stand in several places, and one of these was left out
        places = [i for i, other in enumerate(words) if other == word.word]
        without = loaded.classify([" ".join(words[:i] + words[i + 1 :]) for i in places], top=10)
        left = [(again.intent, one.probability) for again in without for one in again.top if one.intent == why.intent]
        expected = min(left, key=lambda pair: abs(pair[1] - word.probability))
        assert (word.intent, word.probability) == (expected[0], pytest.approx(expected[1], abs=1e-4))
    (tmp_path / "one.txt").write_text(text)
    asked = ("predict", model, tmp_path / "one.txt", "--explain", "--encoder", tiny_folder, "--device", "cpu")
    line = json.loads(command(*asked).stdout)
    assert line["intent"] == why.intent
    assert [w["word"] for w in line["words"]] == [w.word for w in why.words]
    with serving.client_of(model, tiny_encoder) as client:
        served = client.post("/v1/review/explain", json={"text": text}).json()
        moved = client.post("/v1/review/explain", json={"text": themed.texts[-1]}).json()
    assert [w["word"] for w in served["words"]] == [w.word for w in why.words]
    assert served["runner_up"]["intent"] == why.runner_up.intent
    assert moved["utterances"][0]["labelled_by"] == "review"
    assert "discovered" in {u["labelled_by"] for u in moved["utterances"]}


def test_bad_input_is_one_clear_line(model, tmp_path):
    with pytest.raises(SettingsError, match="between 0 and 1"):
        newfound.thresholds(model, 1.0)
    id = newfound.audit(model, 1).questions[0].id
    with pytest.raises(DataError, match="is no utterance of this model"):
        newfound.audit(model, 1, {("never said", id): True})
    for arguments, words in (
        (("audit", model, "--questions", "0"), "no answers yet"),
        (("thresholds", model, "--precision", "high"), "give a share"),
        (("thresholds", model), "--precision"),
        (("predict", model, tmp_path / "x.txt", "--explain", "--to", "csv"), "JSON lines"),
    ):
        done = command(*arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    _answer(model, 2)
    with pytest.raises(TargetExists, match="answers of an audit"):
        check_replaceable(model, True)
    (model / "audit.json").write_text('{"version": 1, "answers": [3]}')
    with pytest.raises(ModelError, match="damaged"):
        newfound.audit(model)
    (model / "utterances.jsonl").unlink()
    with pytest.raises(ModelError, match="without its utterances"):
        newfound.audit(model)
