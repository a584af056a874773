"""Probabilities allow for wrong labels of new intents, and change no prediction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import newfound
from newfound.methods.context import Discovery
from newfound.methods.fitted import expected_accuracy
from newfound.model.folder import load as load_unreviewed
from newfound.model.head import reliability_of, with_reliability
from newfound.model.types import KnownCheck


def test_by_hand():
    is_new = np.array([False, True, True])
    p = np.array([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0]], np.float32)
    found = with_reliability(p, is_new, 0.8)
    # 0.8 x 0.9 + 0.2 x 0.45 and 0.8 x 0.0 + 0.2 x 0.45; the known intent keeps its own
    assert np.allclose(found, [[0.1, 0.81, 0.09], [0.8, 0.18, 0.02]])
    assert np.array_equal(with_reliability(p, is_new, 1.0), p)
    assert np.array_equal(with_reliability(p, np.array([False, False, True]), 0.5), p)  # nothing to divide among


@given(
    st.integers(0, 4), st.integers(1, 5), st.floats(0.05, 1.0), st.integers(0, 2**31), st.sampled_from([0.3, 1.0, 5.0])
)
def test_sums_stay_one_and_the_most_probable_intent_stays(known, new, reliability, seed, sharpness):
    generator = torch.Generator().manual_seed(seed)
    p = (sharpness * torch.randn(20, known + new, generator=generator)).softmax(1)
    is_new = torch.arange(known + new) >= known
    found = torch.from_numpy(with_reliability(p.numpy(), is_new.numpy(), reliability))
    assert torch.allclose(found.sum(1), torch.ones(20), atol=1e-5)
    assert (found >= 0).all()
    top = p.topk(min(2, known + new), dim=1).values
    clear = top[:, 0] - top[:, -1] > 1e-5 if known + new > 1 else torch.ones(20, dtype=torch.bool)
    assert torch.equal(found.argmax(1)[clear], p.argmax(1)[clear])


def test_reliability_makes_the_mean_probability_of_new_intents_right():
    is_new = torch.tensor([False, True, True])
    p = torch.tensor([[0.0, 0.9, 0.1], [0.0, 0.3, 0.7], [0.9, 0.1, 0.0]])  # new ones are believed with 0.8 on average
    assert reliability_of(p, is_new, 0.6) == pytest.approx(0.6 / 0.8)
    assert reliability_of(p, is_new, 0.95) == 1.0  # probabilities are not made bolder
    assert reliability_of(p[2:], is_new, 0.5) == 1.0  # nothing is predicted as new


def test_expected_accuracy_by_hand():
    """New: agreement times consistency. Known: 20 guesses of 0.9 and 60 labels of 0.8 are 0.825, less a tenth."""
    check = KnownCheck(60, 0.85, 0.8, 5, 2)
    found = expected_accuracy(Discovery(None, 0.05, agreement=0.9, consistency=0.8, known_check=check))
    assert found == pytest.approx((0.725, 0.72))
    assert expected_accuracy(Discovery(None, 0.05, agreement=0.9, consistency=0.0)) == pytest.approx((0.8, 0.05))
    assert expected_accuracy(Discovery(None, 0.05)) is None, "a method that says nothing about agreement"


def test_a_folder_keeps_it(saved, tmp_path):
    model = load_unreviewed(saved)
    doubted = replace(model, head=replace(model.head, calibration=replace(model.head.calibration, reliability=0.5)))
    texts = [u.text for u in model.utterances[:50]]
    plain, doubting = model.predict_proba(texts), doubted.predict_proba(texts)
    assert np.array_equal(plain.argmax(1), doubting.argmax(1))
    assert (doubting.max(1) < plain.max(1) - 0.01).any()
    doubted.save(tmp_path / "m")
    again = load_unreviewed(tmp_path / "m", encoder=model.encoder)
    assert again.head.calibration.reliability == 0.5
    assert np.array_equal(again.predict_proba(texts), doubting)


def test_consensus_estimates_it(tiny_encoder, themed):
    settings = {"encoder": tiny_encoder, "n_new": 2, "epochs": 3, "device": "cpu", "tune": "heads", "logs": "novel"}
    model = newfound.Consensus(**settings).fit(themed.texts, themed.labels).model_
    assert 0.05 <= model.head.calibration.reliability <= 1
    logs = [u for u in model.utterances if not u.labelled]
    predicted = model.predict_proba([u.text for u in logs]).max(1)
    assert np.allclose(predicted, [u.probability for u in logs], atol=1e-3)
