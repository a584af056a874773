"""Learning rate over time, and the settings of one training stage."""

from __future__ import annotations

import math
from dataclasses import dataclass

from newfound.errors import SettingsError


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

    def __post_init__(self) -> None:
        if self.epochs < 0:
            raise SettingsError(f"epochs={self.epochs} is negative")
        if self.batch_size < 2:
            raise SettingsError(f"batch_size={self.batch_size} must be at least 2")
        if not self.lr > 0 or not 0 <= self.min_lr <= self.lr:
            raise SettingsError(f"lr={self.lr} must be positive and min_lr={self.min_lr} between 0 and lr")
        if not 0 <= self.momentum < 1:
            raise SettingsError(f"momentum={self.momentum} must lie in [0, 1)")

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        warm = min(self.warmup_epochs, self.epochs - 1)
        if epoch < warm:
            return self.min_lr + (self.lr - self.min_lr) * epoch / warm
        done = (epoch - warm) / max(self.epochs - warm, 1)
        return self.min_lr + (self.lr - self.min_lr) * (1 + math.cos(math.pi * done)) / 2
