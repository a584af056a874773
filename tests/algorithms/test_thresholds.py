"""Thresholds that keep a promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.thresholds import correction, sure_probability, thresholds


def test_by_hand():
    """Means from the top: 1.0, 0.95, 0.8667, 0.75; a promise of 0.85 is kept by three of four."""
    probability = np.array([0.7, 1.0, 0.4, 0.9])
    (threshold,) = thresholds(np.zeros(4, dtype=np.int64), probability, probability, 1, precision=0.85)
    assert threshold.probability == 0.7
    assert threshold.precision == pytest.approx((1.0 + 0.9 + 0.7) / 3)
    assert threshold.coverage == 0.75


def test_an_intent_that_cannot_keep_it_has_no_threshold():
    intent, probability = np.array([0, 0, 2]), np.array([0.5, 0.6, 0.99])
    first, empty, last = thresholds(intent, probability, probability, 3, precision=0.9)
    assert (first.probability, first.coverage) == (None, 0.0)
    assert empty.probability is None
    assert last.probability == 0.99


def test_ties_are_above_together():
    """Two at 0.8, of which one is right: the threshold cannot lie between them."""
    (threshold,) = thresholds(np.zeros(2, np.int64), np.array([0.8, 0.8]), np.array([1.0, 0.0]), 1, precision=0.9)
    assert threshold.probability is None


def test_answers_correct_a_model_that_is_too_sure():
    """It says 0.9, and half are right; without answers nothing is corrected, and few answers move it little."""
    p = np.full(200, 0.9)
    right = np.arange(200) % 2 == 0
    assert correction(p, right)(np.array([0.9]))[0] == pytest.approx(0.5, abs=0.05)
    assert 0.5 < correction(p[:4], right[:4])(np.array([0.9]))[0] < 0.9
    assert correction(p[:0], right[:0])(np.array([0.9]))[0] == 0.9


@given(st.integers(0, 10**6), st.floats(0.5, 0.99))
@settings(max_examples=60)
def test_what_is_promised_holds_above_every_threshold(seed, wanted):
    generator = np.random.default_rng(seed)
    intent, probability, right = generator.integers(-1, 4, 60), generator.random(60), generator.random(60)
    for i, threshold in enumerate(thresholds(intent, probability, right, 4, precision=wanted)):
        if threshold.probability is not None:
            above = (intent == i) & (probability >= threshold.probability)
            assert right[above].mean() >= wanted - 1e-9
            assert threshold.coverage == pytest.approx(above.sum() / (intent == i).sum())


def test_a_threshold_for_intents_without_utterances():
    """The model is right as often as it says: what is surely right begins at the promise itself."""
    assert sure_probability(lambda p: p, 0.9) == pytest.approx(0.9, abs=0.001)
    assert sure_probability(lambda p: p / 2, 0.9) is None
