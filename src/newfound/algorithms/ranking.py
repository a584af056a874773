"""An order of rows that does not depend on the processor."""

from __future__ import annotations

from torch import Tensor

DECIMALS = 4  # of scores; in single precision, processors and numbers of threads differ in the sixth


def rank_descending(scores: Tensor) -> Tensor:
    """Return the order of falling scores [..., n]; those that are equal when rounded keep the order of their rows."""
    return scores.double().round(decimals=DECIMALS).argsort(dim=-1, descending=True, stable=True)
