"""Time and memory of `newfound discover` on large logs, heads only, this machine's CPU.

python benchmarks/scale/measure.py 25000 50000 100000      writes scale.json beside this file

The logs are CLINC150's utterances in many wordings (openings and endings that people add), 60 intents of them new; 40
labelled utterances of each known intent. Every utterance is encoded anew: the cache is empty.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from newfound.bench.speed import hardware
from newfound.data.benchmarks import fresh_task

OPENINGS = ("", "hi, ", "hello there, ", "quick question: ", "please ", "sorry, ", "ok so ", "hey ")
ENDINGS = ("", " thanks", " please", "?", " asap", " - any idea", " right now", " today")


def write(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def measure(size: int, folder: Path) -> dict[str, float | int]:
    task = fresh_task("clinc150", ood_ratio=0.4, seed=1000)
    rng = np.random.default_rng(0)
    pairs = list(zip(task.train.texts, task.train.labels, strict=True))
    known = [
        (text, str(label))
        for intent in task.known
        for text, label in [pair for pair in pairs if pair[1] == intent][:40]
    ]
    wordings = [opening + text + ending for text, _ in pairs for opening, ending in product(OPENINGS, ENDINGS)]
    logs = [(wordings[i],) for i in rng.permutation(len(wordings))[:size]]
    command = [
        *(sys.executable, "-m", "newfound", "discover"),
        str(write(folder / "known.csv", ("text", "label"), known)),
        str(write(folder / "logs.csv", ("text",), logs)),
        *("--n-new", "60", "--effort", "quick", "--device", "cpu", "--out", str(folder / "model")),
    ]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NEWFOUND_CACHE": str(folder)})
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(done.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20  # of the largest child so far: sizes ascend
    return {"logs": size, "seconds": round(seconds, 1), "peak_gb": round(peak, 2)}


def main(sizes: list[int]) -> None:
    rows = []
    for size in sorted(sizes):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(size, Path(folder)))
        print(rows[-1], flush=True)
        result = {"hardware": hardware("cpu"), "runs": rows}
        (Path(__file__).parent / "scale.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
