"""Utterances of different lengths, stored one after another without padding.

`Ragged` is a corpus: a flat tensor of tokens (ids or hidden states) and the offsets of its rows. A `Batch` arranges
some of its rows in windows of equal width. A window holds several short rows, and no row crosses the edge of a window.
Projections, feed-forward and normalisation run on all slots of the windows at once; attention runs within a window, and
a row sees only its own tokens. So hardly any arithmetic is spent on padding, and every shape is known beforehand, which
a captured CUDA graph needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

WINDOW_MULTIPLE = {"cpu": 8, "cuda": 64}  # attention kernels on a GPU work in tiles of 64


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in one flat tensor; row i is `flat[offsets[i]:offsets[i + 1]]`."""

    flat: Tensor  # [tokens, ...] the tokens of all rows
    offsets: Tensor  # [rows + 1] where each row starts, int64; on the CPU or on the device of `flat`

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        """The number of tokens of each row, [rows]."""
        return self.offsets.diff()

    def row(self, i: int) -> Tensor:
        return self.flat[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Ragged:
        """Return the rows on another device, and in another dtype if one is given."""
        return Ragged(self.flat.to(device, dtype or self.flat.dtype), self.offsets.to(device))

    @staticmethod
    def of(rows: list[list[int]]) -> Ragged:
        """Build the flat form of lists of token ids."""
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        flat = torch.tensor([token for row in rows for token in row], dtype=torch.int64)
        return Ragged(flat, torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]))


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a corpus, and where each of them is in the windows.

    The rows of a batch keep their order. A place is the position of a row in the windows, counted from the first slot
    of the first window on.
    """

    rows: Tensor  # [B] row numbers of the corpus
    order: Tensor  # [B] which row of the batch is at each place
    start: Tensor  # [B] first slot of each place, ascending
    windows: int
    width: int  # of each window, in slots
    max_rows_per_window: int

    @classmethod
    def of(cls, lengths: Tensor, rows: Tensor, device: torch.device) -> Batch:
        """Lay out one batch of row numbers, given the token counts of the whole corpus (both on the CPU)."""
        numbers, batch_of = lay_out(lengths, rows[None], device)
        return batch_of(numbers[0])


def lay_out(lengths: Tensor, batches: Tensor, device: torch.device) -> tuple[Tensor, Callable[[Tensor], Batch]]:
    """Lay out batches in windows: longest rows first, each into the last window while it fits there.

    A window is as wide as the longest row, rounded up. A row that does not fit into the last window begins another. The
    token counts of all rows of the corpus and the row numbers of each batch, [steps, B], are on the CPU.

    Returns rows, order and start of each batch, [steps, 3, B], and the function that makes a batch of a buffer [3, B]
    of them. All batches have the same windows, so that a captured step can process one after another.
    """
    sorted_lengths, order = lengths[batches].sort(dim=1, descending=True, stable=True)
    row_lengths = sorted_lengths.numpy()  # [steps, B], descending
    steps, size = row_lengths.shape
    multiple = WINDOW_MULTIPLE[device.type]
    width = max(-(-int(row_lengths.max()) // multiple), 1) * multiple
    row_ends = row_lengths.cumsum(1)
    row_begins = row_ends - row_lengths
    # Added to the ends of each step, so that the ends of all steps are one ascending list for `searchsorted`.
    step_offset = np.arange(steps) * (int(row_ends[:, -1].max()) + width + 1)
    all_ends = (row_ends + step_offset[:, None]).ravel()
    window_begin = np.zeros((steps, size), dtype=np.int64)  # tokens before a window, at the window's first row
    is_first = np.zeros((steps, size), dtype=np.int64)
    step, first = np.arange(steps), np.zeros(steps, dtype=np.int64)  # steps that still have rows, and their next row
    while len(step):
        begin = row_begins[step, first]
        is_first[step, first], window_begin[step, first] = 1, begin
        first = np.searchsorted(all_ends, begin + width + step_offset[step], side="right") - step * size
        step, first = step[first < size], first[first < size]
    window = is_first.cumsum(1) - 1  # [steps, B]
    start = window * width + row_begins - np.maximum.accumulate(window_begin, axis=1)
    windows = int(window.max()) + 1
    rows_per_window = np.bincount((window + np.arange(steps)[:, None] * windows).ravel())
    numbers = torch.stack([batches, order, torch.from_numpy(start)], dim=1).to(device)
    most = int(rows_per_window.max())
    return numbers, lambda buffer: Batch(buffer[0], buffer[1], buffer[2], windows, width, most)


@dataclass(frozen=True, slots=True)
class Packing:
    """What each of the T = windows x width slots of a batch holds.

    A slot behind the last row of its window is unused: it repeats another token, but attention never looks at it and
    pooling never reads it, so no gradient comes from it.
    """

    token: Tensor  # [T] index of the slot's token in `Ragged.flat`
    position: Tensor  # [T] position of the token in its row
    used: Tensor  # [T] whether the slot holds a token
    place: Tensor  # [T] place of the row that the slot belongs to
    length: Tensor  # [B] token count of the row at each place
    batch: Batch

    def allowed_pairs(self, keys: Tensor) -> Tensor:
        """Return which slot may look at which, [W, L, L]: at the slots of its own row that are among the keys [T].

        An unused slot looks at itself, because some kernels return NaN for a slot that may look nowhere.
        """
        shape = (self.batch.windows, self.batch.width)
        place = self.place.view(shape)
        same_row = (place[:, :, None] == place[:, None, :]) & keys.view(shape)[:, None, :]
        return same_row | torch.diag_embed(~self.used.view(shape))

    def combine(self, h: Tensor, weight: Tensor) -> Tensor:
        """Return weighted sums over the tokens of each row, [views x B, d], in the order of the batch.

        The hidden states `h` are [views x T, d], and each slot has a weight, [T]. This is a small matrix product per
        window. A scatter would be slow or not deterministic on a GPU.
        """
        batch, device = self.batch, h.device
        edges = torch.arange(batch.windows, device=device) * batch.width
        first = torch.searchsorted(batch.start, edges)  # [W] place of each window's first row
        rank = self.place.view(batch.windows, 1, -1) - first[:, None, None]  # [W, 1, L] within the window
        member = rank == torch.arange(batch.max_rows_per_window, device=device)[:, None]  # [W, R, L]
        weights = member * (weight * self.used).view(batch.windows, 1, -1)
        with torch.autocast(device.type, enabled=False):
            sums = weights.to(torch.float32) @ h.float().view(-1, batch.windows, batch.width, h.shape[-1])
        window = batch.start // batch.width  # [B], by place
        column = window * batch.max_rows_per_window + torch.arange(len(batch.start), device=device) - first[window]
        in_batch_order = torch.empty_like(column).scatter_(0, batch.order, column)
        return sums.flatten(1, 2).index_select(1, in_batch_order).flatten(0, 1)


def pack(offsets: Tensor, batch: Batch) -> Packing:
    """Return what each slot of a batch holds, given `Ragged.offsets` on its device. Nothing waits for the device."""
    rows = batch.rows[batch.order]  # [B], by place
    begin = offsets[rows]
    length = offsets[rows + 1] - begin
    slot = torch.arange(batch.windows * batch.width, device=rows.device)
    place = torch.searchsorted(batch.start, slot, right=True) - 1
    position = slot - batch.start[place]
    used = position < length[place]
    position = torch.where(used, position, 0)
    return Packing(begin[place] + position, position, used, place, length, batch)


def batches_by_length(lengths: Tensor, tokens_per_batch: int) -> list[Tensor]:
    """Return row numbers in batches of similar length, each of about `tokens_per_batch` tokens."""
    order = lengths.argsort(stable=True)
    batch_of = lengths[order].cumsum(0).sub(1).div(tokens_per_batch, rounding_mode="floor")
    _, sizes = torch.unique_consecutive(batch_of, return_counts=True)
    return list(torch.split(order, sizes.tolist()))
