"""Where a result comes from: the code and its commit, the hardware, and whether other processes shared the GPU."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import newfound

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

COMMIT_VARIABLE = "NEWFOUND_COMMIT"
PACKAGE = Path(newfound.__file__).resolve().parent
MEASURED_PACKAGES = ("algorithms", "encoders", "methods", "model", "training")  # what a fit finds depends on them


@cache
def commit() -> str | None:
    """Return the commit of the checkout that newfound runs from; a trailing `+` says that its sources were changed.

    On a machine that has a copy without the history, the environment variable `NEWFOUND_COMMIT` says it. None stands
    for an installed package.
    """
    if named := os.environ.get(COMMIT_VARIABLE):
        return named
    try:
        head = _git(PACKAGE, "rev-parse", "HEAD")
        changed = _git(PACKAGE, "status", "-s", str(PACKAGE))
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def code_hash(package: Path = PACKAGE) -> str:
    """Return a hash of the sources that decide what a fit finds: the names and contents of their Python files."""
    paths = [path for name in MEASURED_PACKAGES for path in (package / name).rglob("*.py")]
    contents = {path.relative_to(package).as_posix(): path.read_bytes() for path in paths}
    lines = [f"{name} {hashlib.sha256(content).hexdigest()}\n" for name, content in sorted(contents.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


CODE_HASH = code_hash()  # taken when a study starts: somebody may edit the sources while it runs


def with_code_hash(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as it is stored: with the hash of the code that it was measured on."""
    return {**result, "code": CODE_HASH}


def hardware(device: str) -> str:
    """Return the name of the GPU, or the processor's architecture and number of cores."""
    # Imported here, so that what only reads or writes result files does not load torch.
    import torch

    from newfound.training.devices import pick_device

    if pick_device(device).type == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {os.cpu_count()} cores"


def shares_gpu() -> bool:
    """Return whether the process runs under CUDA MPS, where times say nothing: other processes use the same GPU."""
    return bool(os.environ.get("CUDA_MPS_PIPE_DIRECTORY"))


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()


def weights_precision(encoder: Encoder) -> str:
    """Return the precision that the weights really have: float16 if rounding to it changes none of them."""
    import torch

    weights = [t for t in encoder.model.state_dict().values() if t.is_floating_point()]
    return "float16" if all(torch.equal(t.half().to(t.dtype), t) for t in weights) else "float32"
