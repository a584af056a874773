"""Graphs in the user's cache folder, each with its tokenizer, and running them. This module does not need torch.

A graph is named by a hash of everything that it depends on: weights, tokenizer, pooling and length. A graph
with its tokenizer therefore stands for the encoder, which need not be read. A damaged graph is not used, and made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from newfound.encoders.tokenizer import LightTokenizer
from newfound.files import folder_atomically, to_json
from newfound.paths import graph_cache_dir
from newfound.threads import inference_threads

IDS, MASK, VECTORS = "input_ids", "attention_mask", "vectors"
OPSET = 20
BUILDER_VERSION = 5  # to be raised when the same weights give another graph, or other files beside it
GRAPH_FILE, TOKENIZER_FILE, ABOUT_FILE = "graph.onnx", "tokenizer.json", "about.json"
MAX_TOKENS_PER_RUN = 512  # with padding; more do not fit into the cache of a core, and take longer per token
MIN_TOKENS_PER_RUN = 128  # fewer keep a core busy with everything but products
MAX_PADDING_PER_RUN = 24  # tokens; a run of its own costs about as much as these
LANES = 4  # numbers that processors add at once
MIN_DIVIDED_MB = 64  # of a graph; in a run of a smaller one, threads wait for each other longer than they compute
Vectors = npt.NDArray[np.float32]
Run = npt.NDArray[np.int64]  # the numbers of its rows


def graph_folder(weights: str, max_length: int, trained: str) -> Path:
    """Return where a graph lies, if there is one, by everything that it depends on.

    That are the hash of the encoder's weights, tokenizer and pooling (`Encoder.weights_hash`), the length of a text in
    tokens, and the hash of what was trained of the encoder.
    """
    key = {"builder": BUILDER_VERSION, "max_length": max_length, "opset": OPSET, "trained": trained, "weights": weights}
    return graph_cache_dir() / hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A graph on disk, and what lies beside it."""

    folder: Path
    sha256: Mapping[str, str]  # of the files, by name
    pad_token: str
    pad_id: int
    padded: bool  # whether texts are padded to the largest length
    features: str  # the folder of the same vectors in the feature cache; empty for a trained encoder

    @property
    def has_tokenizer(self) -> bool:
        return TOKENIZER_FILE in self.sha256

    @property
    def graph(self) -> Path:
        return self.folder / GRAPH_FILE

    def tokenizer(self) -> LightTokenizer:
        """Return the tokenizer that lies beside the graph."""
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(self.folder / TOKENIZER_FILE))
        return LightTokenizer(backend, self.pad_token, self.pad_id, None)


def find_graph(folder: Path) -> StoredGraph | None:
    """Return a stored graph; None if there is none, or if it is damaged."""
    try:
        stored = StoredGraph(folder, **json.loads((folder / ABOUT_FILE).read_bytes()))
        for name, expected in stored.sha256.items():
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                    return None
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return stored


def save_graph(folder: Path, graph: bytes, tokenizer: str | None, **facts: str | int | bool) -> None:
    """Store the content of a graph's file, and that of tokenizer.json if there is one: all of it, or nothing.

    The facts are `pad_token`, `pad_id`, `padded` and `features` of the `StoredGraph`.
    """
    files = {GRAPH_FILE: graph, **({} if tokenizer is None else {TOKENIZER_FILE: tokenizer.encode()})}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    with folder_atomically(folder) as target:
        for name, content in files.items():
            (target / name).write_bytes(content)
        (target / ABOUT_FILE).write_bytes(to_json({"sha256": sums, **facts}))


class GraphSession:
    """A loaded graph. Several threads may use it at the same time.

    Many texts are computed in several runs at once, each with one thread: threads that share a run wait for each other
    after every product. A few texts that fill only one run are computed with all threads if the graph is large.
    """

    def __init__(self, graph: Path | bytes, *, pad_id: int) -> None:
        """Load a graph from its file, or from the content of one."""
        self._session = _create_session(graph, 1)
        self._threads = inference_threads()
        size = len(graph) if isinstance(graph, bytes) else graph.stat().st_size
        self._divides_runs = self._threads > 1 and size >= MIN_DIVIDED_MB * 2**20
        self._graph = graph if self._divides_runs else b""
        (output,) = self._session.get_outputs()
        self._output = output.name
        self.width = int(output.shape[1])  # of a vector
        self.pad_id = pad_id

    @cached_property
    def _divided_session(self) -> Any:
        """For a run that all threads share; it has the weights a second time."""
        try:
            return _create_session(self._graph, self._threads)
        except Exception:  # the file may be gone or the memory used up by now, and the answer is the same
            return self._session

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="encode")

    def vectors(
        self, rows: Sequence[Sequence[int]], unpadded: Sequence[int] | None = None, *, max_width: int | None = None
    ) -> Vectors:
        """Return the vectors of texts, [n, d]; texts of similar length run together, and equal ones once.

        The rows are the token ids of each text. Where padding is part of them, `unpadded` counts those that are none.
        A row that runs alone, or at a width that is no multiple of 4, may differ in its last digits from the same row
        in another run. Given the largest width that the graph takes, both are avoided, so that the vector of a text
        does not depend on the other texts.
        """
        place: dict[tuple[int, ...], int] = {}
        wanted = [place.setdefault(tuple(row), len(place)) for row in rows]
        distinct = list(place)
        lengths = np.array([len(row) for row in distinct], dtype=np.int64)
        seen = {number: i for i, number in reversed(list(enumerate(wanted)))}  # a row with these ids
        attended = lengths if unpadded is None else np.array([unpadded[seen[i]] for i in range(len(distinct))])
        vectors: Vectors = np.empty((len(distinct), self.width), dtype=np.float32)
        per_thread = -(-int(lengths.sum()) // self._threads)  # so that all threads have some
        runs = runs_by_length(lengths, min(max(per_thread, MIN_TOKENS_PER_RUN), MAX_TOKENS_PER_RUN))
        session = self._divided_session if len(runs) == 1 and self._divides_runs else self._session

        def compute(batch: Run) -> None:
            width = int(lengths[batch].max())
            if max_width is not None:
                width = min(-(-width // LANES) * LANES, max(width, max_width))
            ids = np.full((len(batch), width), self.pad_id, dtype=np.int64)
            for i, row in enumerate(batch):
                ids[i, : lengths[row]] = distinct[row]
            mask = (np.arange(width)[None] < attended[batch][:, None]).astype(np.int64)
            if max_width is not None and len(batch) == 1:
                ids, mask = ids.repeat(2, 0), mask.repeat(2, 0)
            vectors[batch] = session.run([self._output], {IDS: ids, MASK: mask})[0][: len(batch)]

        if len(runs) == 1 or self._threads == 1:
            for batch in runs:
                compute(batch)
        else:
            self._compute_all(compute, runs[::-1])  # the longest first, so that none of them ends alone
        return vectors if len(distinct) == len(rows) else vectors[wanted]

    def _compute_all(self, compute: Callable[[Run], None], runs: Sequence[Run]) -> None:
        """Compute runs in the pool, a few at a time, so that another call waits for one run and not for all of them."""
        waiting = iter(runs)
        pending = {self._pool.submit(compute, run) for run in islice(waiting, self._threads)}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            pending |= {self._pool.submit(compute, run) for run in islice(waiting, len(done))}


def _create_session(graph: Path | bytes, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; warnings are about graphs that nobody can change here
    # A thread that spins while it waits keeps a core busy, which another process may need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def runs_by_length(
    lengths: npt.NDArray[np.int64], tokens: int = MAX_TOKENS_PER_RUN, padding: int = MAX_PADDING_PER_RUN
) -> list[Run]:
    """Return row numbers in runs of similar length, the shortest first.

    A run has at most `tokens`, padding included, unless a single row is longer; at most `padding` of them are padding.
    """
    order = np.argsort(lengths, kind="stable")
    runs: list[Run] = []
    start, unpadded = 0, 0
    for end, length in enumerate(lengths[order].tolist()):
        size = (end + 1 - start) * length
        if end > start and (size > tokens or size - unpadded - length > padding):
            runs.append(order[start:end])
            start, unpadded = end, 0
        unpadded += length
    return [*runs, order[start:]] if len(order) else []
