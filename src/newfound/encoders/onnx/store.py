"""Keeps graphs in the user's cache folder, each with its tokenizer. This module does not need torch.

A graph is named by a hash of everything that it depends on: weights, tokenizer, pooling, length and precision. A graph
with its tokenizer therefore stands for the encoder, which need not be read. A damaged graph is not used, and made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from newfound.defaults import Precision
from newfound.encoders.tokenizer import LightTokenizer
from newfound.files import folder_atomically, to_json
from newfound.paths import graph_cache_dir

IDS, MASK, VECTORS = "input_ids", "attention_mask", "vectors"
OPSET = 20
BUILDER_VERSION = 3  # to be raised when the same weights give another graph, or other files beside it
GRAPH_FILE, TOKENIZER_FILE, ABOUT_FILE = "graph.onnx", "tokenizer.json", "about.json"


@dataclass(frozen=True, slots=True)
class GraphKey:
    """Everything that a graph depends on."""

    weights: str  # the hash of the encoder's weights, tokenizer and pooling (`Encoder.weights_hash`)
    max_length: int  # in tokens, of a text
    precision: Precision = "fp32"
    seven_bits: bool = False  # whether int8 weights have seven bits, for processors that need it
    trained: str = ""  # a hash of what was trained of the encoder; empty if nothing was
    opset: int = OPSET
    builder: int = BUILDER_VERSION

    @property
    def folder(self) -> Path:
        """Where the graph lies, if there is one."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        return graph_cache_dir() / digest[:32]


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A graph on disk."""

    folder: Path
    has_tokenizer: bool  # whether its tokenizer lies beside it
    pad_token: str
    pad_id: int
    padded: bool  # whether texts are padded to the largest length
    features: str = ""  # the folder of the same vectors in the feature cache; empty for a trained encoder

    @property
    def graph(self) -> Path:
        """The file of the graph."""
        return self.folder / GRAPH_FILE

    def tokenizer(self) -> LightTokenizer:
        """Return the tokenizer that lies beside the graph."""
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(self.folder / TOKENIZER_FILE))
        return LightTokenizer(backend, self.pad_token, self.pad_id, None)


def find_graph(key: GraphKey) -> StoredGraph | None:
    """Return a stored graph; None if there is none, or if it is damaged."""
    folder = key.folder
    try:
        about = json.loads((folder / ABOUT_FILE).read_bytes())
        for name, expected in about["sha256"].items():
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                    return None
        return StoredGraph(
            folder,
            TOKENIZER_FILE in about["sha256"],
            str(about["pad_token"]),
            int(about["pad_id"]),
            bool(about["padded"]),
            str(about.get("features", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def save_graph(key: GraphKey, graph: bytes, tokenizer: str | None, **facts: str | int | bool) -> None:
    """Store the content of a graph's file: all of it, or nothing.

    Args:
        key: What it depends on.
        graph: The content of its file.
        tokenizer: The content of tokenizer.json; None if the encoder's tokenizer has none.
        **facts: `pad_token`, `pad_id`, `padded` and `features` of the `StoredGraph`.
    """
    files = {GRAPH_FILE: graph, **({} if tokenizer is None else {TOKENIZER_FILE: tokenizer.encode()})}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    with folder_atomically(key.folder) as target:
        for name, content in files.items():
            (target / name).write_bytes(content)
        (target / ABOUT_FILE).write_bytes(to_json({**asdict(key), "sha256": sums, **facts}))


def hash_of_arrays(arrays: Mapping[str, npt.NDArray[np.float32]]) -> str:
    """Return a SHA-256 of arrays by name; empty if there are none."""
    if not arrays:
        return ""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
