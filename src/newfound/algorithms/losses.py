"""The paper's losses as functions of embeddings. None of them knows a model; each returns a mean over samples.

Shapes: B samples, C = N + M intents, D dimensions. Embeddings z and prototypes mu have unit length.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

LOG_ZERO = -1e30  # stands for log 0 where an infinity would turn into NaN


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
    z: Tensor,
    z_hat: Tensor,
    tau: float,
    *,
    denominator: Literal["paper", "code"] = "code",
    same: Tensor | None = None,
) -> Tensor:
    """Equation 3, L_ins: pull the two views of a sample together, push samples apart.

    Args:
        z: First view of the samples, [B, D].
        z_hat: Second view, [B, D]; both views take the part of z in turn.
        tau: Temperature.
        denominator: "paper" is as printed, the other samples of the same view; "code" is as released, everything but
            the sample itself in both views (so the positive pair stands in it too).
        same: (Pseudo-)labels [B], -1 for none: other samples of the same label are not pushed apart ("code" only).
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


def swapped_prediction(logits: Tensor, targets: Tensor, tau: float) -> Tensor:
    """Each view learns the other's target: logits and targets [2, ..., C], view 1 before view 2."""
    return cross_entropy(logits, targets.flip(0), tau)


def _without_self(similarity: Tensor) -> Tensor:
    return similarity.masked_fill(torch.eye(len(similarity), dtype=torch.bool, device=similarity.device), LOG_ZERO)
