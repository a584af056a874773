"""Utterances of different lengths, laid one after another without padding.

`Ragged` is a corpus: a flat tensor of tokens (ids or hidden states) and the offsets of its rows.
`Packing` is a batch of rows of it: which token stands where, and how the packed tokens unfold into the
(row, position) grids that attention needs. Everything else (projections, feed-forward, normalisation) runs on
the packed tokens, so that no arithmetic is spent on padding. Attention sees several grids of different widths,
long rows in one and short ones in another, because a batch has a few long utterances and many short ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

GRID_MULTIPLE = 8  # attention kernels want lengths that are multiples of eight
GRID_CUTS = (0.0, 1 / 16, 1 / 4)  # where, in a batch sorted by falling length, a narrower grid begins


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
class Bounds:
    """Upper bounds on a batch: its packed tokens, and (rows, width) of each grid. A captured graph needs them fixed."""

    slots: int
    grids: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, lengths: Tensor, batches: Tensor) -> Bounds:
        """Bounds that hold for every batch [steps, B] of row numbers; `lengths` lie on the CPU."""
        falling = lengths[batches].sort(dim=1, descending=True).values  # [steps, B]
        rows = falling.shape[1]
        cuts = sorted({int(rows * cut) for cut in GRID_CUTS})
        grids: list[tuple[int, int]] = []
        for first, last in zip(cuts, [*cuts[1:], rows], strict=True):
            width = -int(falling[:, first].max()) // GRID_MULTIPLE * -GRID_MULTIPLE
            if grids and grids[-1][1] == width:
                grids[-1] = (grids[-1][0] + last - first, width)
            else:
                grids.append((last - first, width))
        return cls(int(falling.sum(1).max()), tuple(grids))

    def twice(self) -> Bounds:
        """For a batch that holds every row two times."""
        return Bounds(2 * self.slots, tuple((2 * rows, width) for rows, width in self.grids))

    def rounded(self, multiple: int) -> Bounds:
        return Bounds(-(-self.slots // multiple) * multiple, self.grids)


@dataclass(frozen=True, slots=True)
class Packing:
    """A batch of B rows, sorted by falling length, in T packed slots and in the cells of its grids.

    T may exceed the number of real tokens (a captured CUDA graph needs fixed shapes); surplus slots repeat the
    first token, and nothing ever reads them back.
    """

    token: Tensor  # [T] index into Ragged.flat
    position: Tensor  # [T] position of the token within its row
    used: Tensor  # [T] whether the packed slot holds a token
    cell: Tensor  # [T] cell of each packed slot, counted through all grids
    slot: Tensor  # [cells] packed slot of each cell (0 where the row has ended)
    filled: Tensor  # [cells] whether the cell holds a token
    order: Tensor  # [B] row of the batch that stands at each place of the sorted order
    place: Tensor  # [B] the inverse: where each row of the batch stands
    grids: tuple[tuple[int, int], ...]  # (rows, width) of each grid

    def split(self, cells: Tensor) -> list[Tensor]:
        """[cells, ...] -> one [rows, width, ...] per grid."""
        sizes = [rows * width for rows, width in self.grids]
        return [
            piece.view(rows, width, *piece.shape[1:])
            for piece, (rows, width) in zip(torch.split(cells, sizes), self.grids, strict=True)
        ]


def pack(offsets: Tensor, rows: Tensor, bounds: Bounds) -> Packing:
    """Lay out the rows `rows` of a corpus with these offsets; no host synchronisation."""
    length = offsets[rows + 1] - offsets[rows]  # [B]
    order = length.argsort(descending=True, stable=True)
    place = order.argsort()
    start, length = offsets[rows][order], length[order]
    end = length.cumsum(0)  # [B]
    device = rows.device

    bases, ats, row_of_cell = [], [], []
    first_row = first_cell = 0
    for count, width in bounds.grids:
        numbers = torch.arange(count, device=device)
        bases.append(first_cell + numbers * width)
        ats.append(torch.arange(width, device=device).expand(count, width).flatten())
        row_of_cell.append((first_row + numbers)[:, None].expand(count, width).flatten())
        first_row, first_cell = first_row + count, first_cell + count * width
    base, at, cell_row = torch.cat(bases), torch.cat(ats), torch.cat(row_of_cell)

    t = torch.arange(bounds.slots, device=device)  # [T]
    used = t < end[-1]
    row = torch.where(used, torch.searchsorted(end, t, right=True).clamp_(max=len(rows) - 1), 0)
    position = torch.where(used, t - (end - length)[row], 0)
    filled = at < length[cell_row]
    slot = torch.where(filled, (end - length)[cell_row] + at, 0)
    return Packing(
        start[row] + position, position, used, base[row] + position, slot, filled, order, place, bounds.grids
    )


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


def unfold(packed: Tensor, packing: Packing) -> list[Tensor]:
    """[T, d] -> one [rows, width, d] per grid, zero where a row has ended."""
    cells: Tensor = _Scatterless.apply(  # type: ignore[no-untyped-call]
        packed, packing.slot, packing.filled, packing.cell, packing.used
    )
    return packing.split(cells)


def fold(grids: list[Tensor], packing: Packing) -> Tensor:
    """One [rows, width, d] per grid -> [T, d], the inverse of `unfold`."""
    cells = torch.cat([grid.flatten(0, 1) for grid in grids])
    packed: Tensor = _Scatterless.apply(  # type: ignore[no-untyped-call]
        cells, packing.cell, packing.used, packing.slot, packing.filled
    )
    return packed


def in_batch_order(by_place: Tensor, packing: Packing) -> Tensor:
    """[B, d] in the sorted order -> [B, d] in the order of the batch."""
    every = torch.ones_like(packing.order, dtype=torch.bool)
    rows: Tensor = _Scatterless.apply(  # type: ignore[no-untyped-call]
        by_place, packing.place, every, packing.order, every
    )
    return rows
