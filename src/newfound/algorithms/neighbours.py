"""Nearest neighbours by cosine, exact and in blocks, so that no [n, n] matrix is ever whole in memory."""

from __future__ import annotations

import torch
from torch import Tensor

ROWS_AT_ONCE = 2_048


def nearest(x: Tensor, k: int, *, among: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Similarity and row number of the k rows of x [n, d] that lie closest to each row, [n, k] each, best first.

    A row is not its own neighbour. With `among`, row numbers, only those are looked at. Rows have unit length; k is
    lowered where there are fewer.
    """
    among = torch.arange(len(x), device=x.device) if among is None else among
    reference = x[among]
    place = torch.full((len(x),), -1, device=x.device)  # of each row in the reference
    place[among] = torch.arange(len(among), device=x.device)
    k = max(0, min(k, len(among) - 1))
    values, indices = [], []
    for start in range(0, len(x), ROWS_AT_ONCE):
        similarity = x[start : start + ROWS_AT_ONCE] @ reference.T
        own = place[start : start + ROWS_AT_ONCE]
        rows = (own >= 0).nonzero().squeeze(1)
        similarity[rows, own[rows]] = -torch.inf
        value, index = similarity.topk(k, dim=1)
        values.append(value)
        indices.append(among[index])
    return torch.cat(values), torch.cat(indices)
