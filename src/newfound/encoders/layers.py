"""Transformer layers run on packed tokens, without padding.

`layer_forward` computes one layer that a family (`newfound.encoders.families`) has read into `LayerParts`; a `Stack` is
a run of consecutive layers, starting from token ids or from hidden states.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.families import LayerParts, family_of, relative_bias
from newfound.encoders.ragged import Packing

MASKED_SCORE = -1e4  # far below any attention score, and far from overflow in half precision


def layer_forward(
    parts: LayerParts, h: Tensor, mask: Tensor, *, heads: int, training: bool, attention_dropout: bool = True
) -> Tensor:
    """Return the hidden states [W x L, d] after one post-norm layer with H attention heads.

    The hidden states `h` are [W x L, d], the additive attention mask [W, 1 or H, L, L].
    """
    projections = (parts.query, parts.key, parts.value)
    weight = torch.cat([p.weight for p in projections])
    qkv = F.linear(h, weight, torch.cat([p.bias for p in projections]))  # [W x L, 3d]
    q, k, v = (x.transpose(1, 2) for x in qkv.view(len(mask), mask.shape[-1], 3, heads, -1).unbind(2))  # [W, H, L, d/H]
    dropout = parts.attention_dropout if training and attention_dropout else 0.0
    a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype), dropout_p=dropout)
    a = parts.out(a.transpose(1, 2).reshape(h.shape))
    h = parts.attention_norm(h + F.dropout(a, parts.out_dropout, training))
    f = parts.narrow(parts.activation(parts.widen(h)))
    out: Tensor = parts.output_norm(h + F.dropout(f, parts.feed_dropout, training))
    return out


class Stack(nn.Module):
    """Consecutive layers of one model. With `embeddings` it starts from token ids, otherwise from hidden states."""

    def __init__(self, model: Any, first: int, last: int, *, embeddings: bool, copy_weights: bool) -> None:
        """Take the layers of a model from number `first` to the one before number `last`.

        With `copy_weights` the modules are copied, so that training leaves the model unchanged.
        """
        super().__init__()
        family = family_of(model)
        self._family = family
        self.attention_dropout = True  # in training
        self.heads = int(model.config.num_attention_heads)
        at = family.first_position
        self.first_position = int(model.config.pad_token_id) + 1 if at is None else at
        take: Callable[[Any], Any] = copy.deepcopy if copy_weights else lambda module: module
        self.layers = nn.ModuleList(take(layer) for layer in attrgetter(family.layers)(model)[first:last])
        self.embeddings: nn.Module | None = take(model.embeddings) if embeddings else None
        self.relative_attention_bias: nn.Embedding | None = (
            None if family.distances is None else take(attrgetter(family.distances)(model))
        )

    def forward(self, x: Tensor, packing: Packing, keys: Tensor) -> Tensor:
        """Return the hidden states after the last layer; several views of one batch run in one pass.

        `x` is token ids [views x T] or hidden states [views x T, d]; attention may look at the slots `keys`, [T].
        """
        views = len(x) // len(keys)
        if self.embeddings is not None:
            position = (packing.position + self.first_position).repeat(views)
            x = self.embeddings(input_ids=x[None], position_ids=position[None])[0]
        mask = torch.where(packing.allowed_pairs(keys), 0.0, MASKED_SCORE)[:, None]  # [W, 1, L, L]
        bias = self.bias(mask.shape[-1])
        if bias is not None:
            mask = mask + bias
        mask = mask.repeat(views, 1, 1, 1)
        for parts in self.parts():
            x = layer_forward(
                parts,
                x,
                mask,
                heads=self.heads,
                training=self.training,
                attention_dropout=self.attention_dropout,
            )
        return x

    def parts(self) -> list[LayerParts]:
        return [self._family.parts(layer) for layer in self.layers]

    def bias(self, length: int) -> Tensor | None:
        """Return the relative position bias [1, H, L, L] for sequences of this length; None if there is none."""
        embedding = self.relative_attention_bias
        return None if embedding is None else relative_bias(embedding, length)
