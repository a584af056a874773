"""Who belongs where: sample-prototype alignment, label disambiguation and the prototypes' moving average.

Shapes: B samples in a batch, N known and M new intents, D dimensions of the embedding. Known intents come first.
Labels are ids; -1 marks an unlabelled sample. Only `move_prototypes` with a length
restored per sample waits for the host; a step with anything else can be captured.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

LOG_ZERO = -1e30  # stands for log 0 where an infinity would turn into NaN


@torch.no_grad()
def sinkhorn(
    logits: Tensor, among: Tensor, *, epsilon: float = 0.05, iterations: int = 3, prior: Tensor | None = None
) -> Tensor:
    """Sinkhorn-Knopp: soft assignments whose columns are filled in proportion to a prior (uniform by default).

    logits [..., B, M] -> assignments [..., B, M]: rows of `among` [B] sum to one, all other rows are zero. It works
    on logarithms in float32, shifted by the maximum: finite for any finite logits, half precision included.
    """
    log_q = logits.float() / epsilon
    outside = torch.where(among, 0.0, LOG_ZERO)[:, None]  # [B, 1]
    for _ in range(iterations):
        log_q = F.log_softmax((log_q + outside).mT, dim=-1).mT  # over rows; the kernel for dim=-2 is ten times slower
        if prior is not None:  # a uniform one would shift whole rows, which the next line takes back
            log_q = log_q + prior.float().log()
        log_q = F.log_softmax(log_q, dim=-1)
    return log_q.exp() * among[:, None]


@torch.no_grad()
def align(
    new_logits: Tensor, y: Tensor, n_known: int, *, epsilon: float, iterations: int, prior: Tensor | None = None
) -> Tensor:
    """Equation 1: q_i is the one-hot label of a known sample, and the calibrated OOD logits of an unlabelled one.

    new_logits [..., B, M] of the joint classifier, y [B] -> q [..., B, N + M].
    """
    unlabelled = y < 0
    q_new = sinkhorn(new_logits, unlabelled, epsilon=epsilon, iterations=iterations, prior=prior)
    q_known = one_hot_or_zero(y, n_known).expand(*q_new.shape[:-1], n_known)
    return torch.cat([q_known, q_new], dim=-1)


@torch.no_grad()
def disambiguate(z: Tensor, mu: Tensor, y: Tensor, n_known: int) -> Tensor:
    """Equations 5 and 6: the label of a known sample; for an unlabelled one, the nearest prototype of a new intent.

    z [..., B, D], mu [N + M, D], y [B] -> ids [..., B].
    """
    nearest = n_known + (z @ mu[n_known:].T).argmax(dim=-1)
    return torch.where(y >= 0, y, nearest)


@torch.no_grad()
def move_prototypes(
    mu: Tensor, z: Tensor, ids: Tensor, gamma: float, *, normalize: Literal["batch", "sample"] = "batch"
) -> Tensor:
    """Equation 4: mu_c <- Normalize(gamma mu_c + (1 - gamma) z_i), sample after sample in the order of the batch.

    mu [C, D], z [B, D], ids [B] -> mu [C, D]. With `normalize="batch"` (the released code) the length is restored
    once, at the end. The sequence is then linear: a sample that n later samples of its class follow enters with
    weight (1 - gamma) gamma^n, so one matrix product gives exactly the sequential result. With "sample" (the
    paper's equation) every update normalises. Samples of different classes do not touch each other, so the n-th samples
    of all classes move at once, one n after another. How many there are must be asked of the device: this is the only
    function here that waits for the host.
    """
    if normalize == "sample":
        mu, z = mu.clone(), z.to(mu.dtype)
        earlier = (ids[:, None] == ids[None]).tril(-1).sum(1)  # [B] samples of the same class that come before
        for rows in torch.split(earlier.argsort(stable=True), earlier.bincount().tolist()):
            mu[ids[rows]] = F.normalize(gamma * mu[ids[rows]] + (1 - gamma) * z[rows], dim=-1)
        return mu
    member = one_hot_or_zero(ids, len(mu)).to(mu.dtype)  # [B, C]
    count = member.sum(0)  # [C]
    later = (ids[:, None] == ids[None]).triu(1).sum(1)  # [B] samples of the same class that follow
    weight = member * ((1 - gamma) * gamma**later)[:, None]  # [B, C]
    with torch.autocast(z.device.type, enabled=False):  # in float32, as the loop would
        return F.normalize(gamma ** count[:, None] * mu + weight.T @ z.to(mu.dtype), dim=-1)


def one_hot_or_zero(y: Tensor, classes: int) -> Tensor:
    """[...] -> [..., classes] in float32; a row without a label (-1) is all zero."""
    return (y[..., None] == torch.arange(classes, device=y.device)).float()


def class_means(x: Tensor, ids: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Mean direction of each class [classes, D], and which classes have any sample; ids of -1 count nowhere."""
    member = one_hot_or_zero(ids, classes)
    return F.normalize(member.T @ F.normalize(x.float(), dim=-1), dim=-1), member.sum(0) > 0
