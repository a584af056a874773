"""Transformer layers of the BERT, RoBERTa/XLM-R, MPNet and DistilBERT families, run on packed tokens.

The four families compute the same thing (post-norm self-attention and feed-forward) under different names.
A `Family` reads a layer of one of them into `LayerParts`; `layer_forward` computes it without padding, and a
`Stack` is a run of consecutive layers, from the token ids or from hidden states.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.ragged import Packing
from newfound.errors import NotSplittable

CLOSED = -1e4  # far below any attention score, and far from overflow in half precision


@dataclass(frozen=True, slots=True)
class LayerParts:
    """The modules of one transformer layer, by role."""

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


def _bert_parts(layer: Any) -> LayerParts:
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


def _mpnet_parts(layer: Any) -> LayerParts:
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


def _distilbert_parts(layer: Any) -> LayerParts:
    attention, feed = layer.attention, layer.ffn
    return LayerParts(
        query=attention.q_lin,
        key=attention.k_lin,
        value=attention.v_lin,
        out=attention.out_lin,
        attention_norm=layer.sa_layer_norm,
        widen=feed.lin1,
        activation=feed.activation,
        narrow=feed.lin2,
        output_norm=layer.output_layer_norm,
        attention_dropout=attention.dropout.p,
        out_dropout=0.0,
        feed_dropout=feed.dropout.p,
    )


@dataclass(frozen=True, slots=True)
class Family:
    """How one model family names its layers, and where its positions start."""

    parts: Callable[[Any], LayerParts]
    layers: Callable[[Any], nn.ModuleList]
    first_position: Callable[[Any], int]


FAMILIES: dict[str, Family] = {
    "bert": Family(_bert_parts, lambda model: model.encoder.layer, lambda config: 0),
    "roberta": Family(_bert_parts, lambda model: model.encoder.layer, lambda config: config.pad_token_id + 1),
    "xlm-roberta": Family(_bert_parts, lambda model: model.encoder.layer, lambda config: config.pad_token_id + 1),
    "mpnet": Family(_mpnet_parts, lambda model: model.encoder.layer, lambda config: 2),
    "distilbert": Family(_distilbert_parts, lambda model: model.transformer.layer, lambda config: 0),
}


def family_of(model: Any) -> Family:
    kind = model.config.model_type
    if kind not in FAMILIES:
        raise NotSplittable(kind, list(FAMILIES))
    return FAMILIES[kind]


def layer_forward(parts: LayerParts, h: Tensor, mask: Tensor, *, heads: int, training: bool) -> Tensor:
    """One post-norm layer; `h` is [W x L, d], `mask` an additive attention mask [W, 1 or H, L, L]."""
    projections = (parts.query, parts.key, parts.value)
    weight = torch.cat([p.weight for p in projections])
    qkv = F.linear(h, weight, torch.cat([p.bias for p in projections]))  # [W x L, 3d]
    q, k, v = (x.transpose(1, 2) for x in qkv.view(len(mask), mask.shape[-1], 3, heads, -1).unbind(2))  # [W, H, L, d/H]
    a = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask.to(q.dtype), dropout_p=parts.attention_dropout if training else 0.0
    )
    a = parts.out(a.transpose(1, 2).reshape(h.shape))
    h = parts.attention_norm(h + F.dropout(a, parts.out_dropout, training))
    f = parts.narrow(parts.activation(parts.widen(h)))
    out: Tensor = parts.output_norm(h + F.dropout(f, parts.feed_dropout, training))
    return out


def additive_mask(open_pairs: Tensor, dtype: torch.dtype) -> Tensor:
    """[W, L, L] -> [W, 1, L, L]: zero where attention may look, very negative where not."""
    return torch.where(open_pairs, 0.0, CLOSED).to(dtype)[:, None]


def relative_bias(embedding: nn.Embedding, longest: int) -> Tensor:
    """MPNet's relative position bias, [1, H, L, L]: distances in logarithmic buckets, one weight per head."""
    at = torch.arange(longest, device=embedding.weight.device)
    distance = at[:, None] - at[None, :]  # query position - key position
    half = embedding.num_embeddings // 2
    exact = half // 2
    far = distance.abs()
    logarithmic = exact + (far.clamp(min=1).float() / exact).log() / math.log(128 / exact) * (half - exact)
    bucket = torch.where(far < exact, far, logarithmic.long().clamp(max=half - 1))
    bucket = bucket + (distance < 0).long() * half
    bias: Tensor = embedding(bucket)  # [L, L, H]
    return bias.permute(2, 0, 1)[None]


class Stack(nn.Module):
    """Consecutive layers of one model; with `embeddings` it starts at token ids, otherwise at hidden states."""

    def __init__(self, model: Any, first: int, last: int, *, embeddings: bool, own: bool) -> None:
        """Layers `first` to `last` (exclusive) of `model`; `own` copies them, so that training leaves it alone."""
        super().__init__()
        family = family_of(model)
        self._parts = family.parts
        self._heads = int(model.config.num_attention_heads)
        self._first_position = family.first_position(model.config)
        take: Callable[[Any], Any] = copy.deepcopy if own else lambda module: module
        self.layers = nn.ModuleList(take(layer) for layer in family.layers(model)[first:last])
        self.embeddings: nn.Module | None = take(model.embeddings) if embeddings else None
        bias = getattr(getattr(model, "encoder", None), "relative_attention_bias", None)
        self.relative_attention_bias: nn.Embedding | None = None if bias is None else take(bias)

    def forward(self, x: Tensor, packing: Packing, keys: Tensor) -> Tensor:
        """Token ids [views x T] or hidden states [views x T, d] to hidden states; `keys` [T] are open to attention.

        Several views of one batch run in one pass.
        """
        views = len(x) // len(keys)
        if self.embeddings is not None:
            position = (packing.position + self._first_position).repeat(views)
            x = self.embeddings(input_ids=x[None], position_ids=position[None])[0]
        mask = additive_mask(packing.open_pairs(keys), torch.float32)
        if self.relative_attention_bias is not None:
            mask = mask + relative_bias(self.relative_attention_bias, mask.shape[-1])
        mask = mask.repeat(views, 1, 1, 1)
        for layer in self.layers:
            x = layer_forward(self._parts(layer), x, mask, heads=self._heads, training=self.training)
        return x
