"""The paper's losses as functions of embeddings. None of them knows a model; each returns a mean over samples.

Shapes: B samples, C = N + M intents, D dimensions. Embeddings z and prototypes mu have unit length.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import LOG_ZERO


def cross_entropy(logits: Tensor, target: Tensor, tau: float) -> Tensor:
    """Soft cross-entropy at a temperature: logits [..., C], target [..., C] -> mean over the leading dimensions."""
    return cross_entropies(logits, target, tau).mean()


def cross_entropies(logits: Tensor, target: Tensor, tau: float) -> Tensor:
    """The same before the mean: [...]."""
    return -(target * F.log_softmax(logits.float() / tau, dim=-1)).sum(-1)


def prototypical_contrastive(z: Tensor, mu: Tensor, q: Tensor, tau: float) -> Tensor:
    """Equation 2, L_PCL: pull z_i [..., D] to the prototypes mu_j [C, D] by its confidence q_i [..., C]."""
    return cross_entropy(z @ mu.T, q, tau)


def instance_contrastive(
    z: Tensor, z_hat: Tensor, tau: float, *, denominator: Literal["paper", "code"] = "code", same: Tensor | None = None
) -> Tensor:
    """Equation 3, L_ins: pull the two views z and z_hat [B, D] of a sample together, push samples apart.

    The denominator of "paper" is as printed, the other samples of the same view; that of "code" is as released,
    everything but the sample itself in both views (so the positive pair stands in it too). With "code", other samples
    of the same (pseudo-)label in `same` [B], -1 for none, are not pushed apart.
    """
    if denominator == "code":
        both = torch.cat([z, z_hat])  # [2B, D]
        similarity = _without_self((both @ both.T).float() / tau)
        positive = torch.arange(len(both), device=z.device).roll(len(z))
        if same is not None:
            label = torch.cat([same, same])
            alike = (label[:, None] == label[None]) & (label >= 0)[:, None]
            alike = alike & (positive[:, None] != torch.arange(len(both), device=z.device)[None])
            similarity = similarity.masked_fill(alike, LOG_ZERO)
        return F.cross_entropy(similarity, positive)
    positive_pairs = (z * z_hat).float().sum(-1) / tau  # [B]
    losses = [
        torch.logsumexp(_without_self((view @ view.T).float() / tau), dim=-1) - positive_pairs for view in (z, z_hat)
    ]
    return torch.cat(losses).mean()


def supervised_contrastive(z: Tensor, ids: Tensor, tau: float) -> Tensor:
    """L_SCL of the ablation: pull samples with the same (pseudo-)label together; z [B, D], ids [B].

    A sample without a partner contributes nothing.
    """
    similarity = _without_self((z @ z.T).float() / tau)
    log_p = F.log_softmax(similarity, dim=-1)
    partner = (ids[:, None] == ids[None]).float()
    partner.fill_diagonal_(0.0)
    partners = partner.sum(1)  # [B]
    per_sample = -(partner * log_p.masked_fill(partner == 0, 0.0)).sum(1) / partners.clamp(min=1)
    return per_sample.sum() / (partners > 0).sum().clamp(min=1)


def _without_self(similarity: Tensor) -> Tensor:
    return similarity.masked_fill(torch.eye(len(similarity), dtype=torch.bool, device=similarity.device), LOG_ZERO)
