"""Waiting for a condition and not for a fixed time, so that a busy machine only takes longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

SECONDS_TO_WAIT = 120  # at most; a machine that needs as long is not busy but stuck
SECONDS_BETWEEN_LOOKS = 0.02
T = TypeVar("T")


def until(condition: Callable[[], T]) -> T:
    """Return what a condition says as soon as it says something true, or what it said at the end."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return found


async def until_async(condition: Callable[[], T]) -> T:
    """Do the same while other tasks of the event loop go on."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while not (found := condition()) and time.monotonic() < deadline:
        await asyncio.sleep(0.001)
    return found
