"""Where prototypes and sizes start."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness.presets import preset_settings

from conftest import themed_corpus
from newfound import DPL, E2E, DeepAligned
from newfound.errors import SettingsError
from newfound.methods.context import watch_nothing
from newfound.training.run import Run

FAST = {"n_new": 2, "epochs": 4, "pretrain_epochs": 3, "batch_size": 64, "device": "cpu"}


def fit(method, encoder, corpus, *, run=None, watch=watch_nothing, **settings):
    return method(encoder=encoder, **{**FAST, **settings}).fit(corpus.texts, corpus.labels, run=run, watch=watch)


def test_shared_pre_training_does_not_change_what_starts_at_random(tiny_encoder, themed):
    """With a shared memory the second fit takes over the pre-training, and nothing else may differ."""
    memory: dict = {}
    runs = [
        fit(DPL, tiny_encoder, themed, tune="last", start="random", run=Run(memory=m)) for m in (memory, memory, {})
    ]
    probabilities = [fitted.predict_proba(themed.texts) for fitted in runs]
    assert np.array_equal(probabilities[0], probabilities[1])
    assert np.array_equal(probabilities[0], probabilities[2])


@pytest.mark.parametrize("method", [DPL, E2E])
def test_estimated_sizes_find_a_long_tail_that_equal_ones_cut(method, tiny_encoder):
    large, small = themed_corpus(per_theme=60), themed_corpus(per_theme=6, seed=1)
    keep = [i for i, text in enumerate(large.texts) if large.labels[i] or i % 2 == 0]
    texts = [large.texts[i] for i in keep] + [
        t for t, label in zip(small.texts, small.labels, strict=True) if not label
    ]
    labels = [large.labels[i] for i in keep] + [None] * (len(texts) - len(keep))
    settings = {**FAST, "encoder": tiny_encoder, "tune": "heads", "start": "kmeans", "epochs": 30}
    sizes = {}
    for assumed in ("equal", "estimated"):
        fitted = method(**settings, sizes=assumed).fit(texts, labels)
        found = fitted.model_.predict_ids([t for t, label in zip(texts, labels, strict=True) if label is None])
        sizes[assumed] = sorted(np.bincount(found, minlength=5)[3:])
    assert sizes["estimated"] != sizes["equal"]


@pytest.mark.parametrize(("method", "start"), [(DPL, "random"), (DPL, "zeros"), (E2E, "random")])
def test_sizes_cannot_be_estimated_without_clusters(method, start, tiny_encoder, themed):
    with pytest.raises(SettingsError, match="needs clusters to start from"):
        fit(method, tiny_encoder, themed, tune="heads", start=start, sizes="estimated")


def test_deepaligned_as_released_stops_when_the_silhouette_no_longer_rises(tiny_encoder, themed):
    settings = {**preset_settings("deepaligned", "released"), "patience": 2, "epochs": 40, "joint_epochs": 2}
    fitted = fit(DeepAligned, tiny_encoder, themed, **settings)
    scores = [record["score"] for record in fitted.history_["discovery"]]
    assert len(scores) < 40
    assert len(scores) - 1 - int(np.argmax(scores)) == 2
    assert len(fitted.predict(themed.texts[:3])) == 3


def test_deepaligned_over_a_frozen_encoder_has_one_epoch_to_watch(tiny_encoder, themed):
    watched = fit(DeepAligned, tiny_encoder, themed, tune="heads", watch=lambda epoch: {"seen": 1.0})
    assert watched.history_["discovery"] == [{"epoch": 0, "seen": 1}]
