"""The whole classifier as one ONNX graph, with its tokenizer: it runs wherever ONNX Runtime does, without newfound.

The graph takes token ids and attention mask and returns the probabilities of the intents after the review: the encoder,
the softmax, the allowance for wrong labels, and what was renamed, merged, split or rejected. Utterances that a reviewer
moved one by one are texts, which a graph of numbers does not know; they are classified like all others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from newfound.encoders.tokenizer import tokenizer_state
from newfound.errors import EncoderError, ModelError
from newfound.files import to_json

if TYPE_CHECKING:
    from newfound.encoders.onnx.graph import GraphBuilder
    from newfound.model.head import Head
    from newfound.review.reviewed import ReviewedModel

GRAPH_FILE, TOKENIZER_FILE, ABOUT_FILE = "model.onnx", "tokenizer.json", "intents.json"
FILES = frozenset({GRAPH_FILE, TOKENIZER_FILE, ABOUT_FILE})
PROBABILITIES, SIMILARITY = "probabilities", "similarity"
SHARES = "head.shares"
OUTLIER_SHARE = 0.05  # of the labelled utterances that would be taken for outliers


def write_onnx(reviewed: ReviewedModel, folder: Path) -> None:
    """Write graph, tokenizer and description into an empty folder.

    Raises:
        ModelError: The encoder has no graph, or its tokenizer no tokenizer.json.
    """
    (folder / GRAPH_FILE).write_bytes(graph_of(reviewed).SerializeToString())
    # The tokenizer cuts texts at the largest length and leaves padding to the caller.
    encoder = reviewed.model.encoder
    cut = {"direction": "Right", "max_length": encoder.max_length, "strategy": "LongestFirst", "stride": 0}
    rules = tokenizer_state(encoder.tokenizer, encoder.prompt) or {}  # `graph_of` has refused a tokenizer without any
    (folder / TOKENIZER_FILE).write_bytes(to_json({**rules, "truncation": cut, "padding": None}))
    (folder / ABOUT_FILE).write_bytes(to_json(_about(reviewed)))


def graph_of(reviewed: ReviewedModel) -> Any:
    """Return the graph of a model with its review, an `onnx.ModelProto`."""
    from newfound.encoders.onnx.graph import GraphBuilder, add_encoder

    model, builder = reviewed.model, GraphBuilder()
    try:
        model.encoder.session()  # compares the graph of the encoder with torch, once
        if model.encoder.graph_problem is not None:
            raise EncoderError(model.encoder.graph_problem)
        network = model.embedder.network
        add_encoder(builder, model.encoder, network.tail if model.embedder.tune.layers else None, network.dense)
    except EncoderError as error:
        raise ModelError(f"this model cannot be exported to ONNX: {error}") from None
    backend = getattr(model.encoder.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError("this model cannot be exported to ONNX: its tokenizer has no tokenizer.json")
    _add_head(builder, reviewed.head, backend.num_special_tokens_to_add(False))
    return builder.model([(PROBABILITIES, ["texts", len(reviewed.names)]), (SIMILARITY, ["texts"])])


def _add_head(builder: GraphBuilder, head: Head, n_special: int) -> None:
    """Add what lies between the vectors and the probabilities."""
    from newfound.encoders.onnx.session import MASK, VECTORS

    assert head.intents_of_columns is not None
    direction = builder.unit(VECTORS)
    temperature = builder.weight("temperature", np.float32(head.calibration.temperature))
    axis = builder.weight("axis 1", [1])
    cosines = builder.add("MatMul", direction, builder.weight("intents", head.prototypes.T))
    # A text without more tokens than those that mark its ends has no intent.
    tokens = builder.add("ReduceSum", MASK, axis, keepdims=1)
    has_content = builder.add("Greater", tokens, builder.weight("tokens without content", np.int64(n_special)))
    closest = builder.add("ReduceMax", cosines, axis, keepdims=1)
    similarity = builder.add("Where", has_content, closest, builder.weight("least cosine", np.float32(-1)))
    builder.add("Squeeze", similarity, axis, name=SIMILARITY)
    p = builder.add("Softmax", builder.add("Div", cosines, temperature), axis=-1)
    p = add_reliability(builder, p, head.is_new, head.calibration.reliability)
    named = builder.add("MatMul", p, builder.weight("names of intents", head.intents_of_columns))
    for column, own in head.parts.items():
        name = f"{SHARES}.{column}"
        logits = builder.add("MatMul", direction, builder.weight(f"{name}.parts", own.prototypes.T))
        mask = np.where(own.were_split_again, -1e9, 0.0).astype(np.float32)
        logits = builder.add("Add", builder.add("Div", logits, temperature), builder.weight(f"{name}.gone", mask))
        whole = builder.add("Gather", p, builder.weight(f"{name}.column", [column]), axis=1)
        parts = builder.add("Mul", builder.add("Softmax", logits, axis=-1), whole)
        weight = builder.weight(f"{name}.names", own.intents)
        named = builder.add("Add", named, builder.add("MatMul", parts, weight))
    has_intent, min_similarity = has_content, head.min_similarity
    if (min_similarity > -1).any():  # the closest intent must be similar enough; the graph cannot see words
        intent = builder.add("ArgMax", cosines, axis=1, keepdims=1)
        wanted = builder.add("Gather", builder.weight("least similarity", min_similarity), intent)
        has_intent = builder.add("And", has_content, builder.add("GreaterOrEqual", closest, wanted))
    builder.add("Where", has_intent, named, builder.weight("zero", np.float32(0)), name=PROBABILITIES)


def add_reliability(builder: GraphBuilder, p: str, is_new: Any, reliability: float) -> str:
    """Add `newfound.model.head.with_reliability`, step by step."""
    from newfound.model.head import MIN_LEAD_OF_BEST

    count = int(is_new.sum())
    if reliability >= 1 or count < 2:
        return p
    axis, share = builder.weight("axis 1", [1]), builder.weight("reliability", np.float32(reliability))
    new = builder.add("Mul", p, builder.weight("is new", is_new.astype(np.float32)))
    known = builder.add("Sub", p, new)
    even = builder.add("ReduceSum", new, axis, keepdims=1)
    even = builder.add("Div", even, builder.weight("number of new intents", np.float32(count)))
    best, rival = (builder.add("ReduceMax", x, axis, keepdims=1) for x in (new, known))
    lead = builder.add("Sub", builder.add("Add", rival, builder.weight("ahead", np.float32(MIN_LEAD_OF_BEST))), even)
    gain = builder.add("Max", builder.add("Sub", best, even), builder.weight("tiny", np.float32(1e-12)))
    one = builder.weight("one", np.float32(1))
    needed = builder.add("Clip", builder.add("Div", lead, gain), share, one)
    kept = builder.add("Where", builder.add("Greater", best, rival), needed, share)
    blended = builder.add("Add", builder.add("Mul", kept, p), builder.add("Mul", builder.add("Sub", one, kept), even))
    changed = builder.add("Mul", blended, "is new")
    return builder.add("Add", known, changed)


def _about(reviewed: ReviewedModel) -> dict[str, Any]:
    from newfound.encoders.onnx.session import IDS, MASK

    encoder, typical = reviewed.model.encoder, reviewed.head.calibration.typical
    shares = [0.0, *np.linspace(0.5 / max(len(typical), 1), 1.0, len(typical))]
    outlier_similarity = float(np.interp(OUTLIER_SHARE, shares, [-1.0, *typical])) if typical else None
    statuses = [reviewed.review.status(name) for name in reviewed.names]
    return {
        "format": "newfound-onnx",
        "version": 1,
        "graph": GRAPH_FILE,
        "precision": "fp32",
        "tokenizer": TOKENIZER_FILE,
        "inputs": [IDS, MASK],
        "outputs": [PROBABILITIES, SIMILARITY],
        "max_length": encoder.max_length,
        "pad_id": int(encoder.tokenizer.pad_token_id),
        "pad_to": "max_length" if encoder.pooling == "padded-mean" else "longest",
        # A text below it is less typical than 95 % of the labelled ones.
        "outlier_similarity": None if outlier_similarity is None else round(outlier_similarity, 6),
        "intents": [
            {"name": name, "status": status, "new": status != "known"}
            for name, status in zip(reviewed.names, statuses, strict=True)
        ],
    }
