"""Sinkhorn, alignment, disambiguation and the prototypes' moving average: by hand, and against naive loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.assignment import align, class_means, disambiguate, move_prototypes, sinkhorn

seeds = st.integers(0, 2**32 - 1)


def naive_sinkhorn(logits, epsilon, iterations):
    """As one writes it from the definition, in float64: columns to 1/M, rows to 1/B, in turn."""
    q = np.exp((logits - logits.max()) / epsilon)
    rows, columns = q.shape
    for _ in range(iterations):
        for j in range(columns):
            q[:, j] *= 1 / columns / q[:, j].sum()
        for i in range(rows):
            q[i] *= 1 / rows / q[i].sum()
    return q * rows


def test_sinkhorn_by_hand():
    """Two samples that both prefer column 0, by ln 3 and by ln 1 (epsilon 1), one iteration.

    exp: [[3, 1], [1, 1]]. Columns to one half each: [[3/8, 1/4], [1/8, 1/4]]. Rows to one:
    [[3/5, 2/5], [1/3, 2/3]]: balance has moved the undecided sample to the emptier column.
    """
    logits = torch.tensor([[np.log(3.0), 0.0], [0.0, 0.0]], dtype=torch.float32)
    q = sinkhorn(logits, torch.tensor([True, True]), epsilon=1.0, iterations=1)
    assert torch.allclose(q, torch.tensor([[3 / 5, 2 / 5], [1 / 3, 2 / 3]]))


@given(seeds, st.integers(1, 20), st.integers(1, 8), st.integers(1, 5))
@settings(max_examples=60)
def test_sinkhorn_equals_the_naive_loop(seed, rows, columns, iterations):
    logits = np.random.default_rng(seed).uniform(-1, 1, size=(rows, columns))
    q = sinkhorn(torch.from_numpy(logits), torch.ones(rows, dtype=torch.bool), epsilon=0.1, iterations=iterations)
    np.testing.assert_allclose(q.numpy(), naive_sinkhorn(logits, 0.1, iterations), atol=2e-4)


@given(seeds, st.integers(2, 20))
@settings(max_examples=40)
def test_sinkhorn_among_some_rows_is_sinkhorn_of_those_rows(seed, rows):
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.uniform(-1, 1, size=(3, rows, 5))).float()
    among = torch.from_numpy(rng.random(rows) < 0.5)
    q = sinkhorn(logits, among)
    assert q[:, ~among].abs().sum() == 0
    for head in range(3):
        alone = sinkhorn(logits[head, among], torch.ones(int(among.sum()), dtype=torch.bool)) if among.any() else None
        assert alone is None or torch.allclose(q[head, among], alone, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0, 6e4])
def test_sinkhorn_is_finite_and_rows_sum_to_one(dtype, scale):
    logits = (torch.rand(32, 6, generator=torch.Generator().manual_seed(0)) * 2 - 1).mul(scale).to(dtype)
    q = sinkhorn(logits, torch.ones(32, dtype=torch.bool))
    assert q.isfinite().all()
    assert torch.allclose(q.sum(1), torch.ones(32), atol=1e-5)


def test_sinkhorn_without_any_row_is_zero():
    assert sinkhorn(torch.randn(4, 3), torch.zeros(4, dtype=torch.bool)).abs().sum() == 0


def test_sinkhorn_fills_columns_by_the_prior():
    prior = torch.tensor([0.7, 0.2, 0.1])
    logits = torch.randn(600, 3, generator=torch.Generator().manual_seed(0)) * 0.1
    q = sinkhorn(logits, torch.ones(600, dtype=torch.bool), iterations=50, prior=prior)
    assert torch.allclose(q.mean(0), prior, atol=1e-3)
    uniform = sinkhorn(logits, torch.ones(600, dtype=torch.bool), iterations=50)
    assert torch.allclose(uniform.mean(0), torch.full((3,), 1 / 3), atol=1e-3)


def test_alignment_by_hand():
    """Equation 1 with N = 2, M = 2: a known sample keeps its label; the only unlabelled one is split evenly.

    With one row, balance wants one half in either column, whatever its logits say.
    """
    y = torch.tensor([1, -1])
    q = align(torch.tensor([[0.9, -0.9], [0.5, -0.5]]), y, 2, epsilon=0.05, iterations=3)
    assert torch.allclose(q, torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]), atol=1e-5)


def test_disambiguation_by_hand():
    """Equations 5 and 6: the unlabelled z is nearest to known prototype 0, but only new ones (1, 2) may take it."""
    mu = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    z = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert disambiguate(z, mu, torch.tensor([0, -1, -1]), n_known=1).tolist() == [0, 2, 1]


def sequential(mu, z, ids, gamma, every_time):
    """Equation 4 sample by sample, as the released code does it (or normalising every time, as the paper writes)."""
    mu = mu.clone().double()
    for vector, c in zip(z.double(), ids.tolist(), strict=True):
        mu[c] = gamma * mu[c] + (1 - gamma) * vector
        if every_time:
            mu[c] = mu[c] / mu[c].norm().clamp(min=1e-12)
    return mu / mu.norm(dim=-1, keepdim=True).clamp(min=1e-12)


@given(seeds, st.integers(1, 60), st.integers(1, 6), st.floats(0.01, 0.99), st.booleans())
@settings(max_examples=80)
def test_one_matrix_product_equals_the_sequence(seed, rows, classes, gamma, every_time):
    generator = torch.Generator().manual_seed(seed)
    mu = F.normalize(torch.randn(classes, 5, generator=generator), dim=-1)
    z = F.normalize(torch.randn(rows, 5, generator=generator), dim=-1)
    ids = torch.randint(classes, (rows,), generator=generator)
    fast = move_prototypes(mu, z, ids, gamma, normalize="sample" if every_time else "batch")
    assert torch.allclose(fast.double(), sequential(mu, z, ids, gamma, every_time), atol=1e-4)


def test_class_means_by_hand():
    x = torch.tensor([[3.0, 0.0], [0.0, 5.0], [9.0, 9.0]])
    means, filled = class_means(x, torch.tensor([0, 0, -1]), 2)
    assert torch.allclose(means[0], torch.tensor([0.5, 0.5]) / 0.5**0.5 * 1.0)
    assert filled.tolist() == [True, False]
