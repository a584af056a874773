"""Discovery in several languages with the tiny encoder, for which words that it does not know are the language."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from conftest import THEMES, themed_corpus
from newfound import Consensus
from newfound.data.corpus import Corpus
from newfound.encoders import languages
from newfound.methods.context import FitContext
from newfound.methods.estimation import estimate_for

ENGLISH, GERMAN = "is it the {}", "ich und der die das {}"


@pytest.fixture
def _multilingual(monkeypatch):
    """Take every encoder for a multilingual one."""
    monkeypatch.setattr(languages, "MAX_VOCABULARY", 0)


def two_languages():
    """Return utterances of four themes in both languages; two themes have labels, and only in English."""
    rng, texts, labels, themes = np.random.default_rng(0), [], [], []
    for language, frame in enumerate((ENGLISH, GERMAN)):
        for theme, words in list(THEMES.items())[:4]:
            for i in range(40):
                texts.append(frame.format(" ".join(rng.permutation(words[:4]))))
                labels.append(theme if not language and theme in ("pay", "meter") and i < 30 else None)
                themes.append(theme)
    return Corpus.of(texts, labels), np.array(themes)


def fitted(encoder, corpus, **settings):
    return Consensus(encoder=encoder, tune="heads", epochs=5, **{"n_new": 2, **settings}).fit(
        corpus.texts, corpus.labels
    )


@pytest.mark.usefixtures("_multilingual")
def test_one_language_gives_exactly_what_it_gave(tiny_encoder, monkeypatch):
    corpus = themed_corpus(20)
    now = fitted(tiny_encoder, corpus, n_new="auto")
    monkeypatch.setattr(FitContext, "language_free", lambda self, x: x)
    before = fitted(tiny_encoder, corpus, n_new="auto")
    assert now.labels_.tolist() == before.labels_.tolist()
    np.testing.assert_array_equal(now.predict_proba(corpus.texts), before.predict_proba(corpus.texts))


@pytest.mark.usefixtures("_multilingual")
def test_an_intent_in_two_languages_is_one(tiny_encoder, monkeypatch):
    """One of the languages has no labels, and words that the encoder does not know are most of its texts."""
    corpus, themes = two_languages()
    now = fitted(tiny_encoder, corpus)
    monkeypatch.setattr(FitContext, "language_free", lambda self, x: x)
    before = fitted(tiny_encoder, corpus)
    right, wrong = (adjusted_rand_score(themes, method.labels_) for method in (now, before))
    assert right > wrong + 0.2  # 0.53 and 0.18


@pytest.mark.usefixtures("_multilingual")
def test_the_estimate_sees_vectors_without_languages(tiny_encoder, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "newfound.methods.estimation.without_languages", lambda x, likely: seen.append(likely) or torch.ones_like(x)
    )
    estimate_for(two_languages()[0], tiny_encoder)
    assert sorted(set(seen[0].tolist())) == [0, 1]
