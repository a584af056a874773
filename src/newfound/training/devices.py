"""The device that something runs on. A wrong name is refused without torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from newfound.errors import SettingsError

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
    """Return the device of a name; "auto" is the GPU if there is one."""
    check_device(name)
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device='cuda', but torch sees no GPU here", "cpu")
    return torch.device(name)
