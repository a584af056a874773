"""Whether this process is one of several that were started together. It is told without torch."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launch:
    """Which of several processes this one is."""

    rank: int = 0  # over all machines
    count: int = 1
    local_rank: int = 0  # on this machine

    @property
    def is_main(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0


def current_launch() -> Launch:
    """Return what `accelerate launch` and `torchrun` have set in the environment; one process if they have not."""
    try:
        rank, count, local_rank = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    except (KeyError, ValueError):
        return Launch()
    return Launch(rank, count, local_rank) if 0 <= rank < count and local_rank >= 0 else Launch()
