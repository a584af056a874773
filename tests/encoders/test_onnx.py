"""Encoders as ONNX graphs: the vectors of torch, graphs in the cache, and what happens where there can be none."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from conftest import WORDS, write_tiny_encoder
from newfound.encoders.encoder import load_encoder

pytest.importorskip("onnxruntime", reason="extra `onnx` not installed")
pytest.importorskip("onnx", reason="extra `onnx` not installed")

from newfound.encoders.onnx import engine
from newfound.encoders.onnx.session import GRAPH_FILE, GraphSession, find_graph, runs_by_length

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, size=int(n))) for n in RNG.integers(1, 60, size=40)]
FAMILIES = ("bert", "roberta", "xlm-roberta", "mpnet", "distilbert")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of its own."""
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    engine._open_sessions.clear()
    return tmp_path / "cache"


def by_torch(encoder, texts, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("NEWFOUND_ONNX", "0")
        assert encoder.session() is None
        return encoder.features(texts, encoder.tune("heads")).data.flat


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["mean", "cls", "padded-mean"])
def test_vectors_are_those_of_torch(family, pooling, tmp_path, monkeypatch):
    if pooling == "padded-mean" and family not in ("bert", "distilbert"):
        pytest.skip("this pooling is for encoders that number positions from 0")
    encoder = load_encoder(str(write_tiny_encoder(tmp_path / family, family))).variant(pooling=pooling, max_length=50)
    expected = by_torch(encoder, TEXTS, monkeypatch)
    assert encoder.session() is not None, encoder.graph_problem
    found = encoder.features(TEXTS, encoder.tune("heads")).data.flat
    assert encoder.graph_problem is None
    assert float((found - expected).abs().max()) < 1e-5
    assert len(expected.unique(dim=0)) > 30, "the vectors of a tiny encoder differ"


def test_equal_texts_are_encoded_once_and_in_small_runs(tiny_encoder, cache):
    class Counting:
        def __init__(self, session):
            self.session, self.shapes = session, []

        def run(self, names, inputs):
            self.shapes.append(inputs["input_ids"].shape)
            return self.session.run(names, inputs)

    session = engine._load(find_graph(_key(tiny_encoder)))
    session._session = counting = Counting(session._session)
    texts = ["pay my bill", "leak"] * 100 + TEXTS
    found = engine.vectors_of(session, tiny_encoder.tokenize(texts))
    assert sum(rows for rows, _ in counting.shapes) == 2 + len(set(TEXTS))
    assert all(rows * width <= 512 for rows, width in counting.shapes)
    assert np.array_equal(found[0], found[198])
    assert np.abs(found[200:] - tiny_encoder.features(TEXTS, tiny_encoder.tune("heads")).data.flat.numpy()).max() < 1e-6


def _key(encoder):
    assert encoder.session() is not None
    return engine.folder_of(encoder)


def test_runs_hold_rows_of_similar_length():
    lengths = np.array([5, 3, 600, 4, 3])
    assert [run.tolist() for run in runs_by_length(lengths, 16)] == [[1, 4, 3], [0], [2]]
    assert runs_by_length(np.array([], dtype=np.int64)) == []
    assert [run.tolist() for run in runs_by_length(np.array([4, 9, 5, 9]), 512, padding=8)] == [[0, 2], [1, 3]]


@pytest.mark.parametrize("threads", ["1", "2", "3"])
@pytest.mark.parametrize("min_divided_mb", [0, 64])
def test_vectors_do_not_depend_on_threads(threads, min_divided_mb, tiny_encoder, cache, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr("newfound.encoders.onnx.session.MIN_DIVIDED_MB", min_divided_mb)
    texts = [" ".join(["pay my bill"] * (1 + i % 7)) + f" {i}" for i in range(300)]
    stored = find_graph(_key(tiny_encoder))
    session = GraphSession(stored.graph, pad_id=stored.pad_id)
    expected = by_torch(tiny_encoder, texts, monkeypatch).numpy()
    assert np.abs(engine.vectors_of(session, tiny_encoder.tokenize(texts)) - expected).max() < 1e-6
    assert np.abs(engine.vectors_of(session, tiny_encoder.tokenize(texts[:1])) - expected[:1]).max() < 1e-6


def test_a_few_texts_are_answered_when_the_file_is_gone(tiny_encoder, cache, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr("newfound.encoders.onnx.session.MIN_DIVIDED_MB", 0)
    stored = find_graph(_key(tiny_encoder))
    session = GraphSession(stored.graph, pad_id=stored.pad_id)
    stored.graph.unlink()
    assert engine.vectors_of(session, tiny_encoder.tokenize(["leak"])).shape == (1, session.width)


def test_a_damaged_graph_is_made_anew(tiny_encoder, cache, monkeypatch):
    expected = by_torch(tiny_encoder, TEXTS, monkeypatch)
    graph = _key(tiny_encoder) / GRAPH_FILE
    content = graph.read_bytes()
    for damaged in (content[: len(content) // 2], b"", content[:-8] + b"\0" * 8):
        engine._open_sessions.clear()
        graph.write_bytes(damaged)
        assert find_graph(_key(tiny_encoder)) is not None, "the session was made of a new graph, which was stored"
        assert graph.read_bytes() == content
        found = tiny_encoder.features(TEXTS, tiny_encoder.tune("heads")).data.flat
        assert float((found - expected).abs().max()) < 1e-5


def test_a_full_disk_costs_nothing_but_the_cache(tiny_encoder, cache, monkeypatch):
    def full(*args, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(engine, "save_graph", full)
    assert tiny_encoder.session() is not None
    assert not list(cache.rglob("*.onnx"))


def test_an_encoder_without_a_graph_is_run_by_torch_and_says_so(tiny_folder, cache, monkeypatch):
    encoder = load_encoder(str(tiny_folder))
    for layer in encoder.model.encoder.layer:
        layer.intermediate.intermediate_act_fn = torch.nn.SiLU()
    expected = by_torch(encoder, TEXTS, monkeypatch)
    found = encoder.features(TEXTS, encoder.tune("heads")).data.flat
    assert torch.equal(found, expected)
    assert "its activation is not one of gelu, relu; torch encodes instead" in encoder.graph_problem


class TooLarge:
    def SerializeToString(self):
        raise ValueError("Message ModelProto exceeds maximum protobuf size of 2GB: 2270000000\n(a second line)")


class NotAGraph:
    def SerializeToString(self):
        return b"no graph"


@pytest.mark.parametrize(("model", "problem"), [(TooLarge, "exceeds maximum protobuf size"), (NotAGraph, "ONNX")])
def test_a_graph_that_cannot_be_made_or_opened_is_left_to_torch(tiny_folder, cache, monkeypatch, model, problem):
    encoder = load_encoder(str(tiny_folder))
    expected = by_torch(encoder, TEXTS, monkeypatch)
    monkeypatch.setattr("newfound.encoders.onnx.graph.GraphBuilder.model", lambda builder, outputs: model())
    assert torch.equal(encoder.features(TEXTS, encoder.tune("heads")).data.flat, expected)
    assert "has no ONNX graph" in encoder.graph_problem
    assert problem in encoder.graph_problem
    assert "\n" not in encoder.graph_problem


def test_a_graph_with_other_vectors_is_not_used(tiny_folder, cache, monkeypatch):
    encoder = load_encoder(str(tiny_folder))
    monkeypatch.setattr(engine, "_torch_vectors", lambda *encoder: np.zeros((2, 32), np.float32))
    assert encoder.session() is None
    assert "its vectors differ by" in encoder.graph_problem


@pytest.mark.real_encoder
def test_the_real_encoder_gives_the_same_vectors(monkeypatch):
    encoder = load_encoder("minilm")
    texts = ["where is my card?", "i want to pay my bill " * 30, "¿dónde está mi tarjeta?", "", "a"]
    expected = by_torch(encoder, texts, monkeypatch)
    found = encoder.features(texts, encoder.tune("heads")).data.flat
    assert encoder.session() is not None
    assert float((found - expected).abs().max()) < 1e-5


def test_a_call_with_few_texts_does_not_wait_for_all_runs_of_another(tiny_encoder, cache, monkeypatch):
    """While one call has dozens of runs to compute, another one is answered after a few of them."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    session = GraphSession(find_graph(_key(tiny_encoder)).graph, pad_id=0)
    real, computed = session._session, []
    has_begun, may_go_on = threading.Event(), threading.Event()

    class Waiting:
        def run(self, names, inputs):
            has_begun.set()
            may_go_on.wait(60)
            computed.append(bool((inputs["input_ids"][:, 1] == card).all()))
            return real.run(names, inputs)

    session._session = Waiting()
    words = "card money bill pay lost found open close account help meter water gas power light visit".split()
    texts = [f"{first} {second} " * 20 for first in words for second in words]
    few, many = texts[:16], texts[16:]  # the few are those that begin with "card"
    card = tiny_encoder.tokenize(["card"]).data.flat[1].item()
    large = threading.Thread(target=engine.vectors_of, args=(session, tiny_encoder.tokenize(many)))

    def ask():
        submit = session._pool.submit
        session._pool.submit = lambda *task: (submit(*task), may_go_on.set())[0]
        engine.vectors_of(session, tiny_encoder.tokenize(few))

    large.start()
    assert has_begun.wait(60)
    small = threading.Thread(target=ask)
    small.start()
    small.join(60)
    large.join(60)
    assert len(computed) > 20, "there was much to wait for"
    assert max(i for i, is_few in enumerate(computed) if is_few) < len(computed) / 2, computed
