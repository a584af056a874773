"""Randomness by name: every stage and epoch draws from its own seed, so that a resumed run repeats itself."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor


def derive(seed: int, *names: str | int) -> int:
    """A seed for one purpose, from the user's seed and the purpose's name; the same on every machine."""
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def seed_torch(seed: int, *names: str | int) -> None:
    """Set the generators of all devices (dropout draws from them)."""
    torch.manual_seed(derive(seed, *names))


def epoch_batches(rows: Tensor, batch_size: int, seed: int, stage: str, epoch: int) -> Tensor:
    """Shuffled batches [steps, B] of row numbers that cover `rows`.

    All batches have one size, so that a captured step fits each of them: the rows are divided evenly, and a
    last batch that falls short is filled from the start of the same shuffle.
    """
    steps = -(-len(rows) // batch_size)
    size = -(-len(rows) // steps)
    order = torch.from_numpy(np.random.default_rng(derive(seed, stage, "rows", epoch)).permutation(len(rows)))
    order = torch.cat([order, order[: steps * size - len(rows)]])
    return rows[order].view(steps, size)
