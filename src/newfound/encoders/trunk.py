"""Runs the frozen layers of an encoder over a corpus, in batches of similar length."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from newfound.encoders.layers import Stack
from newfound.encoders.ragged import Batch, Packing, Ragged, batches_by_length, pack
from newfound.encoders.tail import Features, attention_keys

TOKENS_PER_BATCH = {"cpu": 4_096, "cuda": 131_072}


def whole_corpus(lengths: Tensor, device: torch.device) -> list[Batch]:
    """Return batches of similar length that cover a whole corpus.

    Args:
        lengths: Token counts of the corpus, on the CPU.
        device: Where the batches go.
    """
    return [Batch.of(lengths, rows, device) for rows in batches_by_length(lengths, TOKENS_PER_BATCH[device.type])]


@torch.no_grad()
def run_trunk(
    trunk: Stack,
    tokens: Features,
    rows: list[int],
    pool: Callable[[Tensor, Packing], Tensor] | None = None,
    *,
    keep_on_device: bool = False,
) -> Ragged:
    """Return the hidden states of some rows of a corpus, or their pooled vectors. Rows of similar length run together.

    Args:
        trunk: The layers, with the embeddings.
        tokens: The token ids of the corpus, on the CPU.
        rows: Positions in the corpus of the rows to encode.
        pool: Makes one vector of the hidden states of each row (`newfound.encoders.tail.pool_hidden_states`); None
            returns the hidden states themselves.
        keep_on_device: Return them in bfloat16 precision on the device of the layers, and not on the CPU.
    """
    weight = next(trunk.parameters())
    run_on, device = weight.device, weight.device if keep_on_device else torch.device("cpu")
    lengths = tokens.data.lengths[rows]
    counts = lengths if pool is None else torch.ones_like(lengths)
    ends = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    out = Ragged(torch.empty(int(ends[-1]), weight.shape[-1], device=device), ends.to(device))
    on_device = tokens.to(run_on)
    for batch in batches_by_length(lengths, TOKENS_PER_BATCH[run_on.type]):
        laid_out = Batch.of(tokens.data.lengths, torch.tensor(rows)[batch], run_on)
        packing = pack(on_device.data.offsets, laid_out)
        with torch.autocast(run_on.type, dtype=torch.bfloat16, enabled=keep_on_device and run_on.type == "cuda"):
            h = trunk(on_device.data.flat[packing.token], packing, attention_keys(on_device, packing))
        if pool is not None:
            out.flat[batch.to(device)] = pool(h, packing).to(device)
        else:
            row_start = out.offsets[batch.to(device)][laid_out.order.to(device)]  # [B], by place
            target = row_start[packing.place.to(device)] + packing.position.to(device)
            used = packing.used.to(device)
            out.flat[target[used]] = h.to(device, out.flat.dtype)[used]
    return out
