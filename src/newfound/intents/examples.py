"""Which utterances to show of an intent: central ones, and those that border on other intents."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.text import words_of

NEARLY_EQUAL = 0.95  # cosine of two exemplars that show the same


def exemplars(x: Tensor, prototype: Tensor, texts: Sequence[str], most: int = 5) -> list[int]:
    """Return positions of utterances that are close to a prototype and not close to one another.

    Args:
        x: Vectors of the utterances, [n, d].
        prototype: The direction to be close to, [d].
        texts: The utterances; no text is chosen twice.
        most: How many to choose.
    """
    x = F.normalize(x, dim=-1)
    order = (x @ F.normalize(prototype, dim=-1)).argsort(descending=True, stable=True).tolist()
    chosen: list[int] = []
    seen: set[str] = set()
    for limit in (NEARLY_EQUAL, 2.0):  # the second time around, whatever is not the very same text
        for i in order:
            if len(chosen) == most:
                return chosen
            text = " ".join(words_of(texts[i])) or texts[i]
            if text in seen or any(float(x[i] @ x[j]) > limit for j in chosen):
                continue
            chosen.append(i)
            seen.add(text)
    return chosen


def border_cases(scores: Tensor, column: int, texts: Sequence[str], most: int = 3) -> list[int]:
    """Return positions of the utterances of an intent that are nearest to being of another.

    Args:
        scores: Logits or probabilities of all intents, [n, intents].
        column: The intent's own.
        texts: The utterances; no text is chosen twice.
        most: How many to choose.
    """
    others = scores.clone()
    others[:, column] = -torch.inf
    margin = scores[:, column] - others.max(1).values
    chosen: dict[str, int] = {}
    for i in margin.argsort(stable=True).tolist():
        chosen.setdefault(texts[i], i)
        if len(chosen) == most:
            break
    return list(chosen.values())
