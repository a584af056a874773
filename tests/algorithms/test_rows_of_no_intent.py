"""Rows of no intent: values by hand, a plain loop, and what must hold for any data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from newfound.algorithms import no_intent
from newfound.algorithms.no_intent import (
    MIN_LABELLED,
    density,
    excess_limit,
    outlier_limit,
    rows_of_no_intent,
)


def unit_rows(n: int, d: int = 5, seed: int = 0) -> torch.Tensor:
    return F.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_excess_limit_by_hand():
    """Below 0.9 lie nine tenths of the logs and a quarter of the 16 labelled rows; the noise is 2 sqrt(3/16 / 16).

    That is 0.217. Without an intent are (0.9 - 0.25 - 0.217) / 0.75 = 0.578 of the logs. So 0.422 * 0.25 of the logs
    would be put aside by mistake, each of which costs two: the gain is 0.9 - 3 * 0.106 - 0.217 = 0.37. Lower limits
    gain nothing.
    """
    labelled = np.array([0.8] * 4 + [0.95] * 12)
    assert excess_limit(np.array([0.1] * 9 + [0.9]), labelled) == 0.9
    assert excess_limit(np.array([0.1, 0.9]), labelled) == -math.inf, "0.5 - 3 * 0.24 - 0.22 is below zero"


def test_outlier_limit_by_hand():
    """The median is 0.6, and the median distance from it 0.1: 0.6 - 2.5 * 1.4826 * 0.1."""
    assert outlier_limit(np.array([0.1, 0.5, 0.6, 0.7, 0.65])) == pytest.approx(0.22935)


def test_no_limit_lies_where_half_of_the_labelled_rows_would_be_lost():
    """All of the logs lie below 0.9, and so does half of the labelled rows."""
    assert excess_limit(np.array([0.1] * 9 + [0.9]), np.array([0.8, 0.85, 0.9, 0.95])) == -math.inf


def test_density_equals_a_loop():
    x = unit_rows(30)
    for k in (1, 4, 40):
        expected = []
        for i, row in enumerate(x):
            others = sorted((float(row @ x[j]) for j in range(len(x)) if j != i), reverse=True)[:k]
            expected.append(sum(others) / len(others))
        np.testing.assert_allclose(density(x, neighbours=k), expected, atol=1e-6)
    assert density(x[:1]).tolist() == [1.0]
    assert density(x[:0]).tolist() == []


def test_density_of_many_rows_looks_at_some_of_them(monkeypatch):
    x = unit_rows(300)
    whole = density(x)
    monkeypatch.setattr(no_intent, "MAX_ROWS_COMPARED", 150)
    part = density(x, seed=3)
    assert (part <= whole + 1e-6).all()
    assert np.corrcoef(part, whole)[0, 1] > 0.5
    assert (part == density(x, seed=3)).all()


values = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=80)
shares = st.none() | st.floats(0.01, 0.99)


@given(values, st.randoms(use_true_random=False), shares)
def test_labelled_rows_are_never_put_aside_and_a_share_is_exact(values, random, share):
    labelled = np.array([random.random() < 0.5 for _ in values])
    found = rows_of_no_intent(np.array(values), labelled, share)
    assert not (found & labelled).any()
    logs = int((~labelled).sum())
    if share is None and logs and labelled.sum() < MIN_LABELLED:
        assert (found == (~labelled & (np.array(values) < outlier_limit(np.array(values)[~labelled])))).all()
    if share is not None:
        assert found.sum() == round(share * logs)
        left = np.array(values)[~labelled & ~found]
        assert not found.any() or not len(left) or np.array(values)[found].max() <= left.min()


@pytest.mark.parametrize(("labelled", "logs", "most"), [(50, 100, 0.06), (100, 1000, 0.02), (1000, 1000, 0.005)])
def test_logs_that_are_like_the_labelled_rows_lose_next_to_nothing(labelled, logs, most):
    """The more labels there are, the fewer rows are lost by chance."""
    lost = []
    for seed in range(40):
        drawn = np.random.default_rng(seed).beta(6, 3, size=labelled + logs)
        lost.append(rows_of_no_intent(drawn, np.arange(len(drawn)) < labelled).sum() / logs)
    assert np.mean(lost) < most
    assert np.median(lost) == 0


def test_rows_in_excess_are_found():
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(0.7, 0.05, 700), rng.normal(0.4, 0.05, 100)
    found = rows_of_no_intent(np.concatenate([inside, outside]), np.arange(800) < 300)
    assert found[700:].mean() > 0.95
    assert found[:700].mean() < 0.02
