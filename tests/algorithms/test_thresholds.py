"""Thresholds that keep a promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.audit import correction, sure_probability, threshold


def test_by_hand():
    """Means from the top: 1.0, 0.95, 0.8667, 0.75; a promise of 0.85 is kept by three of four."""
    probability = np.array([0.7, 1.0, 0.4, 0.9])
    assert threshold(probability, probability, 0.85) == (0.7, pytest.approx((1.0 + 0.9 + 0.7) / 3), 0.75)


def test_an_intent_that_cannot_keep_it_has_no_threshold():
    probability = np.array([0.5, 0.6])
    assert threshold(probability, probability, 0.9) is None
    assert threshold(probability[:0], probability[:0], 0.9) is None


def test_ties_are_above_together():
    """Two at 0.8, of which one is right: the threshold cannot lie between them."""
    assert threshold(np.array([0.8, 0.8]), np.array([1.0, 0.0]), 0.9) is None


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
    probability, right = generator.random(15), generator.random(15)
    least = threshold(probability, right, wanted)
    if least is not None:
        above = probability >= least.probability
        assert right[above].mean() >= wanted - 1e-9
        assert least.coverage == pytest.approx(above.mean())


def test_a_threshold_for_intents_without_utterances():
    """The model is right as often as it says: what is surely right begins at the promise itself."""
    assert sure_probability(lambda p: p, 0.9) == pytest.approx(0.9, abs=0.001)
    assert sure_probability(lambda p: p / 2, 0.9) is None
