"""docs/dpl.md in numbers: the EM view of prototypical contrastive learning on a toy mixture."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from newfound.algorithms.losses import prototypical_contrastive


@pytest.fixture(scope="module")
def mixture():
    """Three directions on the sphere, 60 points around them; P(x, j) = P(j) exp(x.mu_j / tau) / Z with equal P(j).

    On the sphere with one concentration, Z is the same for all classes, so it drops out of every comparison.
    """
    generator = torch.Generator().manual_seed(0)
    mu = F.normalize(torch.randn(3, 4, generator=generator), dim=-1).double()
    x = mu.repeat_interleave(20, 0) + 0.3 * torch.randn(60, 4, generator=generator).double()
    return F.normalize(x, dim=-1), mu, 0.5


def log_joint(x, mu, tau):
    return x @ mu.T / tau - torch.log(torch.tensor(float(len(mu)), dtype=torch.double))  # [n, 3], up to log Z


def bound(x, mu, tau, q):
    """Jensen's lower bound: sum_j q_j log(P(x, j) / q_j), summed over the points."""
    return (q * (log_joint(x, mu, tau) - q.clamp(min=1e-300).log())).sum()


def test_the_bound_is_tight_exactly_at_the_posterior(mixture):
    x, mu, tau = mixture
    likelihood = log_joint(x, mu, tau).logsumexp(-1).sum()
    posterior = log_joint(x, mu, tau).softmax(-1)
    assert torch.allclose(bound(x, mu, tau, posterior), likelihood)
    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        other = torch.rand(len(x), 3, generator=generator).double().softmax(-1)
        gap = likelihood - bound(x, mu, tau, other)
        divergence = (other * (other / posterior).log()).sum()
        assert gap > 0
        assert torch.allclose(gap, divergence), "what is lost is the divergence from the posterior"


def test_the_gradient_of_pcl_is_the_m_steps(mixture):
    """With q fixed, minimising L_PCL and maximising the bound's class-conditional term move mu the same way.

    The M-step's objective is sum_ij q_ij log(exp(x_i.mu_j / tau) / sum_r exp(x_i.mu_r / tau)): its gradient is
    sum_i (q_ij - p_ij) x_i / tau, p being the softmax. Written out by hand here, it must be minus n times the
    gradient that autograd finds for L_PCL (a mean over n samples).
    """
    x, mu, tau = mixture
    q = torch.rand(len(x), 3, generator=torch.Generator().manual_seed(2)).double().softmax(-1)
    p = (x @ mu.T / tau).softmax(-1)
    m_step = (q - p).T @ x / tau
    leaf = mu.clone().requires_grad_()
    prototypical_contrastive(x, leaf, q, tau).backward()
    # The loss itself computes in float32, so the two agree to that precision.
    assert torch.allclose(-len(x) * leaf.grad, m_step, atol=1e-4)


def test_an_em_step_never_lowers_the_likelihood(mixture):
    """E: q = posterior. M: the prototypes that maximise the bound. The likelihood rises until it stands still."""
    x, _, tau = mixture
    mu = F.normalize(torch.randn(3, 4, generator=torch.Generator().manual_seed(3)), dim=-1).double()
    values = []
    for _ in range(60):
        values.append(float(log_joint(x, mu, tau).logsumexp(-1).sum()))
        q = log_joint(x, mu, tau).softmax(-1)
        mu = F.normalize(q.T @ x, dim=-1)  # the exact maximiser on the sphere for the joint term
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(values))
    assert values[-1] > values[0] + 1
