"""Learning rate over time, and the settings of one training stage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

Groups = list[dict[str, Any]]
"""What an optimiser trains: "params", their rate "lr", and the "name" of the group, "encoder" or "heads"."""


def parameters_of(groups: Groups) -> Iterator[nn.Parameter]:
    """Yield the parameters of all groups."""
    for group in groups:
        yield from group["params"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """SGD with momentum; linear warm-up from `min_lr`, then a cosine back to it, epoch by epoch."""

    epochs: int
    batch_size: int = 512
    lr: float = 0.1
    min_lr: float = 0.001
    warmup_epochs: int = 10
    momentum: float = 0.9
    weight_decay: float = 1.5e-4
    clip: ClassVar[None] = None  # gradients are as long as they are

    def optimizer(self, groups: Groups, *, fused: bool) -> torch.optim.Optimizer:
        """Return SGD over the parameters, with its state made, so that a graph and a checkpoint find it."""
        optimizer = torch.optim.SGD(
            groups, lr=self.lr, momentum=self.momentum, weight_decay=self.weight_decay, fused=fused
        )
        for p in parameters_of(groups):
            optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p)
        return optimizer

    def rates(self, step: int, steps_per_epoch: int) -> dict[str, float]:
        """Return the learning rate of each parameter group at a step, counted from 0."""
        return dict.fromkeys(("encoder", "heads"), self.rate(step // steps_per_epoch))

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        warm = min(self.warmup_epochs, self.epochs - 1)
        if epoch < warm:
            return self.min_lr + (self.lr - self.min_lr) * epoch / warm
        done = (epoch - warm) / max(self.epochs - warm, 1)
        return self.min_lr + (self.lr - self.min_lr) * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True, slots=True)
class AdamWSchedule:
    """AdamW at a low rate for a few epochs: linear warm-up, then a cosine to zero, step by step."""

    epochs: int = 2
    lr: float = 2e-5  # highest, of the encoder
    head_lr: float = 1e-3  # highest, of what is not the encoder
    weight_decay: float = 0.01
    warmup: float = 0.1  # share of the steps in which the rate rises
    clip: float | None = 1.0  # norm that longer gradients are scaled down to
    batch_size: int = 256  # where the batches are not given

    def optimizer(self, groups: Groups, *, fused: bool) -> torch.optim.Optimizer:
        """Return AdamW over the parameters, with its state made, so that a graph and a checkpoint find it."""
        optimizer = torch.optim.AdamW(groups, weight_decay=self.weight_decay, fused=fused, capturable=fused)
        for p in parameters_of(groups):
            optimizer.state[p] = {
                "step": torch.zeros((), device=p.device if fused else "cpu"),
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
        return optimizer

    def rates(self, step: int, steps_per_epoch: int) -> dict[str, float]:
        """Return the learning rate of each parameter group at a step, counted from 0."""
        steps = max(1, self.epochs * steps_per_epoch)
        warm = max(1, round(self.warmup * steps))
        if step < warm:
            factor = (step + 1) / warm
        else:
            factor = (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) / 2
        return {"encoder": self.lr * factor, "heads": self.head_lr * factor}


Optimization = Schedule | AdamWSchedule
"""The optimiser of a stage and its learning rates."""
