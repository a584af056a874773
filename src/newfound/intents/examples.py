"""Chooses the utterances that are shown of an intent: central ones, and those close to other intents."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.ranking import rank_descending
from newfound.text import words_of

MAX_SIMILARITY_OF_EXEMPLARS = 0.95  # cosine; more similar utterances would show the same
ANY_SIMILARITY = 2.0  # above every cosine


def exemplars(x: Tensor, prototype: Tensor, texts: Sequence[str], count: int = 5) -> list[int]:
    """Return positions of utterances that are close to a prototype and not close to one another.

    Args:
        x: Vectors of the utterances, [n, d].
        prototype: The prototype, [d].
        texts: The utterances; no text is chosen twice.
        count: How many to choose at most.
    """
    x = F.normalize(x, dim=-1)
    order = rank_descending(x @ F.normalize(prototype, dim=-1)).tolist()
    chosen: list[int] = []
    seen: set[str] = set()
    # The second pass fills up with similar utterances, if the first did not choose enough.
    for max_similarity in (MAX_SIMILARITY_OF_EXEMPLARS, ANY_SIMILARITY):
        for i in order:
            if len(chosen) == count:
                return chosen
            text = " ".join(words_of(texts[i])) or texts[i]
            if text in seen or any(float(x[i] @ x[j]) > max_similarity for j in chosen):
                continue
            chosen.append(i)
            seen.add(text)
    return chosen


def border_cases(scores: Tensor, column: int, texts: Sequence[str], count: int = 3) -> list[int]:
    """Return positions of the utterances of an intent that are closest to belonging to another intent.

    Args:
        scores: Logits or probabilities of all intents for these utterances, [n, intents].
        column: The column of the intent.
        texts: The utterances; no text is chosen twice.
        count: How many to choose at most.
    """
    others = scores.clone()
    others[:, column] = -torch.inf
    margin = scores[:, column] - others.max(1).values
    chosen: dict[str, int] = {}
    for i in rank_descending(-margin).tolist():
        chosen.setdefault(texts[i], i)
        if len(chosen) == count:
            break
    return list(chosen.values())
