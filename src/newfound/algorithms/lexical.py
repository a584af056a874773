"""A view of utterances by their words: what names of products and parts say that a sentence encoder may not know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

WORD_DIMENSIONS = 100
WORD_WEIGHT = 0.5  # of the words beside the vector


def with_words(x: Tensor, texts: Sequence[str], *, seed: int) -> Tensor:
    """Return unit vectors [n, d] with the words of their texts beside them, [n, d + words], of unit length again.

    Words are TF-IDF weights in few dimensions (a truncated singular value decomposition).

    Args:
        x: Unit vectors, [n, d].
        texts: The text of each vector, [n].
        seed: Same seed, same decomposition.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
    except ValueError:  # no word occurs twice
        return x
    dimensions = min(WORD_DIMENSIONS, weights.shape[1] - 1, weights.shape[0] - 1)
    if dimensions < 1:
        return x
    with np.errstate(invalid="ignore"):  # texts that are all alike have no variance to explain
        words = TruncatedSVD(dimensions, random_state=seed).fit_transform(weights)
    scaled = WORD_WEIGHT * F.normalize(torch.from_numpy(words).to(x), dim=-1)
    return F.normalize(torch.cat([x, scaled], dim=1), dim=-1)
