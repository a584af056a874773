"""DistilBERT."""

from __future__ import annotations

from typing import Any

from torch import nn

from newfound.encoders.families import bert
from newfound.encoders.families.base import Family, LayerParts


def layer_parts(layer: Any) -> LayerParts:
    """Return the parts of a DistilBERT layer, which has no dropout after attention."""
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
        out_dropout=0.0,
        feed_dropout=feed_forward.dropout.p,
    )


def layers_of(model: Any) -> nn.ModuleList:
    """Return the layers of a DistilBERT model."""
    layers: nn.ModuleList = model.transformer.layer
    return layers


DISTILBERT = Family(layer_parts, layers_of, bert.first_position)
