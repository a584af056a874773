"""The paper's losses: by hand, against naive loops, and their gradients."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.losses import instance_contrastive, prototypical_contrastive, supervised_contrastive

seeds = st.integers(0, 2**32 - 1)


def unit(*shape, seed=0):
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_pcl_by_hand():
    """z = (1, 0), prototypes (1, 0) and (0, 1), q = (3/4, 1/4), tau = 1: similarities 1 and 0.

    -3/4 log(e / (e + 1)) - 1/4 log(1 / (e + 1)) = log(e + 1) - 3/4.
    """
    loss = prototypical_contrastive(torch.tensor([[1.0, 0.0]]), torch.eye(2), torch.tensor([[0.75, 0.25]]), 1.0)
    assert loss.item() == pytest.approx(math.log(math.e + 1) - 0.75)


def naive_instance(z, z_hat, tau, denominator):
    total, rows = 0.0, len(z)
    for one, other in ((z, z_hat), (z_hat, z)):
        for i in range(rows):
            if denominator == "paper":
                rest = [one[k] for k in range(rows) if k != i]
            else:
                rest = [one[k] for k in range(rows) if k != i] + [other[k] for k in range(rows)]
            bottom = sum(math.exp(float(one[i] @ r) / tau) for r in rest)
            total -= math.log(math.exp(float(one[i] @ other[i]) / tau) / bottom)
    return total / (2 * rows)


def test_instance_loss_by_hand():
    """Two samples, (1, 0) and (0, 1), identical views, tau = 1. Positive similarity 1, all others 0.

    As printed: -log(e / e^0) = -1. As released: -log(e / (e + 2)).
    """
    z = torch.eye(2)
    assert instance_contrastive(z, z, 1.0, denominator="paper").item() == pytest.approx(-1.0)
    expected = math.log(math.e + 2) - 1
    assert instance_contrastive(z, z, 1.0, denominator="code").item() == pytest.approx(expected)


@pytest.mark.parametrize("denominator", ["paper", "code"])
@given(seed=seeds, rows=st.integers(2, 9), tau=st.floats(0.1, 2))
@settings(max_examples=30)
def test_instance_loss_equals_the_loop(denominator, seed, rows, tau):
    z, z_hat = unit(rows, 4, seed=seed), unit(rows, 4, seed=seed + 1)
    fast = instance_contrastive(z, z_hat, tau, denominator=denominator)
    assert float(fast) == pytest.approx(naive_instance(z, z_hat, tau, denominator), rel=1e-4, abs=1e-5)


@given(seeds, st.integers(2, 10), st.floats(0.1, 2))
@settings(max_examples=30)
def test_supervised_contrastive_equals_the_loop(seed, rows, tau):
    z = unit(rows, 4, seed=seed)
    ids = torch.randint(3, (rows,), generator=torch.Generator().manual_seed(seed))
    per_sample = []
    for i in range(rows):
        partners = [p for p in range(rows) if p != i and ids[p] == ids[i]]
        if partners:
            bottom = sum(math.exp(float(z[i] @ z[k]) / tau) for k in range(rows) if k != i)
            logs = [math.log(math.exp(float(z[i] @ z[p]) / tau) / bottom) for p in partners]
            per_sample.append(-sum(logs) / len(logs))
    expected = sum(per_sample) / len(per_sample) if per_sample else 0.0
    assert float(supervised_contrastive(z, ids, tau)) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_losses_are_finite_in_half_precision(dtype):
    z, z_hat, mu = unit(16, 8).to(dtype), unit(16, 8, seed=1).to(dtype), unit(5, 8, seed=2).to(dtype)
    q = torch.rand(16, 5).softmax(-1)
    for loss in (
        prototypical_contrastive(z, mu, q, 0.05),
        instance_contrastive(z, z_hat, 0.05),
        instance_contrastive(z, z_hat, 0.05, denominator="paper"),
        supervised_contrastive(z, torch.arange(16) % 3, 0.05),
    ):
        assert loss.isfinite()
        assert loss.dtype == torch.float32


def test_instances_of_one_label_are_not_pushed_apart():
    """Three samples, the first two of one label: in the row of view 1 of sample 0, only its positive and sample 2 stay.

    With unit vectors at right angles, logits are 1/tau for the positive and 0 for the two views of sample 2, and the
    loss of each row of samples 0 and 1 is log(e + 2) - 1 at tau = 1; sample 2 has four negatives: log(e + 4) - 1.
    """
    z = torch.eye(3)
    loss = instance_contrastive(z, z, 1.0, same=torch.tensor([5, 5, -1]))
    first, last = math.log(math.e + 2) - 1, math.log(math.e + 4) - 1
    assert float(loss) == pytest.approx((4 * first + 2 * last) / 6, rel=1e-5)
    unlabelled = instance_contrastive(z, z, 1.0, same=torch.tensor([-1, -1, -1]))
    assert float(unlabelled) == pytest.approx(float(instance_contrastive(z, z, 1.0)))
