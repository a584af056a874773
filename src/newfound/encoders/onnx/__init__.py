"""Encoders as ONNX graphs, which ONNX Runtime runs on a CPU faster than torch: building, storing and running them.

`graph` builds the graph of an encoder; `session` keeps graphs in the user's cache folder and runs them, without torch;
`engine` makes the session of a loaded encoder.
"""

import os
from importlib.util import find_spec


def is_available() -> bool:
    """Return whether ONNX Runtime is installed and not switched off (`NEWFOUND_ONNX=0`)."""
    return os.environ.get("NEWFOUND_ONNX", "1") != "0" and find_spec("onnxruntime") is not None


def can_build() -> bool:
    """Return whether graphs can be made here, and not only run."""
    return is_available() and find_spec("onnx") is not None
