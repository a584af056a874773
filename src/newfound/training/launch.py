"""Whether this process is one of several that were started together, and which of them speaks. It needs no torch."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from newfound.errors import Interrupted, NewfoundError, SettingsError

SECONDS_FOR_THE_MAIN_PROCESS = 5.0
EXIT_CODE_OF_CTRL_C = 130


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


@contextmanager
def one_voice(command: str, divided: Sequence[str]) -> Iterator[None]:
    """Let only the main process of several speak for a command; with one process, do nothing.

    Most errors are met by all processes. When the main one has printed its error and ended, the launcher ends the
    others while they wait here, so that the error is printed once. What only another process has met gets the number
    of the process, and is raised after the wait.

    Args:
        command: The command that all processes run; empty if it is none.
        divided: The commands that divide their work. Another would do its whole work once in every process.
    """
    launch = current_launch()
    if launch.count == 1:
        yield
        return
    if not launch.is_main:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    try:
        if command and command not in divided:
            raise SettingsError(
                f"newfound {command} works in one process; start it without accelerate or torchrun, which are for "
                f"{', '.join(divided)}"
            )
        yield
        if "torch.distributed" in sys.modules:
            from newfound.training.parallel import leave

            leave()
    except (Interrupted, KeyboardInterrupt):
        if launch.is_main:
            raise
        sys.exit(EXIT_CODE_OF_CTRL_C)
    except Exception as error:
        if launch.is_main:
            raise
        time.sleep(SECONDS_FOR_THE_MAIN_PROCESS)
        if isinstance(error, OSError):
            raise NewfoundError(f"process {launch.rank}: {error}") from error
        if isinstance(error, NewfoundError):
            error.message = f"process {launch.rank}: {error.message}"
        raise
