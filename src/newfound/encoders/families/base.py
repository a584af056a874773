"""What every encoder family provides: where its layers are, and which modules a layer consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class LayerParts:
    """The modules and dropout rates of one post-norm transformer layer, by role.

    Attributes:
        query: Projection to the attention queries.
        key: Projection to the attention keys.
        value: Projection to the attention values.
        out: Projection after attention.
        attention_norm: Normalisation after the attention block.
        widen: First linear layer of the feed-forward block.
        activation: Activation function of the feed-forward block.
        narrow: Second linear layer of the feed-forward block.
        output_norm: Normalisation after the feed-forward block.
        attention_dropout: Dropout rate of the attention weights.
        out_dropout: Dropout rate after `out`.
        feed_dropout: Dropout rate after `narrow`.
    """

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    out: nn.Module
    attention_norm: nn.Module
    widen: nn.Module
    activation: Callable[[Tensor], Tensor]
    narrow: nn.Module
    output_norm: nn.Module
    attention_dropout: float
    out_dropout: float
    feed_dropout: float


@dataclass(frozen=True, slots=True)
class RelativeBias:
    """A bias on attention scores that depends on the distance between two tokens; all layers share it.

    Attributes:
        embedding: Function that returns the model's embedding of distances.
        bias: Function that returns the bias [1, H, L, L] for this embedding and a sequence length L.
    """

    embedding: Callable[[Any], nn.Embedding]
    bias: Callable[[nn.Embedding, int], Tensor]


@dataclass(frozen=True, slots=True)
class Family:
    """How the layers of one model family are read.

    Attributes:
        parts: Function that returns the parts of one layer.
        layers: Function that returns all layers of a model.
        first_position: Function that returns the position id of a text's first token, given the model's config.
        relative_bias: The relative position bias; None for a family without one.
    """

    parts: Callable[[Any], LayerParts]
    layers: Callable[[Any], nn.ModuleList]
    first_position: Callable[[Any], int]
    relative_bias: RelativeBias | None = None
