"""Makes the session of an encoder, from the graph in the cache or from a new one, which is compared with torch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import nn

from newfound.encoders.layers import Stack
from newfound.encoders.onnx.session import (
    GraphKey,
    GraphSession,
    StoredGraph,
    Vectors,
    find_graph,
    hash_of_arrays,
    save_graph,
)
from newfound.encoders.ragged import Batch, pack
from newfound.encoders.tail import Features, Tail, attention_keys, pool_hidden_states
from newfound.errors import EncoderError
from newfound.text import first_line

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.encoders.onnx.graph import GraphSource

PROBE_TEXTS = ("a", "where is my new card, please? it was to be here by the end of last week")
MAX_VECTOR_DIFFERENCE = 1e-4  # of a vector's element from torch's
_open_sessions: WeakValueDictionary[Path, GraphSession] = WeakValueDictionary()  # by the folder of the graph


def key_of(encoder: Encoder, tail: Tail | None = None, dense: nn.Linear | None = None) -> GraphKey:
    """Return what the graph of an encoder with its trained end depends on (see `open_session`)."""
    trained = {} if tail is None else {f"tail.{name}": t for name, t in tail.trained().items()}
    if dense is not None:
        trained |= {f"dense.{name}": t for name, t in dense.state_dict().items()}
    arrays = {name: t.detach().cpu().numpy() for name, t in trained.items()}
    return GraphKey(encoder.weights_hash(), encoder.max_length, hash_of_arrays(arrays))


def open_session(encoder: Encoder, tail: Tail | None = None, dense: nn.Linear | None = None) -> GraphSession:
    """Return the session of an encoder, its trained end and the trained layer after the pooling.

    It is shared with others that have the same graph.

    Raises:
        EncoderError: There can be no graph of this encoder.
    """
    key = key_of(encoder, tail, dense)
    session = _open_sessions.get(key.folder)
    if session is None:
        stored = find_graph(key)
        session = (None if stored is None else _load(stored)) or _build(encoder, key, tail, dense)
        _open_sessions[key.folder] = session
    return session


def _load(stored: StoredGraph) -> GraphSession | None:
    try:
        return GraphSession(stored.graph, pad_id=stored.pad_id)
    except Exception:  # ONNX Runtime has several types for a graph that it cannot read; a new one takes its place
        return None


def _build(encoder: Encoder, key: GraphKey, tail: Tail | None, dense: nn.Linear | None) -> GraphSession:
    """Make the graph of an encoder, store it, and return its session."""
    pad_id = encoder.tokenizer.pad_token_id
    if pad_id is None:
        raise EncoderError(f"encoder {encoder.name!r} has no ONNX graph: its tokenizer has no padding")
    try:
        graph, session = _build_graph(encoder, source_of(encoder, tail, dense), int(pad_id))
    except EncoderError:
        raise
    except Exception as error:  # protobuf and ONNX Runtime have many types, as for a graph of more than 2 GB
        raise EncoderError(f"encoder {encoder.name!r} has no ONNX graph: {first_line(error)}") from error
    backend = getattr(encoder.tokenizer, "backend_tokenizer", None)
    with contextlib.suppress(OSError):  # then it runs from memory, and is made again the next time
        save_graph(
            key,
            graph,
            None if backend is None else str(backend.to_str()),
            pad_token=str(encoder.tokenizer.pad_token),
            pad_id=int(pad_id),
            padded=encoder.pooling == "padded-mean",
            features=encoder.vectors_folder() if tail is None and dense is None else "",
        )
    return session


def _build_graph(encoder: Encoder, source: GraphSource, pad_id: int) -> tuple[bytes, GraphSession]:
    """Return the graph of a source, after a comparison with torch, and its session."""
    from newfound.encoders.onnx.graph import encoder_graph

    graph: bytes = encoder_graph(source).SerializeToString()
    session = GraphSession(graph, pad_id=pad_id)
    tokens = encoder.tokenize(PROBE_TEXTS)
    difference = float(np.abs(vectors_of(session, tokens) - _torch_vectors(tokens, source)).max())
    if not difference <= MAX_VECTOR_DIFFERENCE:
        raise EncoderError(f"encoder {encoder.name!r} has no ONNX graph: its vectors differ by {difference:.1e}")
    return graph, session


def source_of(encoder: Encoder, tail: Tail | None = None, dense: nn.Linear | None = None) -> GraphSource:
    """Return what the graph of an encoder computes, with its trained end in the place of its own last layers.

    Raises:
        NotExportable: The encoder has other parts than layers, pooling and normalisation.
    """
    from newfound.encoders.onnx.graph import GraphSource, NotExportable

    if not encoder.is_splittable():
        raise NotExportable("its layers are not known")
    stack = None if tail is None else tail.stack
    stacks = [] if stack is None else [stack]
    if stack is None or stack.embeddings is None:
        trained = 0 if stack is None else len(stack.layers)
        stacks.insert(0, Stack(encoder.model, 0, encoder.depth - trained, embeddings=True, copy_weights=False).eval())
    return GraphSource(stacks, encoder.pooling, encoder.normalize, dense, encoder.max_length, encoder.width)


def vectors_of(
    session: GraphSession, tokens: Features, rows: Sequence[int] | None = None, *, max_width: int | None = None
) -> Vectors:
    """Return the vectors of tokenised texts by a session, [n, d]; of all of them, or of those in some rows."""
    rows = range(len(tokens)) if rows is None else rows
    lengths = None if tokens.unpadded_lengths is None else tokens.unpadded_lengths[list(rows)].tolist()
    return session.vectors([tokens.data.row(i).tolist() for i in rows], lengths, max_width=max_width)


@torch.no_grad()
def _torch_vectors(tokens: Features, source: GraphSource) -> Vectors:
    """Return the vectors of tokenised texts by torch, [n, d]."""
    batch = Batch.of(tokens.data.lengths, torch.arange(len(tokens)), torch.device("cpu"))
    packing = pack(tokens.data.offsets, batch)
    hidden = tokens.data.flat[packing.token]
    for stack in source.stacks:
        hidden = stack.eval()(hidden, packing, attention_keys(tokens, packing))
    vectors = pool_hidden_states(hidden, packing, source.pooling, source.normalize)
    if source.dense is not None:
        vectors = torch.tanh(source.dense(vectors))
    array: Vectors = vectors.numpy()
    return array
