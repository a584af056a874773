"""The encoder families whose layers newfound can run and train, each an entry in `FAMILIES`.

The families compute the same thing (post-norm self-attention and feed-forward) with differently named modules. A family
says where in a layer the parts are that `newfound.encoders.layers` runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from newfound.errors import NotSplittable

MAX_DISTANCE_IN_TOKENS = 128  # of MPNet; larger distances share the last bucket


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
