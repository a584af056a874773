"""Runs a graph with ONNX Runtime. This module does not need torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from newfound.encoders.onnx.store import IDS, MASK
from newfound.threads import inference_threads

MAX_TOKENS_PER_RUN = 512  # with padding; more do not fit into the cache of a core, and take longer per token
MIN_TOKENS_PER_RUN = 128  # fewer keep a core busy with everything but products
MAX_PADDING_PER_RUN = 24  # tokens; a run of its own costs about as much as these
MIN_DIVIDED_MB = 64  # of a graph; in a run of a smaller one, threads wait for each other longer than they compute
Vectors = npt.NDArray[np.float32]
Run = npt.NDArray[np.int64]  # the numbers of its rows


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

    def vectors(self, rows: Sequence[Sequence[int]], unpadded: Sequence[int] | None = None) -> Vectors:
        """Return the vectors of texts, [n, d]; texts of similar length run together, and equal ones once.

        Args:
            rows: The token ids of each text.
            unpadded: How many of them are no padding, where padding is part of the texts; None if it is not.
        """
        place: dict[tuple[int, ...], int] = {}
        wanted = [place.setdefault(tuple(row), len(place)) for row in rows]
        distinct = list(place)
        lengths = np.array([len(row) for row in distinct], dtype=np.int64)
        seen = {number: i for i, number in reversed(list(enumerate(wanted)))}  # a row with these ids
        attended = lengths if unpadded is None else np.array([unpadded[seen[i]] for i in range(len(distinct))])
        vectors: Vectors = np.empty((len(distinct), self.width), dtype=np.float32)
        runs = runs_by_length(lengths, tokens_per_run(int(lengths.sum()), self._threads))
        session = self._divided_session if len(runs) == 1 and self._divides_runs else self._session

        def compute(batch: Run) -> None:
            width = int(lengths[batch].max())
            ids = np.full((len(batch), width), self.pad_id, dtype=np.int64)
            for i, row in enumerate(batch):
                ids[i, : lengths[row]] = distinct[row]
            mask = (np.arange(width)[None] < attended[batch][:, None]).astype(np.int64)
            vectors[batch] = session.run([self._output], {IDS: ids, MASK: mask})[0]

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


def tokens_per_run(tokens: int, threads: int) -> int:
    """Return how many of the `tokens` of all texts a run should hold, so that all threads have some."""
    return min(max(-(-tokens // threads), MIN_TOKENS_PER_RUN), MAX_TOKENS_PER_RUN)


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
