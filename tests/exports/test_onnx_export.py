"""The exported graph answers as the model does, in Python without torch and newfound, and in Node."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import newfound
from conftest import write_tiny_encoder
from newfound.errors import OutputError, SettingsError, TargetExists
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore

onnxruntime = pytest.importorskip("onnxruntime", reason="extra `onnx` not installed")
pytest.importorskip("onnx", reason="extra `onnx` not installed")

EXAMPLES = Path(__file__).parents[2] / "examples" / "onnx"
TEXTS = ["pay my bill please", "leak", "move house when", "solar power car charge", "meter read " * 80, " "]
PACKAGES = ("onnxruntime-node@1.30.0", "@huggingface/tokenizers@0.2.0")


@pytest.fixture(scope="module")
def reviewed(saved, tiny_encoder, tmp_path_factory):
    """A model with a reliability, whose intents were renamed, merged, split and rejected."""
    folder = tmp_path_factory.mktemp("onnx") / "model"
    model = newfound.load(saved, encoder=tiny_encoder).reviewed.model
    model = replace(model, head=replace(model.head, calibration=replace(model.head.calibration, reliability=0.8)))
    model.save(folder, with_encoder=True)
    new = [intent.name for intent in model.intents if not intent.known]
    parts = [[u.text for u in model.utterances if u.intent == model.names[-1]][i::2][:3] for i in range(2)]
    ReviewStore(folder).decide(
        [
            Decision("rename", {"intent": "pay", "to": "Zahlung, bitte"}),
            Decision("accept", {"intent": new[0]}),
            Decision("split", {"intent": new[1], "into": {f"part {i}": texts for i, texts in enumerate(parts)}}),
            Decision("merge", {"intents": ["part 0"], "into": "meter"}),
            Decision("reject", {"intent": "part 1"}),
        ],
        author="ana",
    )
    return folder


@pytest.fixture(scope="module")
def exported(reviewed, tmp_path_factory):
    out = tmp_path_factory.mktemp("exported") / "graph"
    result = newfound.export(reviewed, "onnx", out)
    assert (result.path, result.utterances) == (out, 0)
    return out


def answers_of(exported, texts):
    spec = importlib.util.spec_from_file_location("example_onnx", EXAMPLES / "predict.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.classify(exported, texts)


def test_the_graph_returns_the_models_probabilities(reviewed, exported):
    from tokenizers import Tokenizer

    model, about = newfound.load(reviewed), json.loads((exported / "intents.json").read_text())
    assert [intent["name"] for intent in about["intents"]] == list(model.names)
    tokenizer = Tokenizer.from_file(str(exported / "tokenizer.json"))
    session = onnxruntime.InferenceSession(exported / "model.onnx")
    expected = model.predict_proba(TEXTS)
    for row, text in enumerate(TEXTS):
        ids = tokenizer.encode(text).ids
        inputs = {"input_ids": [ids], "attention_mask": [[1] * len(ids)]}
        found = session.run(None, {k: np.array(v, dtype=np.int64) for k, v in inputs.items()})[0][0]
        assert np.abs(found - expected[row]).max() < 1e-4
    assert expected[:-1].sum(1).min() < 0.99, "the probability of a rejected intent is missing"
    assert any(intent["status"] == "accepted" for intent in about["intents"])


def test_the_example_answers_as_predict_does(reviewed, exported):
    expected = newfound.predict(reviewed, TEXTS)
    found = answers_of(exported, TEXTS)
    assert [answer["intent"] for answer in found] == [prediction.intent for prediction in expected]
    assert [answer["probability"] for answer in found] == pytest.approx([p.probability for p in expected], abs=1e-3)
    assert [answer["outlier"] for answer in found] == [p.outlier > 0.95 for p in expected]


def test_the_example_without_a_limit_for_outliers_calls_nothing_one(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "graph")
    about = json.loads((folder / "intents.json").read_text())
    (folder / "intents.json").write_text(json.dumps({**about, "outlier_similarity": None}))
    assert [answer["outlier"] for answer in answers_of(folder, TEXTS)] == [False] * len(TEXTS)


def test_the_example_needs_neither_torch_nor_newfound(exported):
    code = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import predict; from pathlib import Path\n"
    code += f"predict.classify(Path({str(exported)!r}), ['pay'])\n"
    code += "print([name for name in ('torch', 'newfound') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
def test_node_answers_alike(exported, tmp_path_factory):
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no Node here")
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text('{"private": true}')
    # The install script of onnxruntime-node fetches libraries for GPUs only.
    install = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", *PACKAGES]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("the packages from npm did not arrive in two minutes")
    if done.returncode:
        pytest.skip(f"the packages from npm cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    shutil.copy(EXAMPLES / "predict.mjs", folder)
    run = subprocess.run(
        [node, "predict.mjs", str(exported), *TEXTS], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    found, expected = [json.loads(line) for line in run.stdout.splitlines()], answers_of(exported, TEXTS)
    for answer in (*found, *expected):
        answer["probability"] = pytest.approx(answer["probability"], abs=1e-3)
    assert [a["intent"] for a in found] == [a["intent"] for a in expected]
    assert found == expected


def test_nothing_is_replaced_without_being_asked(reviewed, exported, tmp_path):
    with pytest.raises(TargetExists, match="allow it to be replaced"):
        newfound.export(reviewed, "onnx", exported)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TargetExists, match="is no folder of such an export"):
        newfound.export(reviewed, "onnx", tmp_path, overwrite=True)
    before = (exported / "model.onnx").read_bytes()
    newfound.export(reviewed, "onnx", exported, overwrite=True)
    assert (exported / "model.onnx").read_bytes() == before, "equal models give equal files"


def test_a_full_disk_leaves_nothing_behind(reviewed, tmp_path, monkeypatch):
    real = Path.write_bytes

    def write(path, content):
        if path.name == "tokenizer.json":
            raise OSError(28, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"):
        newfound.export(reviewed, "onnx", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_options_about_utterances_are_refused(reviewed, tmp_path):
    with pytest.raises(SettingsError, match="no utterances"):
        newfound.export(reviewed, "onnx", tmp_path / "out", only="new")


@pytest.mark.parametrize("tune", ["last", "all"])
def test_a_trained_encoder_is_exported_with_its_training(tune, themed, tmp_path, monkeypatch):
    from newfound.encoders.encoder import load_encoder
    from newfound.methods.kmeans import KMeans

    encoder = load_encoder(str(write_tiny_encoder(tmp_path / "mpnet", "mpnet")))
    method = KMeans(n_new=2, encoder=encoder, tune=tune, pretrain_epochs=1, epochs=1, trunk_views=0, device="cpu")
    model = method.fit(themed.texts, themed.labels).model_
    newfound.export(model, "onnx", tmp_path / "out")
    found = answers_of(tmp_path / "out", TEXTS)
    with monkeypatch.context() as patch:
        patch.setenv("NEWFOUND_ONNX", "0")
        expected = model.classify(TEXTS)
    assert [a["intent"] for a in found] == [p.intent for p in expected]
    assert [a["probability"] for a in found] == pytest.approx([p.probability for p in expected], abs=1e-3)


@pytest.mark.parametrize("reliability", [0.3, 0.8, 1.0])
def test_the_graph_corrects_probabilities_as_numpy_does(reliability):
    """Sharp and flat rows, so that new intents lead by much, by little and not at all."""
    from newfound.encoders.onnx.graph import GraphBuilder
    from newfound.exports.onnx import add_reliability
    from newfound.model.head import softmax, with_reliability

    logits = np.random.default_rng(0).normal(size=(200, 6)) * np.repeat([[0.3], [1.0], [6.0], [30.0]], 50, axis=0)
    p, is_new = softmax(logits.astype(np.float32)), np.array([False, False, True, True, True, True])
    builder = GraphBuilder()
    builder.add("Identity", add_reliability(builder, builder.weight("p", p), is_new, reliability), name="corrected")
    session = onnxruntime.InferenceSession(builder.model([("corrected", ["texts", 6])]).SerializeToString())
    nothing = np.zeros((1, 1), np.int64)
    (found,) = session.run(None, {"input_ids": nothing, "attention_mask": nothing})
    assert np.allclose(found, with_reliability(p, is_new, reliability), atol=1e-6)
