"""Utterances of different lengths, laid one after another without padding.

`Ragged` is a corpus: a flat tensor of tokens (ids or hidden states) and the offsets of its rows.
`Packing` is a batch of rows of it: which token stands where, and how the packed tokens unfold into the
(row, position) grid that attention needs. Everything else (projections, feed-forward, normalisation) runs on
the packed tokens, so that no arithmetic is spent on padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in one flat tensor; row i is `flat[offsets[i]:offsets[i + 1]]`."""

    flat: Tensor  # [tokens, ...]
    offsets: Tensor  # [rows + 1], int64, on the CPU or beside `flat`

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        return self.offsets.diff()

    def row(self, i: int) -> Tensor:
        return self.flat[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Ragged:
        return Ragged(self.flat.to(device, dtype or self.flat.dtype), self.offsets.to(device))

    @staticmethod
    def of(rows: list[list[int]]) -> Ragged:
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        flat = torch.tensor([token for row in rows for token in row], dtype=torch.int64)
        return Ragged(flat, torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]))


@dataclass(frozen=True, slots=True)
class Packing:
    """A batch of B rows in T packed slots and in a grid of B × L positions.

    T may exceed the number of real tokens (a captured CUDA graph needs fixed shapes); surplus slots repeat the
    first token, and nothing ever reads them back.
    """

    token: Tensor  # [T] index into Ragged.flat
    position: Tensor  # [T] position of the token within its row
    slot: Tensor  # [B, L] packed slot of each grid position (0 where the row has ended)
    filled: Tensor  # [B, L] whether the grid position holds a token
    cell: Tensor  # [T] grid position (row * L + position) of each packed slot
    used: Tensor  # [T] whether the packed slot holds a token


def pack(ragged_offsets: Tensor, rows: Tensor, slots: int, longest: int) -> Packing:
    """Lay out the rows `rows` in `slots` packed slots and a grid `longest` wide; no host synchronisation."""
    start = ragged_offsets[rows]  # [B]
    length = ragged_offsets[rows + 1] - start  # [B]
    end = length.cumsum(0)  # [B]
    t = torch.arange(slots, device=rows.device)  # [T]
    used = t < end[-1]
    row = torch.searchsorted(end, t, right=True).clamp_(max=len(rows) - 1)  # [T]
    position = torch.where(used, t - (end - length)[row], 0)
    row = torch.where(used, row, 0)
    at = torch.arange(longest, device=rows.device)  # [L]
    filled = at < length[:, None]
    slot = torch.where(filled, (end - length)[:, None] + at, 0)
    return Packing(start[row] + position, position, slot, filled, row * longest + position, used)


class _Scatterless(torch.autograd.Function):
    """`where(valid, source[index], 0)` for an index that is one-to-one where valid, with the inverse supplied.

    The gradient of a gather is a scatter, which on a GPU is slow or not deterministic. Here the inverse map is
    known, so the gradient is a gather as well.
    """

    @staticmethod
    def forward(
        ctx: Any, source: Tensor, index: Tensor, valid: Tensor, inverse: Tensor, inverse_valid: Tensor
    ) -> Tensor:
        ctx.save_for_backward(inverse, inverse_valid)
        return source[index] * valid[:, None].to(source.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        inverse, inverse_valid = ctx.saved_tensors
        (gradient,) = gradients
        return gradient[inverse] * inverse_valid[:, None].to(gradient.dtype), None, None, None, None


def unfold(packed: Tensor, packing: Packing) -> Tensor:
    """[T, d] -> [B, L, d], zero where a row has ended."""
    rows, longest = packing.slot.shape
    grid: Tensor = _Scatterless.apply(  # type: ignore[no-untyped-call]
        packed, packing.slot.flatten(), packing.filled.flatten(), packing.cell, packing.used
    )
    return grid.view(rows, longest, packed.shape[-1])


def fold(grid: Tensor, packing: Packing) -> Tensor:
    """[B, L, d] -> [T, d], the inverse of `unfold`."""
    packed: Tensor = _Scatterless.apply(  # type: ignore[no-untyped-call]
        grid.flatten(0, 1), packing.cell, packing.used, packing.slot.flatten(), packing.filled.flatten()
    )
    return packed
