"""Print measured times as Markdown tables, from the result files of the studies.

python -m benchmarks.speed.tables scale      `newfound discover` on large logs, stage by stage
python -m benchmarks.speed.tables serve      requests a second of the HTTP server
python -m benchmarks.speed.tables sizes      `newfound discover` by the size of the logs, on two machines
python -m benchmarks.speed.tables start-up   seconds of short commands
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.harness.tables import Line, as_markdown

BENCHMARKS = Path(__file__).parents[1]
STAGES = ("read", "encode", "discover", "save")
SERVERS = {
    "plain": "plain endpoint, torch",
    "torch": "`newfound serve`, torch",
    "onnx fp32": "ONNX Runtime, fp32",
}


def read(path: str) -> dict[str, Any]:
    """Return a result file."""
    content: dict[str, Any] = json.loads((BENCHMARKS / path).read_text("utf-8"))
    return content


def scale() -> tuple[Line, list[Line]]:
    """Return time, memory and strict scores by the number of utterances."""
    lines: list[Line] = []
    for run in read("scale/scale-cpu.json")["runs"]:
        stages = [f"{run['stage_seconds'][stage]:.0f} s" for stage in STAGES]
        scores = [f"{run[score]:.1f}" for score in ("ind_acc", "ood_acc", "all_acc")]
        memory = f"{run['peak_gb']['save']:.1f} GB"
        lines.append(
            (f"{run['logs']:,}", f"{run['learned_from']:,}", *stages, f"{run['seconds']:.0f} s", memory, *scores)
        )
    return ("utterances", "learned from", *STAGES, "all", "memory", "IND ACC", "OOD ACC", "ALL ACC"), lines


def sizes() -> tuple[Line, list[Line]]:
    """Return minutes and memory by the number of utterances."""
    lines: list[Line] = []
    for content in map(read, ("scale/scale-cpu.json", "scale/scale-cuda.json")):
        for run in content["runs"]:
            memory = max(run["peak_gb"][stage] for stage in STAGES)
            hardware = content["hardware"].replace("x86_64, ", "")
            lines.append((f"{run['logs']:,}", hardware, f"{run['seconds'] / 60:.1f}", f"{memory:.1f} GB"))
    return ("utterances in the logs", "on", "minutes", "memory"), lines


def serve() -> tuple[Line, list[Line]]:
    """Return requests a second and latencies of each kind of server."""
    content = read("serve/load.json")
    lines: list[Line] = []
    for name, title in SERVERS.items():
        own = content[name]
        rates = [f"{own[key]['per_second']:.0f}" if (key := f"{n} connections") in own else "–" for n in (1, 16, 64)]
        alone = f"{own['1 connections']['p50_ms']:.1f} ms" if "1 connections" in own else "–"
        many = [f"{own['64 connections'][key]:.0f} ms" for key in ("p50_ms", "p99_ms")]
        lines.append((title, " / ".join(rates), alone, *many))
    return ("server", "requests a second, 1 / 16 / 64 connections", "median of one", "median of 64", "p99 of 64"), lines


def start_up() -> tuple[Line, list[Line]]:
    """Return the seconds of short commands, and their ratio to importing torch."""
    content = read("speed/startup-onnx.json")
    ratios = content["ratio to import torch"]
    lines: list[Line] = [
        (name, f"{seconds['now']:.1f} s", f"{ratios[name]['now']:.2f}" if name in ratios else "1")
        for name, seconds in content["seconds"].items()
    ]
    return ("command", "time", "ratio to `import torch`"), lines


if __name__ == "__main__":
    tables = {"scale": scale, "serve": serve, "sizes": sizes, "start-up": start_up}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=tables)
    print(as_markdown(*tables[parser.parse_args().table]()))
