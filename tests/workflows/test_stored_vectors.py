"""What a fit has encoded is not encoded again for predictions, with ONNX Runtime and with torch."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import newfound
from newfound.encoders.cache import FeatureCache, StoredVectors, folder_name
from newfound.encoders.encoder import Encoder
from newfound.encoders.onnx.session import GraphSession

ENGINES = [
    pytest.param("1", marks=pytest.mark.skipif(find_spec("onnx") is None, reason="extra `onnx` not installed")),
    "0",
]


@pytest.fixture
def encoded(monkeypatch):
    """The numbers of texts that are encoded, by whatever does it."""
    counts: list[int] = []
    tokenize, vectors = Encoder.tokenize, GraphSession.vectors

    def counting_tokenize(self, texts):
        counts.append(len(texts))
        return tokenize(self, texts)

    def counting_vectors(self, rows, *rest, **more):
        counts.append(len(rows))
        return vectors(self, rows, *rest, **more)

    monkeypatch.setattr(Encoder, "tokenize", counting_tokenize)
    monkeypatch.setattr(GraphSession, "vectors", counting_vectors)
    return counts


@pytest.mark.parametrize("onnx", ENGINES)
def test_predictions_of_the_logs_are_not_encoded_again(tiny_folder, themed, tmp_path, monkeypatch, encoded, onnx):
    monkeypatch.setenv("NEWFOUND_ONNX", onnx)
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    folder, logs = tmp_path / "model", list(themed.unlabelled().texts)
    newfound.discover(themed.labelled(), logs, folder, encoder=str(tiny_folder), n_new=2, effort="quick", device="cpu")
    shards = sorted((tmp_path / "cache" / "features").rglob("*.npy"))
    encoded.clear()
    found = newfound.predict(folder, [*logs, "a new light", "pay today"], device="cpu")
    assert sum(encoded) == 2
    assert sorted((tmp_path / "cache" / "features").rglob("*.npy")) == shards, "what is only classified is not stored"
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "other"))
    encoded.clear()
    anew = newfound.predict(folder, [*logs, "a new light", "pay today"], device="cpu")
    assert sum(encoded) >= len(set(logs))
    assert [(p.intent, p.status) for p in found] == [(p.intent, p.status) for p in anew]
    assert [p.probability for p in found] == pytest.approx([p.probability for p in anew], abs=1e-4)


def test_vectors_are_found_in_any_shard(tmp_path):
    def numbers(texts):
        """Return the number in each text, three times."""
        return np.array([[text[5:]] * 3 for text in texts], dtype=np.float32)

    key, texts = {"weights": "w"}, [f"text {i}" for i in range(300)]
    for part in (texts[:100], texts[50:290]):
        FeatureCache(tmp_path).fetch(key, part, numbers)
    stored = StoredVectors(tmp_path / folder_name(key))
    found = stored.find(["nothing", *texts])
    assert [None if vector is None else vector[0] for vector in found] == [None, *map(float, range(290)), *[None] * 10]
    assert np.stack(found[1:3]).dtype == np.float32
    assert StoredVectors(tmp_path / "missing").find(["x"]) == [None]
