"""The device that something runs on. A wrong name is refused without torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from newfound.errors import NoGpu, SettingsError
from newfound.training.launch import current_launch

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda")
# What the drivers of NVIDIA, of AMD and of Windows' Linux make of a GPU.
GPU_FILES = (Path("/dev/nvidiactl"), Path("/dev/kfd"), Path("/dev/dxg"))


def check_device(name: str) -> None:
    """Refuse a name that is not one of `DEVICES`."""
    if name not in DEVICES:
        raise SettingsError(f"device={name!r} is not one of {', '.join(DEVICES)}")


def is_surely_cpu(name: str) -> bool:
    """Return whether a device is the CPU, as far as that can be told without torch, whose import takes seconds."""
    if name != "auto":
        return name == "cpu"
    return sys.platform == "darwin" or (sys.platform == "linux" and not any(path.exists() for path in GPU_FILES))


def pick_device(name: str) -> torch.device:
    """Return the device of a name; "auto" is the GPU if there is one.

    Of several processes that were started together, each gets its own GPU.
    """
    check_device(name)
    import torch

    if name == "auto":
        gpu_wanted = os.environ.get("ACCELERATE_USE_CPU", "").lower() not in ("true", "1", "yes")
        name = "cuda" if gpu_wanted and torch.cuda.is_available() else "cpu"
    if name == "cuda":
        if not torch.cuda.is_available():
            raise NoGpu
        _take_own_gpu()
    return torch.device(name)


def _take_own_gpu() -> None:
    """Make "cuda" the GPU of this process, where several were started on one machine."""
    import torch

    launch = current_launch()
    if launch.count == 1:
        return
    if launch.local_rank >= torch.cuda.device_count():
        raise SettingsError(
            f"more processes were started than there are GPUs here ({torch.cuda.device_count()}); start one per GPU"
        )
    torch.cuda.set_device(launch.local_rank)
