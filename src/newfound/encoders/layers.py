"""Transformer layers run on packed tokens, without padding, and the encoder families whose layers these can be.

The families compute the same thing (post-norm self-attention and feed-forward) with differently named modules. A family
says where in a layer the parts are, and `FAMILIES` has an entry for each. `layer_forward` computes one layer, read into
`LayerParts`; a `Stack` is a run of consecutive layers, starting from token ids or from hidden states.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.ragged import Packing
from newfound.errors import NotSplittable

MAX_DISTANCE_IN_TOKENS = 128  # of MPNet; larger distances share the last bucket
MASKED_SCORE = -1e4  # far below any attention score, and far from overflow in half precision


@dataclass(frozen=True, slots=True)
class LayerParts:
    """The modules and dropout rates of one post-norm transformer layer, by role."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    out: nn.Module  # after attention
    attention_norm: nn.Module
    widen: nn.Module  # first linear layer of the feed-forward block
    activation: Callable[[Tensor], Tensor]
    narrow: nn.Module  # second linear layer of the feed-forward block
    output_norm: nn.Module
    attention_dropout: float  # of the attention weights
    feed_dropout: float  # after `narrow`
    out_dropout: float = 0.0  # after `out`


@dataclass(frozen=True, slots=True)
class Family:
    """Where a model family has what its layers consist of."""

    places: Mapping[str, str]  # of the parts in a layer, by their names in `LayerParts`
    layers: str = "encoder.layer"  # their place in a model
    first_position: int | None = 0  # the position id of a text's first token; None for the one after the padding's id
    distances: str | None = None  # the place of the embedding for `relative_bias` in a model; None if it has none

    def parts(self, layer: nn.Module) -> LayerParts:
        return LayerParts(**{part: attrgetter(place)(layer) for part, place in self.places.items()})


def relative_bias(embedding: nn.Embedding, length: int) -> Tensor:
    """Return the bias of MPNet on attention scores, [1, H, L, L], which all layers share.

    The embedding of distances is [buckets, H]. Half of the buckets are for keys before the query and half for keys
    after it. Small distances have a bucket each; larger ones share buckets whose width grows logarithmically.
    """
    position = torch.arange(length, device=embedding.weight.device)
    offset = position[:, None] - position[None, :]  # query position - key position
    buckets_per_side = embedding.num_embeddings // 2
    n_exact = buckets_per_side // 2
    distance = offset.abs()
    scale = (distance.clamp(min=1).float() / n_exact).log() / math.log(MAX_DISTANCE_IN_TOKENS / n_exact)
    logarithmic = n_exact + scale * (buckets_per_side - n_exact)
    bucket = torch.where(distance < n_exact, distance, logarithmic.long().clamp(max=buckets_per_side - 1))
    bucket = bucket + (offset < 0).long() * buckets_per_side
    bias: Tensor = embedding(bucket)  # [L, L, H]
    return bias.permute(2, 0, 1)[None]


_BERT_FEED_FORWARD = {
    "widen": "intermediate.dense",
    "activation": "intermediate.intermediate_act_fn",
    "narrow": "output.dense",
    "output_norm": "output.LayerNorm",
    "feed_dropout": "output.dropout.p",
}
_BERT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "attention_dropout": "attention.self.dropout.p",
    "out_dropout": "attention.output.dropout.p",
    **_BERT_FEED_FORWARD,
}
_MPNET = {
    "query": "attention.attn.q",
    "key": "attention.attn.k",
    "value": "attention.attn.v",
    "out": "attention.attn.o",
    "attention_norm": "attention.LayerNorm",
    "attention_dropout": "attention.attn.dropout.p",
    "out_dropout": "attention.dropout.p",
    **_BERT_FEED_FORWARD,
}
_DISTILBERT = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "out": "attention.out_lin",
    "attention_norm": "sa_layer_norm",
    "attention_dropout": "attention.dropout.p",
    "widen": "ffn.lin1",
    "activation": "ffn.activation",
    "narrow": "ffn.lin2",
    "output_norm": "output_layer_norm",
    "feed_dropout": "ffn.dropout.p",
}
FAMILIES: dict[str, Family] = {
    "bert": Family(_BERT),
    "roberta": Family(_BERT, first_position=None),
    "xlm-roberta": Family(_BERT, first_position=None),
    "mpnet": Family(_MPNET, first_position=2, distances="encoder.relative_attention_bias"),
    "distilbert": Family(_DISTILBERT, "transformer.layer"),
}
"""The families by the `model_type` of a transformers config."""


def family_of(model: Any) -> Family:
    """Return the family of a transformers model.

    Raises:
        NotSplittable: The model belongs to no family of `FAMILIES`.
    """
    model_type = model.config.model_type
    if model_type not in FAMILIES:
        raise NotSplittable(model_type, list(FAMILIES))
    return FAMILIES[model_type]


def layer_forward(
    parts: LayerParts, h: Tensor, mask: Tensor, heads: int, *, training: bool, drops_attention: bool
) -> Tensor:
    """Return the hidden states [W x L, d] after one post-norm layer with H attention heads.

    The hidden states `h` are [W x L, d], the additive attention mask [W, 1 or H, L, L].
    """
    projections = (parts.query, parts.key, parts.value)
    weight = torch.cat([p.weight for p in projections])
    qkv = F.linear(h, weight, torch.cat([p.bias for p in projections]))  # [W x L, 3d]
    q, k, v = (x.transpose(1, 2) for x in qkv.view(len(mask), mask.shape[-1], 3, heads, -1).unbind(2))  # [W, H, L, d/H]
    dropout = parts.attention_dropout if drops_attention else 0.0
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
        drops_attention = self.training and self.attention_dropout
        for parts in self.parts():
            x = layer_forward(parts, x, mask, self.heads, training=self.training, drops_attention=drops_attention)
        return x

    def parts(self) -> list[LayerParts]:
        return [self._family.parts(layer) for layer in self.layers]

    def bias(self, length: int) -> Tensor | None:
        """Return the relative position bias [1, H, L, L] for sequences of this length; None if there is none."""
        embedding = self.relative_attention_bias
        return None if embedding is None else relative_bias(embedding, length)
