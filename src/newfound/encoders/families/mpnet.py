"""MPNet: its own attention module, and a relative position bias."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from newfound.encoders.families import bert
from newfound.encoders.families.base import Family, LayerParts, RelativeBias

MAX_DISTANCE_IN_TOKENS = 128  # larger distances share the last bucket


def layer_parts(layer: Any) -> LayerParts:
    """Return the parts of an MPNet layer."""
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


def first_position(config: Any) -> int:
    """Return the position id of the first token."""
    return 2


def distance_embedding(model: Any) -> nn.Embedding:
    """Return the embedding of distances: one weight per bucket of distances and attention head."""
    embedding: nn.Embedding = model.encoder.relative_attention_bias
    return embedding


def relative_bias(embedding: nn.Embedding, length: int) -> Tensor:
    """Return the relative position bias [1, H, L, L].

    Half of the buckets are for keys before the query and half for keys after it. Small distances have a bucket each;
    larger ones share buckets whose width grows logarithmically.

    Args:
        embedding: The embedding of distances, [buckets, H].
        length: The sequence length L.
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


MPNET = Family(layer_parts, bert.layers_of, first_position, RelativeBias(distance_embedding, relative_bias))
