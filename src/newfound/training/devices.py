"""The device that something runs on. A wrong name is refused without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newfound.errors import NoGpu, SettingsError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda")


def check_device(name: str) -> None:
    """Refuse a name that is not one of `DEVICES`."""
    if name not in DEVICES:
        raise SettingsError(f"device={name!r} is not one of {', '.join(DEVICES)}")


def pick_device(name: str) -> torch.device:
    """Return the device of a name; "auto" is the GPU if there is one.

    Raises:
        NoGpu: The GPU was asked for, and torch sees none.
    """
    check_device(name)
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise NoGpu
    return torch.device(name)
