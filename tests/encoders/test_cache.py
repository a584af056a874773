from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import load_encoder

KEY = {"weights": "w", "layer": 1}


def lengths_as_vectors(calls):
    """Return a function that makes vectors of the lengths of texts, and notes what it was called with."""

    def compute(texts):
        calls.append(texts)
        return np.array([[len(text)] * 2 for text in texts], dtype=np.float32)

    return compute


def check(vectors, texts):
    assert vectors.tolist() == [[float(len(text))] * 2 for text in texts]


def test_only_missing_texts_are_computed(tmp_path):
    cache, calls = FeatureCache(tmp_path), []
    for texts in (["aa", "b"], ["b", "aa"], ["b", "cccc", "aa", "cccc", "dd"]):
        check(cache.fetch(KEY, texts, lengths_as_vectors(calls)), texts)
    assert calls == [["aa", "b"], ["cccc", "dd"]], "the second call needs nothing; the third each new text once"


def test_another_key_never_sees_these_features(tmp_path):
    cache, calls = FeatureCache(tmp_path), []
    for key in (KEY, {**KEY, "layer": 2}, {**KEY, "weights": "v"}):
        cache.fetch(key, ["a"], lengths_as_vectors(calls))
    assert len(calls) == 3


def test_damaged_shards_are_computed_again(tmp_path):
    cache, calls = FeatureCache(tmp_path), []
    texts = ["aa", "b"]
    cache.fetch(KEY, texts, lengths_as_vectors(calls))
    vectors = next(tmp_path.rglob("vectors.npy"))
    vectors.write_bytes(vectors.read_bytes()[:-4])
    check(cache.fetch(KEY, texts, lengths_as_vectors(calls)), texts)
    next(tmp_path.rglob("keys.npy")).write_bytes(b"nonsense")
    check(cache.fetch(KEY, texts, lengths_as_vectors(calls)), texts)


def test_a_cache_that_cannot_be_written_does_not_stop_anything(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    check(FeatureCache(blocked).fetch(KEY, ["aa"], lengths_as_vectors([])), ["aa"])


FETCHES = """
import sys
from pathlib import Path
import numpy as np
from newfound.encoders.cache import FeatureCache
for k in range(8):
    texts = ["x" * n for n in range(1 + k % 3, 12 + k % 3)]
    vectors = FeatureCache(Path(sys.argv[1])).fetch({}, texts, lambda texts: np.array([[float(len(t))] for t in texts]))
    assert vectors.tolist() == [[float(len(text))] for text in texts]
"""


@pytest.mark.slow
def test_two_processes_may_write_at_once(tmp_path):
    both = [subprocess.Popen([sys.executable, "-c", FETCHES, str(tmp_path)]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert list(tmp_path.rglob("vectors.npy"))
    assert not list(tmp_path.rglob("writing-*"))


@pytest.mark.parametrize("tune", ["heads", "last"])
def test_features_follow_a_change_of_weights(tmp_path, tiny_folder, tune):
    encoder = load_encoder(str(tiny_folder), cache=FeatureCache(tmp_path))
    texts = ["pay my bill", "leak"]
    before = encoder.features(texts, encoder.tune(tune)).data.flat.clone()
    assert torch.equal(encoder.features(texts, encoder.tune(tune)).data.flat, before)
    with torch.no_grad():
        encoder.model.encoder.layer[0].output.dense.weight.mul_(1.5)
    after = encoder.features(texts, encoder.tune(tune)).data.flat
    assert not torch.allclose(after, before)
    encoder.cache = None
    assert torch.allclose(encoder.features(texts, encoder.tune(tune)).data.flat, after, atol=1e-6)


def test_cached_vectors_are_exact_in_any_order(tmp_path, tiny_folder):
    texts = ["pay my bill", "leak", "where is the meter"]
    encoder = load_encoder(str(tiny_folder), cache=FeatureCache(tmp_path))
    fresh = encoder.vectors(texts)
    np.testing.assert_array_equal(encoder.vectors(texts), fresh)
    np.testing.assert_array_equal(encoder.vectors(texts[::-1]), fresh[::-1])
