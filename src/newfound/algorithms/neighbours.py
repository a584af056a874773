"""Nearest neighbours by cosine, and an order of rows that does not depend on the processor.

The search is exact and in blocks, so that no [n, n] matrix is ever whole in memory.

Where exact search would take minutes on a CPU, an inverted-file index of faiss, if it is installed, looks only at the
cells of vectors that lie closest. It finds nearly all true neighbours (benchmarks/scale/neighbours.json).
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

ROWS_AT_ONCE = 2_048
MIN_PAIRS_FOR_INDEX = 2 * 10**9  # exact search compares so many pairs in about half a minute on a CPU core
TRAINING_ROWS_PER_CELL = 64
CELLS_SEARCHED = 4
DECIMALS = 4  # of scores that rows are ranked by; processors and numbers of threads differ in the sixth


def rank_descending(scores: Tensor) -> Tensor:
    """Return the order of falling scores [..., n]; those that are equal when rounded keep the order of their rows."""
    return scores.double().round(decimals=DECIMALS).argsort(dim=-1, descending=True, stable=True)


def nearest(x: Tensor, k: int, *, among: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Similarity and row number of the k rows of x [n, d] that lie closest to each row, [n, k] each, best first.

    A row is not its own neighbour. With `among`, row numbers, only those are looked at. Rows have unit length; k is
    lowered where there are fewer.
    """
    among = torch.arange(len(x), device=x.device) if among is None else among
    k = max(0, min(k, len(among) - 1))
    if k and x.device.type == "cpu" and len(x) * len(among) >= MIN_PAIRS_FOR_INDEX and find_spec("faiss") is not None:
        return _search_index(x, k, among)
    return _search_exactly(x, k, among, torch.arange(len(x), device=x.device))


def _search_exactly(x: Tensor, k: int, among: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest of some rows."""
    reference = x[among]
    place = torch.full((len(x),), -1, device=x.device)  # of each row in the reference
    place[among] = torch.arange(len(among), device=x.device)
    values, indices = [], []
    for part in torch.split(rows, ROWS_AT_ONCE):
        similarity = x[part] @ reference.T
        own = place[part]
        inside = (own >= 0).nonzero().squeeze(1)
        similarity[inside, own[inside]] = -torch.inf
        value, index = similarity.topk(k, dim=1)
        values.append(value)
        indices.append(among[index])
    return torch.cat(values), torch.cat(indices)


def _search_index(x: Tensor, k: int, among: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest of all rows, by an index; those for which it finds too few are searched exactly."""
    import faiss

    reference = np.ascontiguousarray(x[among].float().numpy())
    cells = max(1, int(len(among) ** 0.5))
    index = faiss.index_factory(x.shape[1], f"IVF{cells},Flat", faiss.METRIC_INNER_PRODUCT)
    step = max(1, len(reference) // (cells * TRAINING_ROWS_PER_CELL))
    index.train(reference[::step])
    index.add(reference)
    faiss.ParameterSpace().set_index_parameter(index, "nprobe", CELLS_SEARCHED)
    value, place = index.search(np.ascontiguousarray(x.float().numpy()), k + 1)
    positions, similarity = torch.from_numpy(place), torch.from_numpy(value)
    rows = torch.where(positions >= 0, among[positions.clamp(min=0)], -1)
    usable = (rows >= 0) & (rows != torch.arange(len(x))[:, None])
    order = usable.int().argsort(dim=1, descending=True, stable=True)[:, :k]  # usable ones first, best first
    similarity, rows = similarity.gather(1, order), rows.gather(1, order)
    few = (usable.sum(1) < k).nonzero().squeeze(1)
    if len(few):
        similarity[few], rows[few] = _search_exactly(x.float(), k, among, few)
    return similarity.to(x.dtype), rows
