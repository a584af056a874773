"""Where a result comes from: the commit of the project, the hardware, and whether other processes shared the GPU."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import torch

from newfound.training.devices import pick_device

COMMIT_VARIABLE = "NEWFOUND_COMMIT"


@cache
def commit() -> str | None:
    """Return the commit of the checkout that newfound runs from; a trailing `+` says that its sources were changed.

    On a machine that has a copy without the history, the environment variable `NEWFOUND_COMMIT` says it. None stands
    for an installed package.
    """
    if named := os.environ.get(COMMIT_VARIABLE):
        return named
    package = Path(__file__).resolve().parents[1]
    try:
        head = _git(package, "rev-parse", "HEAD")
        changed = _git(package, "status", "-s", str(package))
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def hardware(device: str) -> str:
    """Return the name of the GPU, or the processor's architecture and number of cores."""
    if pick_device(device).type == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {os.cpu_count()} cores"


def shares_gpu() -> bool:
    """Return whether the process runs under CUDA MPS, where times say nothing: other processes use the same GPU."""
    return bool(os.environ.get("CUDA_MPS_PIPE_DIRECTORY"))


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
