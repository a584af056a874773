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
    MIN_LOW_NEIGHBOURS,
    among_their_like,
    labelled_limit,
    neighbourhoods,
    outlier_limit,
    rows_of_no_intent,
    spread,
)


def unit_rows(n: int, d: int = 5, seed: int = 0) -> torch.Tensor:
    return F.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_labelled_limit_by_hand():
    """One of 100 labelled rows and its standard error are 0.01 + 0.00995, which is below 3 %; two are 0.02 + 0.014.

    So the limit may lie at 0.35, where one labelled row is below, but not at 0.5. Below 0.35 lie 5 % of the logs, which
    is more than the labelled rows say by 4 %, and two standard errors are 2 %.
    """
    labelled = np.array([0.3, 0.4] + [0.8] * 98)
    assert labelled_limit(np.array([0.1] * 5 + [0.35] * 10 + [0.5] * 5 + [0.9] * 80), labelled) == 0.35
    assert labelled_limit(np.array([0.1] * 2 + [0.35] * 13 + [0.5] * 5 + [0.9] * 80), labelled) == -math.inf


def test_outlier_limit_by_hand():
    """The median is 0.6, and the median distance from it 0.1: 0.6 - 2 * 1.4826 * 0.1."""
    assert outlier_limit(np.array([0.1, 0.5, 0.6, 0.7, 0.65])) == pytest.approx(0.30348)


def test_untypical_rows_count_only_among_their_like():
    low = np.array([True, True, True, True, False, False])
    near = np.array([[1, 2, 4], [0, 4, 5], [4, 5, 3], [0, 1, 2], [0, 1, 2], [0, 1, 4]])
    assert MIN_LOW_NEIGHBOURS == 2
    assert among_their_like(low, near).tolist() == [True, False, False, True, False, False]


def test_rows_follow_most_of_their_nearest_ones():
    """Row 3 follows rows 0 to 2, row 4 follows row 3 and two of them, row 5 may not, and row 6 has two of five."""
    chosen = np.array([True, True, True, False, False, False, False])
    near = np.array([[3, 4, 5, 6, 1]] * 3 + [[0, 1, 2, 5, 6], [0, 1, 3, 5, 6], [0, 1, 2, 3, 4], [0, 1, 5, 5, 5]])
    allowed = np.array([True, True, True, True, True, False, True])
    assert spread(chosen, near, allowed).tolist() == [True, True, True, True, True, False, False]
    assert chosen.sum() == 3, "the argument stays as it is"


def test_density_equals_a_loop():
    x = unit_rows(30)
    for k in (1, 4, 40):
        values, near = neighbourhoods(x, neighbours=k)
        for i, row in enumerate(x):
            others = sorted(((float(row @ x[j]), j) for j in range(len(x)) if j != i), reverse=True)[:k]
            assert values[i] == pytest.approx(sum(value for value, _ in others) / len(others), abs=1e-6)
            assert near[i].tolist() == [j for _, j in others]
    assert neighbourhoods(x[:1])[0].tolist() == [1.0]
    assert neighbourhoods(x[:1])[1].shape == (1, 0)
    assert neighbourhoods(x[:0])[0].tolist() == []


def test_density_of_many_rows_looks_at_some_of_them(monkeypatch):
    x = unit_rows(300)
    whole, _ = neighbourhoods(x)
    monkeypatch.setattr(no_intent, "MAX_ROWS_COMPARED", 150)
    part, near = neighbourhoods(x, seed=3)
    assert (part <= whole + 1e-6).all()
    assert np.corrcoef(part, whole)[0, 1] > 0.5
    assert (part == neighbourhoods(x, seed=3)[0]).all()
    assert len(np.unique(near)) <= 150


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
