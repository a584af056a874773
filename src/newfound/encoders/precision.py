"""What ONNX Runtime can compute on this machine, and in which precision. This module needs neither torch nor NumPy."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from newfound.defaults import Precision
from newfound.errors import MissingExtra, SettingsError

VNNI_CPU_FLAGS = frozenset({"avx512_vnni", "avx_vnni"})
CPU_INFO = Path("/proc/cpuinfo")


def check_precision(precision: str, device: str = "auto") -> None:
    """Refuse a precision that is neither fp32 nor int8, and int8 where it cannot be computed."""
    if precision not in get_args(Precision):
        raise SettingsError(f"precision={precision!r} is not one of {', '.join(get_args(Precision))}")
    if precision == "int8":
        if device not in ("auto", "cpu"):
            raise SettingsError("precision='int8' is for the CPU", "cpu", "fp32")
        if not can_build():
            raise MissingExtra("precision='int8'", "onnxruntime", "onnx")


def is_available() -> bool:
    """Return whether ONNX Runtime is installed and not switched off (`NEWFOUND_ONNX=0`)."""
    return os.environ.get("NEWFOUND_ONNX", "1") != "0" and _is_installed("onnxruntime")


def can_build() -> bool:
    """Return whether graphs can be made here, and not only run."""
    return is_available() and _is_installed("onnx")


@cache
def _is_installed(package: str) -> bool:
    return find_spec(package) is not None


@cache
def has_wide_products(path: Path = CPU_INFO) -> bool:
    """Return whether the processor that a file describes multiplies eight bits by eight bits without cutting off sums.

    ARM processors do; of x86 only those with VNNI. Without it, ONNX Runtime adds pairs of products in sixteen bits,
    where large ones are cut off. Where it cannot be found out, the answer is no.
    """
    if platform.machine().lower() in ("arm64", "aarch64"):
        return True
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(VNNI_CPU_FLAGS & set(line.split()) for line in lines if line.startswith("flags"))


def needs_seven_bits(precision: Precision) -> bool:
    """Return whether weights need seven bits, which cannot reach the limit of sums, but are rounded a little more."""
    return precision == "int8" and not has_wide_products()


def name_of_precision(precision: Precision) -> str:
    """Return what vectors of this precision and machine are called where they must not be mixed with others."""
    if precision == "fp32":
        return "float32"
    return "int8, weights of seven bits" if needs_seven_bits(precision) else "int8"
