"""Utterances of different lengths, laid one after another without padding.

`Ragged` is a corpus: a flat tensor of tokens (ids or hidden states) and the offsets of its rows. A `Batch` lays some
of its rows into windows of equal width, several short rows in one window and none across an edge. Projections,
feed-forward and normalisation run on all slots of the windows at once; attention runs within a window and sees no
other row. So hardly any arithmetic is spent on padding, and every shape is known beforehand, as a captured CUDA
graph needs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

WINDOW_MULTIPLE = {"cpu": 8, "cuda": 64}  # attention kernels on a GPU work in tiles of 64


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
class Batch:
    """Rows of a corpus and where they lie. Rows keep the order of the batch; their places go from slot to slot."""

    rows: Tensor  # [B] row numbers of the corpus
    order: Tensor  # [B] which row of the batch lies at each place
    start: Tensor  # [B] first slot of each place, ascending
    windows: int
    width: int  # slots of a window
    most: int  # rows in one window, at most

    @classmethod
    def of(cls, lengths: Tensor, rows: Tensor, device: torch.device) -> Batch:
        """One batch of these rows (CPU); `lengths` are the token counts of the corpus (CPU)."""
        return lay_out(lengths, rows[None], device).batch(0)


@dataclass(frozen=True, slots=True)
class Layout:
    """Batches of equal size laid out alike: what a captured step can be given one after another."""

    numbers: Tensor  # [steps, 3, B] rows, order and start of each batch
    windows: int
    width: int
    most: int

    def batch(self, step: int) -> Batch:
        return self.over(self.numbers[step])

    def over(self, numbers: Tensor) -> Batch:
        """The batch that reads its rows, order and start from this buffer [3, B]."""
        return Batch(numbers[0], numbers[1], numbers[2], self.windows, self.width, self.most)


@dataclass(frozen=True, slots=True)
class RaggedBatches:
    """Makes the batches of one corpus; what the training loop is given, so that it need not know what a batch is.

    Attributes:
        lengths: Token counts of all rows of the corpus, on the CPU.
        device: Where the batches go.
    """

    lengths: Tensor
    device: torch.device

    def batch(self, rows: Tensor) -> Batch:
        """Lay out one batch of these row numbers (CPU)."""
        return Batch.of(self.lengths, rows, self.device)

    def layout(self, batches: Tensor) -> Layout:
        """Lay out many batches [steps, B] alike."""
        return lay_out(self.lengths, batches, self.device)


def lay_out(lengths: Tensor, batches: Tensor, device: torch.device) -> Layout:
    """Lay out batches [steps, B] of row numbers (CPU), longest rows first, each into the window that is open.

    A window is as wide as the longest row, rounded up; the next window opens when a row no longer fits.
    """
    sorted_lengths, order = lengths[batches].sort(dim=1, descending=True, stable=True)
    falling = sorted_lengths.numpy()  # [steps, B]
    steps, size = falling.shape
    multiple = WINDOW_MULTIPLE[device.type]
    width = max(-(-int(falling.max()) // multiple), 1) * multiple
    ends = falling.cumsum(1)
    begins = ends - falling
    apart = np.arange(steps) * (int(ends[:, -1].max()) + width + 1)  # makes one ascending list of all steps' ends
    all_ends = (ends + apart[:, None]).ravel()
    base = np.zeros((steps, size), dtype=np.int64)  # tokens before the window, noted where a row opens it
    opens = np.zeros((steps, size), dtype=np.int64)
    step, first = np.arange(steps), np.zeros(steps, dtype=np.int64)  # steps that still have rows, and their next row
    while len(step):
        before = begins[step, first]
        opens[step, first], base[step, first] = 1, before
        first = np.searchsorted(all_ends, before + width + apart[step], side="right") - step * size
        step, first = step[first < size], first[first < size]
    window = opens.cumsum(1) - 1  # [steps, B]
    start = window * width + begins - np.maximum.accumulate(base, axis=1)
    windows = int(window.max()) + 1
    members = np.bincount((window + np.arange(steps)[:, None] * windows).ravel())
    numbers = torch.stack([batches, order, torch.from_numpy(start)], dim=1).to(device)
    return Layout(numbers, windows, width, int(members.max()))


@dataclass(frozen=True, slots=True)
class Packing:
    """What stands in each of the T = windows x width slots of a batch.

    A slot behind the last row of its window is unused: it repeats a token that is there, attention never looks at
    it and pooling never reads it, so no gradient comes from it.
    """

    token: Tensor  # [T] index into Ragged.flat
    position: Tensor  # [T] position of the token within its row
    used: Tensor  # [T] whether the slot holds a token
    place: Tensor  # [T] place of the row that the slot belongs to
    length: Tensor  # [B] of the row at each place
    batch: Batch

    def open_pairs(self, keys: Tensor) -> Tensor:
        """[W, L, L] which slot may look at which: those of its own row that are open, `keys` [T].

        An unused slot looks at itself: attention that may look nowhere is NaN in some kernels.
        """
        shape = (self.batch.windows, self.batch.width)
        place = self.place.view(shape)
        own_row = (place[:, :, None] == place[:, None, :]) & keys.view(shape)[:, None, :]
        return own_row | torch.diag_embed(~self.used.view(shape))

    def combine(self, h: Tensor, weight: Tensor) -> Tensor:
        """Weighted sums over the tokens of each row: h [views x T, d], weight [T] -> [views x B, d], in batch order.

        A small matrix product per window, and not a scatter, which on a GPU is slow or not deterministic.
        """
        batch, device = self.batch, h.device
        edges = torch.arange(batch.windows, device=device) * batch.width
        first = torch.searchsorted(batch.start, edges)  # [W] place of each window's first row
        rank = self.place.view(batch.windows, 1, -1) - first[:, None, None]  # [W, 1, L] within the window
        member = rank == torch.arange(batch.most, device=device)[:, None]  # [W, R, L]
        weights = member * (weight * self.used).view(batch.windows, 1, -1)
        with torch.autocast(device.type, enabled=False):
            sums = weights.to(torch.float32) @ h.float().view(-1, batch.windows, batch.width, h.shape[-1])
        window = batch.start // batch.width  # [B], by place
        cell = window * batch.most + torch.arange(len(batch.start), device=device) - first[window]
        in_batch = torch.empty_like(cell).scatter_(0, batch.order, cell)
        return sums.flatten(1, 2).index_select(1, in_batch).flatten(0, 1)


def pack(offsets: Tensor, batch: Batch) -> Packing:
    """What stands where, for a corpus with these offsets; no host synchronisation."""
    rows = batch.rows[batch.order]  # [B], by place
    begin = offsets[rows]
    length = offsets[rows + 1] - begin
    slot = torch.arange(batch.windows * batch.width, device=rows.device)
    place = torch.searchsorted(batch.start, slot, right=True) - 1
    position = slot - batch.start[place]
    used = position < length[place]
    position = torch.where(used, position, 0)
    return Packing(begin[place] + position, position, used, place, length, batch)
