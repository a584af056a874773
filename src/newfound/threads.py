"""How many threads compute, and how they wait for one another. It has to be chosen before torch is imported.

OpenMP's threads wait for the next piece of work by spinning, which keeps a core busy. On a machine that has other work
to do, each of them then waits for a thread that has no core, and everything takes several times as long. Threads that
sleep while they wait cost next to nothing on an idle machine.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

# Whoever sets one of these has decided how threads wait.
WAIT_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
# The first is for the OpenMP of GNU (torch on Linux) and LLVM (torch on macOS), the second for those of LLVM and Intel.
SLEEP_WHILE_WAITING = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
THREADS_VARIABLE = "OMP_NUM_THREADS"


def limit_threads() -> None:
    """Set the environment variables of OpenMP that the user has not set.

    Threads sleep while they wait. In a container that may use fewer cores than the machine has, there are only as many
    threads as cores that it may use; otherwise their number is torch's default.
    """
    if not any(name in os.environ for name in WAIT_VARIABLES):
        os.environ.update(SLEEP_WHILE_WAITING)
    cores = cores_of_quota()
    if cores is not None and cores < usable_cores():
        os.environ.setdefault(THREADS_VARIABLE, str(cores))


def inference_threads() -> int:
    """Return the number of threads that ONNX Runtime gets: that of OpenMP if it is set, or the usable cores."""
    given = os.environ.get(THREADS_VARIABLE, "").partition(",")[0].strip()
    if given.isdecimal() and int(given) > 0:
        return int(given)
    cores = usable_cores()
    return min(cores, cores_of_quota() or cores)


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores_of_quota(path: Path = CGROUP_QUOTA) -> int | None:
    """Return the number of cores that the container's quota allows; None if there is no quota."""
    try:  # microseconds of processor time, or "max", and the period they are for
        quota, period = path.read_text("ascii").split()[:2]
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return None
