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


def class_balanced_batches(
    y: Tensor, others: Tensor, *, classes: int, per_class: int, n_others: int, steps: int, seed: int
) -> Tensor:
    """Return batches [steps, classes x per_class + n_others] of row numbers: labelled rows first, then others.

    Every step draws some classes of the rows with a label in y (-1 for none), and some rows of each of them; a class
    with too few rows gives some of them twice.
    """
    rng = np.random.default_rng(seed)
    labels = y.numpy()
    rows_of = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    pool = others.numpy()
    batches = []
    for _ in range(steps):
        chosen = rng.permutation(len(rows_of))[:classes]
        labelled = [rng.choice(rows_of[c], per_class, replace=len(rows_of[c]) < per_class) for c in chosen]
        unlabelled = rng.choice(pool, n_others, replace=len(pool) < n_others) if n_others else pool[:0]
        batches.append(np.concatenate([*labelled, unlabelled]))
    return torch.from_numpy(np.stack(batches))
