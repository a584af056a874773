"""A map of utterances in two dimensions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from newfound.algorithms.neighbours import nearest

MAX_LANDMARKS = 3_000  # rows that t-SNE projects; with more it takes minutes
NEAREST_LANDMARKS = 3  # between which any other row is placed
COLOURS = 12  # of the page and the report
TEMPERATURE = 0.05  # of the weights of these landmarks, on cosines
JITTER = 0.004  # standard deviation, so that rows with the same landmarks do not cover one another
Positions = npt.NDArray[np.float64]  # [n, 2]


def map_positions(x: npt.NDArray[np.float32], *, quick: bool = False) -> Positions:
    """Return a position on a map for each vector, [n, 2], between 0 and 1.

    If there are many vectors, t-SNE projects a sample of them, the landmarks. Any other vector is placed at the
    weighted mean of its nearest landmarks. The vectors [n, d] have unit length.
    With `quick`, PCA alone is done, which shows less.
    """
    if quick or len(x) <= MAX_LANDMARKS:
        return _project(x, quick=quick)
    rng = np.random.default_rng(0)
    landmarks = np.sort(rng.permutation(len(x))[:MAX_LANDMARKS])
    landmark_positions = _project(x[landmarks], quick=False)
    similarity, index = nearest(torch.from_numpy(x), NEAREST_LANDMARKS, among=torch.from_numpy(landmarks))
    landmark_number = np.full(len(x), -1)
    landmark_number[landmarks] = np.arange(len(landmarks))
    weight = (similarity / TEMPERATURE).softmax(1).numpy()
    positions = (weight[..., None] * landmark_positions[landmark_number[index.numpy()]]).sum(1)
    positions = positions + rng.normal(scale=JITTER, size=(len(x), 2))
    positions[landmarks] = landmark_positions
    clipped: Positions = np.clip(positions, 0.0, 1.0)
    return clipped


def distinct_colours(prototypes: npt.NDArray[np.float32], coloured: Collection[int]) -> dict[int, int]:
    """Return a colour for each of these intents, so that intents of one colour are as unlike as can be, one by one."""
    similarity = prototypes @ prototypes.T
    nearest_of_colour = np.full((COLOURS, len(prototypes)), -2.0, np.float32)
    chosen = {}
    for intent in sorted(coloured):
        colour = chosen[intent] = int(nearest_of_colour[:, intent].argmin())
        nearest_of_colour[colour] = np.maximum(nearest_of_colour[colour], similarity[intent])
    return chosen


def _project(x: npt.NDArray[np.float32], *, quick: bool) -> Positions:
    """Project vectors to two dimensions by t-SNE, or by PCA if there are few, scaled to between 0 and 1."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if len(x) < 3:
        return np.linspace([0.0, 0.0], [1.0, 1.0], len(x))
    low = PCA(2 if quick else min(50, *x.shape), random_state=0).fit_transform(x)
    flat = low[:, :2]
    if len(x) > 30 and not quick:
        flat = TSNE(2, init="pca", perplexity=min(30, len(x) // 4), random_state=0).fit_transform(low)
    return _scale(flat)


def _scale(flat: npt.NDArray[Any]) -> Positions:
    span = np.maximum(flat.max(0) - flat.min(0), 1e-9)
    scaled: Positions = (flat - flat.min(0)) / span
    return scaled
