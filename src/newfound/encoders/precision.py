"""Where a precision can be computed. This module does not need torch."""

from __future__ import annotations

from typing import get_args

from newfound.defaults import Precision
from newfound.errors import MissingExtra, NoInt8, SettingsError


def check_precision(precision: str, device: str = "auto") -> None:
    """Refuse a precision that is none, and int8 where it cannot be computed.

    Args:
        precision: fp32 or int8.
        device: What is to compute: auto, or a kind of device that torch knows.
    """
    if precision not in get_args(Precision):
        raise SettingsError(f"precision={precision!r} is not one of {', '.join(get_args(Precision))}")
    if precision == "int8":
        from newfound.encoders.onnx.session import can_build

        if device not in ("auto", "cpu"):
            raise NoInt8
        if not can_build():
            raise MissingExtra("precision='int8'", "onnxruntime", "onnx")
