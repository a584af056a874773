"""The encoder families whose layers newfound can run and train: one function and one entry in `FAMILIES` for each.

The families compute the same thing (post-norm self-attention and feed-forward) with differently named modules. The
function reads a layer of its family into `LayerParts`, which `newfound.encoders.layers` runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    out_dropout: float  # after `out`
    feed_dropout: float  # after `narrow`


@dataclass(frozen=True, slots=True)
class Family:
    """How the layers of one model family are read: functions of a layer, a model or its config."""

    parts: Callable[[Any], LayerParts]
    layers: Callable[[Any], nn.ModuleList]
    first_position: Callable[[Any], int]  # the position id of a text's first token
    distances: Callable[[Any], nn.Embedding] | None = None  # of tokens, for `relative_bias`; None if it has none


def _bert_layer(layer: Any) -> LayerParts:
    attention, output = layer.attention, layer.output
    return LayerParts(
        query=attention.self.query,
        key=attention.self.key,
        value=attention.self.value,
        out=attention.output.dense,
        attention_norm=attention.output.LayerNorm,
        widen=layer.intermediate.dense,
        activation=layer.intermediate.intermediate_act_fn,
        narrow=output.dense,
        output_norm=output.LayerNorm,
        attention_dropout=attention.self.dropout.p,
        out_dropout=attention.output.dropout.p,
        feed_dropout=output.dropout.p,
    )


def _mpnet_layer(layer: Any) -> LayerParts:
    attention, output = layer.attention, layer.output
    return LayerParts(
        query=attention.attn.q,
        key=attention.attn.k,
        value=attention.attn.v,
        out=attention.attn.o,
        attention_norm=attention.LayerNorm,
        widen=layer.intermediate.dense,
        activation=layer.intermediate.intermediate_act_fn,
        narrow=output.dense,
        output_norm=output.LayerNorm,
        attention_dropout=attention.attn.dropout.p,
        out_dropout=attention.dropout.p,
        feed_dropout=output.dropout.p,
    )


def _distilbert_layer(layer: Any) -> LayerParts:
    attention, feed_forward = layer.attention, layer.ffn
    return LayerParts(
        query=attention.q_lin,
        key=attention.k_lin,
        value=attention.v_lin,
        out=attention.out_lin,
        attention_norm=layer.sa_layer_norm,
        widen=feed_forward.lin1,
        activation=feed_forward.activation,
        narrow=feed_forward.lin2,
        output_norm=layer.output_layer_norm,
        attention_dropout=attention.dropout.p,
        out_dropout=0.0,  # there is no dropout after attention
        feed_dropout=feed_forward.dropout.p,
    )


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


_layers = attrgetter("encoder.layer")
_bert = Family(_bert_layer, _layers, lambda config: 0)
_roberta = Family(_bert_layer, _layers, lambda config: int(config.pad_token_id) + 1)  # the ids up to it are reserved
FAMILIES: dict[str, Family] = {
    "bert": _bert,
    "roberta": _roberta,
    "xlm-roberta": _roberta,
    "mpnet": Family(_mpnet_layer, _layers, lambda config: 2, attrgetter("encoder.relative_attention_bias")),
    "distilbert": Family(_distilbert_layer, attrgetter("transformer.layer"), lambda config: 0),
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
