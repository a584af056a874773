"""Runs a graph with ONNX Runtime. This module does not need torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from newfound.encoders.onnx.store import IDS, MASK
from newfound.threads import inference_threads

TOKENS_PER_RUN = 512  # with padding; more do not fit into the cache of a core, and take longer per token
Vectors = npt.NDArray[np.float32]


class GraphSession:
    """A loaded graph. Several threads may use it at the same time.

    Attributes:
        width: The length of a vector.
        pad_id: The id of the token that pads.
    """

    def __init__(self, graph: Path | bytes, *, pad_id: int) -> None:
        """Load a graph.

        Args:
            graph: Its file, or its content.
            pad_id: The id of the token that pads.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = inference_threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors; warnings are about graphs that nobody can change here
        # A thread that spins while it waits keeps a core busy, which another process may need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        source = graph if isinstance(graph, bytes) else str(graph)
        self._session: Any = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        (output,) = self._session.get_outputs()
        self._output = output.name
        self.width = int(output.shape[1])
        self.pad_id = pad_id

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
        found = np.empty((len(distinct), self.width), dtype=np.float32)
        for batch in runs_by_length(lengths):
            width = int(lengths[batch].max())
            ids = np.full((len(batch), width), self.pad_id, dtype=np.int64)
            for i, row in enumerate(batch):
                ids[i, : lengths[row]] = distinct[row]
            mask = (np.arange(width)[None] < attended[batch][:, None]).astype(np.int64)
            found[batch] = self._session.run([self._output], {IDS: ids, MASK: mask})[0]
        return found if len(distinct) == len(rows) else found[wanted]


def runs_by_length(lengths: npt.NDArray[np.int64], tokens: int = TOKENS_PER_RUN) -> list[npt.NDArray[np.int64]]:
    """Return row numbers in runs of similar length, the shortest first.

    Args:
        lengths: The number of tokens of each row.
        tokens: The largest number of tokens of a run, padding included; a longer row is a run of its own.
    """
    order = np.argsort(lengths, kind="stable")
    runs, start = [], 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * lengths[order[end]] > tokens:
            runs.append(order[start:end])
            start = end
    return runs


def is_available() -> bool:
    """Return whether ONNX Runtime is installed and not switched off (`NEWFOUND_ONNX=0`)."""
    return os.environ.get("NEWFOUND_ONNX", "1") != "0" and _is_installed("onnxruntime")


def can_build() -> bool:
    """Return whether graphs can be made here, and not only run."""
    return is_available() and _is_installed("onnx")


@cache
def _is_installed(package: str) -> bool:
    return find_spec(package) is not None
