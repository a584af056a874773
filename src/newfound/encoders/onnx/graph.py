"""Builds the ONNX graph of an encoder: token ids and attention mask in, one vector per text out.

The graph is written down operator by operator from the same `LayerParts` that `newfound.encoders.layers` runs. That
takes half a second and nothing but the package `onnx`; torch's exporter takes nine seconds for the same graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from newfound.encoders.layers import MASKED_SCORE, LayerParts, Stack
from newfound.encoders.onnx.session import IDS, MASK, OPSET, VECTORS
from newfound.encoders.tail import Pooling, Tail
from newfound.errors import EncoderError

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

IR_VERSION = 9  # of the file format, for readers from 2023 on
SMALLEST_NORM = 1e-12  # as in torch's `normalize`
ACTIVATIONS: tuple[tuple[Callable[[Tensor], Tensor], str, dict[str, Any]], ...] = (
    (F.gelu, "Gelu", {}),
    (lambda x: F.gelu(x, approximate="tanh"), "Gelu", {"approximate": "tanh"}),
    (F.relu, "Relu", {}),
)


class GraphBuilder:
    """Collects the nodes and weights of a graph."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str, value: npt.ArrayLike | Tensor) -> str:
        """Add a constant and return its name; a constant of a name is added once."""
        if name not in self._weights:
            array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
            if array.dtype == np.float64:
                array = array.astype(np.float32)
            # `ascontiguousarray` would make a list of one element of a single number.
            self._weights[name] = numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its result."""
        name = name or f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, x: str, name: str, module: Any, scale: float = 1.0) -> str:
        """Add a linear layer, whose weights are multiplied by `scale`."""
        weight = self.weight(f"{name}.weight", module.weight.detach().T * scale)
        product = self.add("MatMul", x, weight)
        if module.bias is None:
            return product
        return self.add("Add", product, self.weight(f"{name}.bias", module.bias.detach() * scale))

    def norm(self, x: str, name: str, module: Any) -> str:
        weights = self.weight(f"{name}.weight", module.weight), self.weight(f"{name}.bias", module.bias)
        return self.add("LayerNormalization", x, *weights, axis=-1, epsilon=module.eps)

    def unit(self, x: str, name: str = "") -> str:
        """Add the scaling of vectors [n, d] to unit length."""
        norm = self.add("ReduceL2", x, self.weight("axis 1", [1]), keepdims=1)
        return self.add("Div", x, self.add("Clip", norm, self.weight("smallest norm", SMALLEST_NORM)), name=name)

    def model(self, outputs: Sequence[tuple[str, Sequence[str | int]]]) -> onnx.ModelProto:
        """Return the graph from token ids and attention mask to some outputs, given with their shapes."""
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in (IDS, MASK)]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs]
        graph = helper.make_graph(self._nodes, "newfound", inputs, results, list(self._weights.values()))
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="newfound")


def add_encoder(builder: GraphBuilder, encoder: Encoder, tail: Tail | None, dense: nn.Linear | None) -> None:
    """Add an encoder with its trained end, and with the trained layer after the pooling; see `Encoder.session`.

    The result is called `VECTORS`.

    Raises:
        EncoderError: The encoder has a part that the graph cannot express.
    """
    if not encoder.is_splittable():
        raise EncoderError("its layers are not known")
    whole = encoder.whole(tail)
    mask = builder.add("Cast", MASK, to=TensorProto.FLOAT)
    hidden = ""
    for number, stack in enumerate(stack for stack in (whole.trunk, whole.stack) if stack is not None):
        if stack.embeddings is not None:
            hidden = _add_embeddings(builder, stack.embeddings, stack.first_position, encoder.max_length)
        scores = _add_attention_mask(builder, stack, mask, f"stack {number}", encoder.max_length)
        for layer, parts in enumerate(stack.parts()):
            hidden = _add_layer(builder, parts, stack.heads, hidden, scores, f"stack {number}, layer {layer}")
    pooled = _add_pooling(builder, encoder.pooling, hidden, mask)
    if encoder.normalize:
        pooled = builder.unit(pooled)
    if dense is not None:
        pooled = builder.add("Tanh", builder.linear(pooled, "dense", dense))
    builder.add("Identity", pooled, name=VECTORS)


def _add_embeddings(builder: GraphBuilder, embeddings: Any, first_position: int, max_length: int) -> str:
    """Add the sum of word, position and token type embeddings; all tokens are of type 0."""
    words, positions, norm = embeddings.word_embeddings, embeddings.position_embeddings, embeddings.LayerNorm
    table = positions.weight.detach()[first_position : first_position + max_length]
    if hasattr(embeddings, "token_type_embeddings"):
        table = table + embeddings.token_type_embeddings.weight.detach()[0]
    length = builder.add("Gather", builder.add("Shape", IDS), builder.weight("axis 1", [1]), name="length")
    start = builder.weight("axis 0", [0])
    of_positions = builder.add("Slice", builder.weight("positions", table), start, length, start)
    of_words = builder.add("Gather", builder.weight("words", words.weight), IDS)
    return builder.norm(builder.add("Add", of_words, of_positions), "embeddings.norm", norm)


def _add_attention_mask(builder: GraphBuilder, stack: Stack, mask: str, name: str, max_length: int) -> str:
    """Add what is added to attention scores, [n, 1 or H, 1 or L, L]."""
    hidden = builder.add("Sub", builder.weight("one", np.float32(1)), mask)
    scores = builder.add("Mul", hidden, builder.weight("masked score", np.float32(MASKED_SCORE)))
    scores = builder.add("Unsqueeze", scores, builder.weight("axes 1, 2", [1, 2]))
    bias = stack.bias(max_length)
    if bias is None:
        return scores
    start, length = builder.weight("axes 0, 0", [0, 0]), builder.add("Concat", "length", "length", axis=0)
    axes = builder.weight("axes 2, 3", [2, 3])
    part = builder.add("Slice", builder.weight(f"{name}.bias", bias), start, length, axes)
    return builder.add("Add", scores, part)


def _add_layer(builder: GraphBuilder, parts: LayerParts, heads: int, hidden: str, scores: str, name: str) -> str:
    """Add one post-norm layer, as `newfound.encoders.layers.layer_forward` computes it."""
    per_head = parts.query.out_features // heads
    by_head = builder.weight("by head", [0, 0, heads, per_head])

    def project(role: str, order: list[int], scale: float = 1.0) -> str:
        product = builder.linear(hidden, f"{name}.{role}", getattr(parts, role), scale)
        return builder.add("Transpose", builder.add("Reshape", product, by_head), perm=order)

    # Three products are faster than one whose result has to be split. The scale is put into the weights of the queries,
    # which saves an operation.
    query = project("query", [0, 2, 1, 3], 1 / math.sqrt(per_head))
    key, value = project("key", [0, 2, 3, 1]), project("value", [0, 2, 1, 3])
    attention = builder.add("Softmax", builder.add("Add", builder.add("MatMul", query, key), scores), axis=-1)
    mixed = builder.add("Transpose", builder.add("MatMul", attention, value), perm=[0, 2, 1, 3])
    mixed = builder.add("Reshape", mixed, builder.weight("joined", [0, 0, heads * per_head]))
    mixed = builder.linear(mixed, f"{name}.out", parts.out)
    hidden = builder.norm(builder.add("Add", hidden, mixed), f"{name}.attention_norm", parts.attention_norm)
    wide = _add_activation(builder, builder.linear(hidden, f"{name}.widen", parts.widen), parts.activation)
    narrow = builder.linear(wide, f"{name}.narrow", parts.narrow)
    return builder.norm(builder.add("Add", hidden, narrow), f"{name}.output_norm", parts.output_norm)


def _add_activation(builder: GraphBuilder, x: str, activation: Callable[[Tensor], Tensor]) -> str:
    """Add the activation, which is recognised by its values: every library has its own classes for them."""
    probe = torch.linspace(-6, 6, 97)
    with torch.no_grad():
        values = activation(probe)
        for function, kind, attributes in ACTIVATIONS:
            if torch.allclose(values, function(probe), atol=1e-6):
                return builder.add(kind, x, **attributes)
    raise EncoderError("its activation is not one of gelu, relu")


def _add_pooling(builder: GraphBuilder, pooling: Pooling, hidden: str, mask: str) -> str:
    """Add what makes one vector [n, d] of the hidden states of a text [n, L, d]."""
    axis = builder.weight("axis 1", [1])
    if pooling == "cls":
        return builder.add("Gather", hidden, builder.weight("first", np.int64(0)), axis=1)
    if pooling == "padded-mean":  # the padding is part of the text
        return builder.add("ReduceMean", hidden, axis, keepdims=0)
    weights = builder.add("Unsqueeze", mask, builder.weight("axis 2", [2]))
    total = builder.add("ReduceSum", builder.add("Mul", hidden, weights), axis, keepdims=0)
    return builder.add("Div", total, builder.add("ReduceSum", mask, axis, keepdims=1))
