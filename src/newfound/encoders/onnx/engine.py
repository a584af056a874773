"""Makes the session of an encoder, from the graph in the cache or from a new one, which is compared with torch."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from newfound.encoders.onnx.session import (
    VECTORS,
    GraphSession,
    StoredGraph,
    Vectors,
    find_graph,
    graph_folder,
    save_graph,
)
from newfound.encoders.registry import hash_of
from newfound.encoders.tail import Features, Tail, pool_corpus
from newfound.encoders.tokenizer import tokenizer_state
from newfound.errors import EncoderError

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

PROBE_TEXTS = ("a", "where is my new card, please? it was to be here by the end of last week")
MAX_VECTOR_DIFFERENCE = 1e-4  # of a vector's element from torch's
MAX_OPEN_SESSIONS = 4  # that stay open for the next call
_open_sessions: dict[Path, GraphSession] = {}  # by the folder of the graph, the oldest first


def folder_of(encoder: Encoder, tail: Tail | None = None, dense: nn.Linear | None = None) -> Path:
    """Return where the graph of an encoder with its trained end lies (see `open_session`)."""
    trained = {} if tail is None else {f"tail.{name}": t for name, t in tail.trained().items()}
    if dense is not None:
        trained |= {f"dense.{name}": t for name, t in dense.state_dict().items()}
    return graph_folder(encoder.weights_hash(), encoder.max_length, hash_of(trained))


def open_session(encoder: Encoder, tail: Tail | None = None, dense: nn.Linear | None = None) -> GraphSession:
    """Return the session of an encoder, its trained end and the trained layer after the pooling.

    It is shared with others that have the same graph. Without a graph the errors of protobuf and ONNX Runtime say why.
    """
    folder = folder_of(encoder, tail, dense)
    session = _open_sessions.get(folder)
    if session is None:
        stored = find_graph(folder)
        session = (None if stored is None else _load(stored)) or _build(encoder, folder, tail, dense)
        for oldest in list(_open_sessions)[: 1 - MAX_OPEN_SESSIONS]:
            _open_sessions.pop(oldest, None)
        _open_sessions[folder] = session
    return session


def _load(stored: StoredGraph) -> GraphSession | None:
    try:
        return GraphSession(stored.graph, pad_id=stored.pad_id)
    except Exception:  # ONNX Runtime has several types for a graph that it cannot read; a new one takes its place
        return None


def _build(encoder: Encoder, folder: Path, tail: Tail | None, dense: nn.Linear | None) -> GraphSession:
    """Make the graph of an encoder, compare it with torch, store it, and return its session."""
    from newfound.encoders.onnx.graph import GraphBuilder, add_encoder

    if encoder.tokenizer.pad_token_id is None:
        raise EncoderError("its tokenizer has no padding")
    pad_id, builder = int(encoder.tokenizer.pad_token_id), GraphBuilder()
    add_encoder(builder, encoder, tail, dense)
    graph: bytes = builder.model([(VECTORS, ["texts", encoder.width])]).SerializeToString()
    session = GraphSession(graph, pad_id=pad_id)
    tokens = encoder.tokenize(PROBE_TEXTS)
    difference = float(np.abs(vectors_of(session, tokens) - _torch_vectors(encoder.whole(tail), dense, tokens)).max())
    if not difference <= MAX_VECTOR_DIFFERENCE:
        raise EncoderError(f"its vectors differ by {difference:.1e}")
    state = tokenizer_state(encoder.tokenizer, encoder.prompt)
    with contextlib.suppress(OSError):  # then it runs from memory, and is made again the next time
        save_graph(
            folder,
            graph,
            None if state is None else json.dumps(state),
            pad_token=str(encoder.tokenizer.pad_token),
            pad_id=pad_id,
            padded=encoder.pooling == "padded-mean",
            features=encoder.vectors_folder() if tail is None and dense is None else "",
        )
    return session


def vectors_of(session: GraphSession, tokens: Features, *, max_width: int | None = None) -> Vectors:
    """Return the vectors of tokenised texts by a session, [n, d]."""
    lengths = None if tokens.unpadded_lengths is None else tokens.unpadded_lengths.tolist()
    return session.vectors([tokens.data.row(i).tolist() for i in range(len(tokens))], lengths, max_width=max_width)


@torch.no_grad()
def _torch_vectors(whole: Tail, dense: nn.Linear | None, tokens: Features) -> Vectors:
    """Return the vectors of tokenised texts by torch, [n, d]."""
    pooled = pool_corpus(whole, tokens)
    vectors: Vectors = (pooled if dense is None else torch.tanh(dense(pooled))).numpy()
    return vectors
