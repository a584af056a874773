"""Batches that are drawn and not merely shuffled."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from newfound.training.seeding import derive


def class_balanced_batches(
    y: Tensor,
    others: Tensor,
    *,
    classes: int,
    per_class: int,
    n_others: int,
    max_steps: int,
    seed: int,
    stage: str,
    epoch: int,
) -> Tensor:
    """Return batches [steps, classes x per_class + n_others] of row numbers: labelled rows first, then others.

    An epoch has as many steps as it takes to draw as many labelled rows as there are, or as many others as there are
    if no row has a label, and at most `max_steps`. Every step draws some classes, and some rows of each of them; a
    class with too few rows gives some of them twice.

    Args:
        y: Label of every row of the corpus, -1 for none.
        others: Row numbers that the second part of a batch is drawn from, without replacement where they suffice.
        classes: Classes in a batch, at most.
        per_class: Rows of each class.
        n_others: Size of the second part.
        max_steps: Maximum number of steps in an epoch.
        seed: The seed of the fit.
        stage: Name of the training stage; each stage draws other batches.
        epoch: Number of the epoch; each epoch draws other batches.
    """
    rng = np.random.default_rng(derive(seed, stage, "rows", epoch))
    labels = y.numpy()
    rows_of = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    classes = min(classes, len(rows_of))
    pool = others.numpy()
    in_all, in_a_step = (int((labels >= 0).sum()), classes * per_class) if classes else (len(pool), max(1, n_others))
    steps = min(max_steps, max(1, -(-in_all // in_a_step)))
    batches = []
    for _ in range(steps):
        chosen = rng.permutation(len(rows_of))[:classes]
        labelled = [rng.choice(rows_of[c], per_class, replace=len(rows_of[c]) < per_class) for c in chosen]
        unlabelled = rng.choice(pool, n_others, replace=len(pool) < n_others) if n_others else pool[:0]
        batches.append(np.concatenate([*labelled, unlabelled]))
    return torch.from_numpy(np.stack(batches))
