"""The same utterances give the same result, whatever their order and whatever was encoded before."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from newfound.encoders.cache import FeatureCache
from newfound.methods.consensus import Consensus


def fitted(corpus, encoder, **settings):
    method = Consensus(encoder=encoder, n_new=2, epochs=3, finetune_steps=3, device="cpu", **settings)
    return method.fit(corpus.texts, corpus.labels)


@pytest.mark.parametrize("tune", ["heads", "upper"])
def test_the_order_of_the_rows_does_not_matter(themed, tiny_encoder, tune):
    order = np.random.default_rng(0).permutation(len(themed)).tolist()
    one, other = fitted(themed, tiny_encoder, tune=tune), fitted(themed.take(order), tiny_encoder, tune=tune)
    assert other.labels_.tolist() == [one.labels_[i] for i in order], "they are in the order of the texts"
    assert [u.text for u in other.model_.utterances] == [themed.texts[i] for i in order]
    assert other.intents == one.intents
    weights = [method.model_.embedder.network.classifier.weight.detach().numpy() for method in (one, other)]
    assert np.array_equal(*weights)


@pytest.mark.parametrize("tune", ["heads", "upper"])
def test_what_was_encoded_before_does_not_matter(themed, tiny_encoder, tmp_path, tune):
    weights = []
    for name, before in (("empty", []), ("some", [1, 7, 20])):
        encoder = copy(tiny_encoder)
        encoder.cache = FeatureCache(tmp_path / name)
        for count in before:
            encoder.features(themed.texts[count:-1:count], encoder.tune(tune))
            encoder.features(themed.texts[:1], encoder.tune(tune))
        weights.append(fitted(themed, encoder, tune=tune).model_.embedder.network.classifier.weight.detach().numpy())
    assert np.array_equal(*weights)
