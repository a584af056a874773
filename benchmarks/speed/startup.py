"""Time short commands from a fresh process, as a user meets them, and compare two versions of newfound.

python -m benchmarks.speed.startup MODEL                          times this version
python -m benchmarks.speed.startup MODEL --baseline OTHER/src     and another checkout, in turns

Each command runs several times, in turns, so that other work on the machine meets all of them alike; the median is
reported. The ratio to `import torch`, which is timed in the same turns, says more than the seconds of a shared machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.provenance import with_code_hash

from newfound.threads import WAIT_VARIABLES

OWN = Path(__file__).parents[2] / "src"
TORCH = "import torch"


def commands(model: Path, folder: Path) -> dict[str, list[str]]:
    """Return the commands to time, by name; their input is one line."""
    return {
        "predict one line": ["predict", str(model)],
        "inspect": ["inspect", str(model)],
        "export": ["export", str(model), "--to", "rasa", "--out", str(folder / "{turn}.yml")],
        "report": ["report", str(model), "--out", str(folder / "report.html")],
        "a wrong method": ["discover", "known.csv", "logs.csv", "--out", str(folder / "m"), "--method", "magic"],
    }


def seconds_of(arguments: list[str], source: Path, **variables: str) -> float:
    """Return how long a Python process takes; whether it succeeds does not matter."""
    environment = {**os.environ, "PYTHONPATH": str(source), **variables}
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], input=b"pay my bill\n", capture_output=True, env=environment)
    return time.perf_counter() - started


def time_commands(model: Path, sources: dict[str, Path], turns: int) -> dict[str, dict[str, float]]:
    """Return the median seconds of each command by version; `import torch` is among them."""
    times: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        planned = {name: ["-m", "newfound", *args] for name, args in commands(model, Path(folder)).items()}
        planned[TORCH] = ["-c", TORCH]
        for turn in range(turns + 1):  # the first one warms up the caches of the disk, and does not count
            for name, arguments in planned.items():
                for version, source in sources.items():
                    filled = [argument.replace("{turn}", f"{version}-{turn}") for argument in arguments]
                    seconds = seconds_of(filled, source)
                    if turn:
                        times.setdefault(name, {}).setdefault(version, []).append(seconds)
    return {name: {v: round(median(s), 2) for v, s in versions.items()} for name, versions in times.items()}


def main() -> None:
    """Print the times as JSON, with ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--baseline", type=Path, help="the sources of another version")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    for name in WAIT_VARIABLES:  # the user's own settings would hide what newfound sets
        os.environ.pop(name, None)
    result: dict[str, Any] = {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "turns": options.turns}
    sources = {"now": OWN, **({"before": options.baseline.resolve()} if options.baseline else {})}
    times = time_commands(options.model, sources, options.turns)
    torch_seconds = times.pop(TORCH)
    result["seconds"] = {TORCH: torch_seconds, **times}
    result["ratio to import torch"] = {
        name: {version: round(s / torch_seconds[version], 2) for version, s in versions.items()}
        for name, versions in times.items()
    }
    print(json.dumps(with_code_hash(result), indent=1))


if __name__ == "__main__":
    main()
