"""A saved model answers without torch once its graph is in the cache, and as torch does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import newfound
from newfound.methods.kmeans import KMeans
from newfound.review.decisions import Decision
from newfound.review.opening import open_stored
from newfound.review.store import ReviewStore

pytest.importorskip("onnxruntime", reason="extra `onnx` not installed")
pytest.importorskip("onnx", reason="extra `onnx` not installed")

TEXTS = ["pay my bill please", "leak", "move house when", "pay my bill please", "solar power car charge", ""]


def by_torch(folder, monkeypatch, **more):
    with monkeypatch.context() as patch:
        patch.setenv("NEWFOUND_ONNX", "0")
        return newfound.predict(folder, TEXTS, device="cpu", **more)


def assert_alike(found, expected):
    assert [(p.intent, p.known, p.status) for p in found] == [(p.intent, p.known, p.status) for p in expected]
    assert [p.probability for p in found] == pytest.approx([p.probability for p in expected], abs=1e-5)
    assert [p.outlier for p in found] == pytest.approx([p.outlier for p in expected], abs=1e-4)
    assert [[r.intent for r in p.top] for p in found] == [[r.intent for r in p.top] for p in expected]


def test_answers_are_those_of_torch_with_and_without_decisions(folder, monkeypatch):
    expected = by_torch(folder, monkeypatch, top=3)
    assert_alike(newfound.predict(folder, TEXTS, device="cpu", top=3), expected)
    assert_alike(open_stored(folder).classify(TEXTS, top=3), expected)
    about = json.loads((folder / "model.json").read_text())
    new = [intent["name"] for intent in about["intents"] if not intent["known"]]
    utterances = [u.text for u in newfound.load(folder).utterances if u.intent == new[1]]
    ReviewStore(folder).decide(
        [
            Decision("split", {"intent": new[1], "into": {"one": utterances[:2], "two": utterances[2:4]}}),
            Decision("move", {"texts": [utterances[5]], "to": "leak"}),
            Decision("reject", {"intent": new[0]}),
        ],
        author="ana",
    )
    assert_alike(open_stored(folder).classify(TEXTS, top=3), by_torch(folder, monkeypatch, top=3))
    (moved,) = open_stored(folder).classify([utterances[5]])
    assert (moved.intent, moved.probability) == ("leak", 1.0)


def test_torch_is_not_imported(folder):
    newfound.predict(folder, TEXTS[:1], device="cpu")  # makes the graph
    code = f"""
import sys
from newfound.workflows.prediction import predict
answer = predict({str(folder)!r}, ["pay my bill"], device="cpu")
print([name for name in ("torch", "sklearn", "scipy", "transformers") if name in sys.modules], answer[0].intent)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split(" ", 1)[0] == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("tune", ["last", "all"])
def test_a_trained_model_is_answered_by_a_graph_of_its_own(tune, tiny_encoder, themed, tmp_path, monkeypatch):
    from newfound.encoders.onnx import engine

    method = KMeans(n_new=2, encoder=tiny_encoder, tune=tune, pretrain_epochs=1, epochs=1, trunk_views=0, device="cpu")
    method.fit(themed.texts, themed.labels).save(tmp_path / "model")
    expected = by_torch(tmp_path / "model", monkeypatch)
    monkeypatch.setenv(
        "NEWFOUND_CACHE", str(tmp_path / "empty")
    )  # names are chosen by vectors, so that the fit made one
    engine._open_sessions.clear()
    assert open_stored(tmp_path / "model") is None, "no graph of this model was made yet"
    assert_alike(newfound.predict(tmp_path / "model", TEXTS, device="cpu"), expected)
    assert_alike(open_stored(tmp_path / "model").classify(TEXTS), expected)


def test_a_model_with_its_encoder_works_alike(folder, tmp_path, monkeypatch):
    newfound.load(folder).reviewed.model.save(tmp_path / "whole", with_encoder=True)
    assert_alike(newfound.predict(tmp_path / "whole", TEXTS, device="cpu"), by_torch(folder, monkeypatch))


def test_damaged_weights_are_left_to_the_one_who_can_explain_them(folder):
    newfound.predict(folder, TEXTS, device="cpu")
    (folder / "weights.safetensors").write_bytes(b"nothing")
    assert open_stored(folder) is None
    with pytest.raises(newfound.errors.ModelError, match=r"weights\.safetensors: damaged"):
        newfound.predict(folder, TEXTS, device="cpu")
