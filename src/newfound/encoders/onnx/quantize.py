"""int8 graphs: the weights of products in eight bits, and what they are multiplied with in eight bits when it is run.

On x86 without the VNNI instructions, ONNX Runtime adds pairs of products in sixteen bits, where large ones are cut off.
Weights of seven bits cannot reach that limit; they are rounded a little more and give right results on every processor.
"""

from __future__ import annotations

import logging
import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

VNNI_CPU_FLAGS = frozenset({"avx512_vnni", "avx_vnni"})
CPU_INFO = Path("/proc/cpuinfo")


@cache
def has_wide_products(path: Path = CPU_INFO) -> bool:
    """Return whether this processor multiplies eight bits by eight bits without cutting off sums.

    ARM processors do; of x86 only those with VNNI. Where it cannot be found out, the answer is no.

    Args:
        path: The description of the processor.
    """
    if platform.machine().lower() in ("arm64", "aarch64"):
        return True
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(VNNI_CPU_FLAGS & set(line.split()) for line in lines if line.startswith("flags"))


def name_of_int8() -> str:
    """Return what int8 vectors of this machine are called where they must not be mixed with others."""
    return "int8" if has_wide_products() else "int8, weights of seven bits"


def quantize(model: Any, *, seven_bits: bool, leave_out: Sequence[str] = ()) -> bytes:
    """Return an int8 graph, as the content of its file.

    Args:
        model: The graph (`onnx.ModelProto`).
        seven_bits: Whether weights have seven bits.
        leave_out: Names of products that stay as they are.

    Raises:
        OSError: There is no room for temporary files.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory(prefix="newfound-int8-") as folder, _without_advice():
        target = Path(folder) / "graph.onnx"
        # A scale for each column, and embeddings as they are: both keep vectors closer to the exact ones.
        quantize_dynamic(
            model,
            str(target),
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=seven_bits,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(leave_out),
        )
        return target.read_bytes()


@contextmanager
def _without_advice() -> Iterator[None]:
    """Keep back the advice that ONNX Runtime logs about graphs for other processors."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
