"""A map of utterances in two dimensions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from newfound.algorithms.neighbours import nearest

MAX_LANDMARKS = 3_000  # that t-SNE arranges; more take minutes, and the others follow
Flat = npt.NDArray[np.float64]


def flatten(x: npt.NDArray[np.float32], seed: int = 0) -> Flat:
    """[n, d] -> [n, 2] between 0 and 1. Landmarks are arranged by t-SNE; any other row lies among its nearest three."""
    if len(x) <= MAX_LANDMARKS:
        return _arranged(x, seed)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(x))[:MAX_LANDMARKS])
    flat = _arranged(x[chosen], seed)
    value, index = nearest(torch.from_numpy(x), 3, among=torch.from_numpy(chosen))
    place = np.full(len(x), -1)
    place[chosen] = np.arange(len(chosen))
    weight = (value / 0.05).softmax(1).numpy()
    among = (weight[..., None] * flat[place[index.numpy()]]).sum(1) + rng.normal(scale=0.004, size=(len(x), 2))
    among[chosen] = flat
    inside: Flat = np.clip(among, 0.0, 1.0)
    return inside


def _arranged(x: npt.NDArray[np.float32], seed: int) -> Flat:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if len(x) < 3:
        return np.linspace([0.0, 0.0], [1.0, 1.0], len(x))
    low = PCA(min(50, *x.shape), random_state=seed).fit_transform(x)
    flat = low[:, :2]
    if len(x) > 30:
        flat = TSNE(2, init="pca", perplexity=min(30, len(x) // 4), random_state=seed).fit_transform(low)
    span = np.maximum(flat.max(0) - flat.min(0), 1e-9)
    scaled: Flat = (flat - flat.min(0)) / span
    return scaled
