"""Encoders as ONNX graphs: the vectors of torch, graphs in the cache, and what happens where there can be none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import WORDS, write_tiny_encoder
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.errors import EncoderError, MissingExtra, SettingsError

pytest.importorskip("onnxruntime", reason="extra `onnx` not installed")
pytest.importorskip("onnx", reason="extra `onnx` not installed")

from newfound.encoders.onnx import engine, quantize
from newfound.encoders.onnx.session import runs_by_length
from newfound.encoders.onnx.store import GRAPH_FILE, find_graph

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(WORDS, size=int(n))) for n in RNG.integers(1, 60, size=40)]
FAMILIES = ("bert", "roberta", "xlm-roberta", "mpnet", "distilbert")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of its own."""
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    engine._open.clear()
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
