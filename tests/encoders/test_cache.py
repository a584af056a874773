from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import torch

from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import load_encoder
from newfound.encoders.ragged import Ragged

KEY = {"weights": "w", "layer": 1}


def lengths_as_features(texts, calls=None):
    """Row i holds its text's length once per character: easy to check, ragged, different for each text."""

    def compute(rows):
        if calls is not None:
            calls.append(rows)
        flat = [[float(len(texts[i]))] * 2 for i in rows for _ in texts[i]]
        offsets = np.concatenate([[0], np.cumsum([len(texts[i]) for i in rows])])
        return Ragged(torch.tensor(flat).reshape(-1, 2), torch.from_numpy(offsets.astype(np.int64)))

    return compute


def check(features, texts):
    assert features.lengths.tolist() == [len(text) for text in texts]
    for i, text in enumerate(texts):
        assert features.row(i).tolist() == [[float(len(text))] * 2] * len(text)


def test_only_missing_texts_are_computed(tmp_path):
    cache, calls = FeatureCache(tmp_path), []
    for texts in (["aa", "b"], ["b", "aa"], ["b", "cccc", "aa", "cccc", "dd"]):
        check(cache.fetch(KEY, texts, lengths_as_features(texts, calls)), texts)
    assert calls == [[0, 1], [1, 4]], "the second call needs nothing; the third each new text once"


def test_another_key_never_sees_these_features(tmp_path):
    cache, calls = FeatureCache(tmp_path), []
    for key in (KEY, {**KEY, "layer": 2}, {**KEY, "weights": "v"}):
        cache.fetch(key, ["a"], lengths_as_features(["a"], calls))
    assert len(calls) == 3


def test_damaged_shards_are_computed_again(tmp_path):
    cache, calls = FeatureCache(tmp_path), []
    texts = ["aa", "b"]
    cache.fetch(KEY, texts, lengths_as_features(texts, calls))
    flat = next(tmp_path.rglob("flat.npy"))
    flat.write_bytes(flat.read_bytes()[:-4])
    check(cache.fetch(KEY, texts, lengths_as_features(texts, calls)), texts)
    next(tmp_path.rglob("keys.npy")).write_bytes(b"nonsense")
    check(cache.fetch(KEY, texts, lengths_as_features(texts, calls)), texts)


def test_a_cache_that_cannot_be_written_does_not_stop_anything(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    check(FeatureCache(blocked).fetch(KEY, ["aa"], lengths_as_features(["aa"])), ["aa"])


def _fetch_in_another_process(root, texts):
    features = FeatureCache(root).fetch(KEY, texts, lengths_as_features(texts))
    check(features, texts)
    return True


@pytest.mark.slow
def test_two_processes_may_write_at_once(tmp_path):
    jobs = [["x" * n for n in range(1 + k % 3, 12 + k % 3)] for k in range(8)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert all(pool.map(_fetch_in_another_process, [tmp_path] * len(jobs), jobs))
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


def test_cached_features_are_memory_mapped_and_exact(tmp_path, tiny_folder):
    texts = ["pay my bill", "leak", "where is the meter"]
    encoder = load_encoder(str(tiny_folder), cache=FeatureCache(tmp_path))
    fresh = encoder.features(texts, encoder.tune("last"))
    again = encoder.features(texts, encoder.tune("last"))
    assert torch.equal(fresh.data.flat, again.data.flat)
    assert torch.equal(fresh.data.offsets, again.data.offsets)
    reordered = encoder.features(texts[::-1], encoder.tune("last"))
    assert torch.equal(reordered.data.row(0), fresh.data.row(2))
