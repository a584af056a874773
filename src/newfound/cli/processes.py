"""The command line in several processes, as `accelerate launch` and `torchrun` start them: only one of them speaks."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from newfound.errors import SettingsError
from newfound.training.launch import current_launch

DIVIDED_COMMANDS = ("demo", "discover", "update")
SECONDS_FOR_THE_MAIN_PROCESS = 5.0


def check_processes(arguments: Sequence[str]) -> None:
    """Refuse a command that would do its whole work once in every process.

    Args:
        arguments: The arguments of the command line.
    """
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    if current_launch().count > 1 and command is not None and command not in DIVIDED_COMMANDS:
        raise SettingsError(
            f"newfound {command} works in one process; start it without accelerate or torchrun, which are for "
            f"{', '.join(DIVIDED_COMMANDS)}"
        )


def wait_for_the_main_process_to_speak() -> None:
    """Wait before an error is printed by another process than the main one.

    Most errors are met by all processes. When the main one has printed its error and ended, the launcher ends the
    others while they wait here, and the error is printed once. What only another process has met is printed after the
    wait.
    """
    if not current_launch().is_main:
        time.sleep(SECONDS_FOR_THE_MAIN_PROCESS)


def name_of_process() -> str:
    """Return the beginning of a message that says which process it comes from; nothing for the main one."""
    return "" if current_launch().is_main else f"process {current_launch().rank}: "


def leave_processes() -> None:
    """Disconnect from the other processes, if there are any."""
    if current_launch().count > 1 and "torch.distributed" in sys.modules:
        from newfound.training.parallel import leave

        leave()
