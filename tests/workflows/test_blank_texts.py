"""Texts of which nothing can be seen get no intent, and all ways to classify a text agree."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

import newfound
from commands import newfound as command
from newfound.model.folder import load as load_unreviewed
from newfound.text import is_blank

BLANK = ["", " ", "\x00", "\t\u2003\u200b", "\x00 \x07\ufeff"]
EXAMPLES = Path(__file__).parents[2] / "examples" / "onnx"


@pytest.fixture(scope="module")
def folder(saved, tiny_encoder, tmp_path_factory):
    """A model whose new intents have given up a part of their probability, with its encoder."""
    place = tmp_path_factory.mktemp("blank") / "model"
    model = load_unreviewed(saved, encoder=tiny_encoder)
    replace(model, head=replace(model.head, calibration=replace(model.head.calibration, reliability=0.8))).save(
        place, with_encoder=True
    )
    return place


def test_what_can_be_seen_is_not_blank():
    assert all(map(is_blank, BLANK))
    assert not any(map(is_blank, ["a", " .", "👍", "\x00a", "\u0e01", "\U0001fae9", "\ue000"]))


def test_a_model_answers_as_it_does_with_an_empty_review(folder, themed):
    """Before, one of the two rounded the probability of the intent and the other one did not."""
    texts = [*themed.texts[::5], *BLANK]
    model = load_unreviewed(folder)
    assert model.classify(texts, top=3) == newfound.load(folder).classify(texts, top=3)
    assert model.predict(texts) == [prediction.intent for prediction in model.classify(texts)]
    for prediction in model.classify(texts[:-5], top=1):
        assert prediction.probability == prediction.top[0].probability


def is_no_intent(answer):
    return (answer["intent"], answer["known"], answer["status"], answer["outlier"]) == (None, False, None, 1.0)


def test_blank_texts_get_no_intent_in_every_interface(folder, tmp_path):
    serving = pytest.importorskip("serving", reason="extra `serve` not installed")
    for texts in (BLANK, ["pay bill", *BLANK]):
        for found in (newfound.predict(folder, texts), newfound.load(folder).classify(texts)):
            assert [(p.intent, p.status, p.outlier) for p in found[-5:]] == [(None, None, 1.0)] * 5
    assert newfound.load(folder).predict_proba(BLANK).max() == load_unreviewed(folder).predict_proba(BLANK).max() == 0
    (tmp_path / "texts.txt").write_text("pay bill\n\x00\n", newline="")
    lines = [json.loads(line) for line in command("predict", folder, tmp_path / "texts.txt").stdout.splitlines()]
    assert [line["intent"] is None for line in lines] == [False, True]
    assert is_no_intent(lines[1])
    with serving.client_of(folder, None) as client:
        answers = client.post("/v1/predict", json={"texts": ["pay bill", *BLANK]}).json()["predictions"]
        assert all(map(is_no_intent, answers[1:]))
        assert client.post("/v1/review/explain", json={"text": "\x00"}).json()["intent"] is None


def test_blank_texts_get_no_intent_without_torch_and_without_newfound(folder, tmp_path):
    pytest.importorskip("onnxruntime", reason="extra `onnx` not installed")
    pytest.importorskip("onnx", reason="extra `onnx` not installed")
    from newfound.review.opening import open_stored

    newfound.predict(folder, ["pay bill"], device="cpu")  # stores the graph
    stored = open_stored(folder)
    assert stored is not None
    assert [p.intent is None for p in stored.classify(["pay bill", *BLANK])] == [False, *[True] * 5]
    newfound.export(folder, "onnx", tmp_path / "graph")
    spec = importlib.util.spec_from_file_location("example_onnx", EXAMPLES / "predict.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.classify(tmp_path / "graph", ["pay bill", *BLANK])
    assert [(a["intent"] is None, a["outlier"]) for a in found[1:]] == [(True, True)] * 5
    assert [a["probability"] for a in found[1:]] == [1.0] * 5
    assert found[0]["intent"] is not None
