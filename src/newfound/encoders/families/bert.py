"""BERT."""

from __future__ import annotations

from typing import Any

from torch import nn

from newfound.encoders.families.base import Family, LayerParts


def layer_parts(layer: Any) -> LayerParts:
    """Return the parts of a BERT layer."""
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


def layers_of(model: Any) -> nn.ModuleList:
    """Return the layers of a BERT model."""
    layers: nn.ModuleList = model.encoder.layer
    return layers


def first_position(config: Any) -> int:
    """Return the position id of the first token."""
    return 0


BERT = Family(layer_parts, layers_of, first_position)
