"""Measure time and memory of `newfound discover` on large logs, with a frozen encoder on this machine's CPU.

python benchmarks/scale/measure.py 25000 50000 100000      writes scale.json beside this file

The logs are CLINC150's utterances in many wordings (openings and endings that people add), 60 intents of them new; 40
labelled utterances of each known intent. Every utterance is encoded anew: the cache is empty.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from newfound.bench.cells import load_partition
from newfound.bench.speed import hardware
from newfound.bench.studies import Row
from newfound.data.task import DiscoveryTask
from newfound.files import to_json, write_atomically

HERE = Path(__file__).parent
FILE_NAME = "scale.json"
OPENINGS = ("", "hi, ", "hello there, ", "quick question: ", "please ", "sorry, ", "ok so ", "hey ")
ENDINGS = ("", " thanks", " please", "?", " asap", " - any idea", " right now", " today")
LABELLED_PER_INTENT = 40
KIB_PER_GIB = 2**20


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a CSV file and return its path as an argument of a command."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def labelled_rows(task: DiscoveryTask) -> list[tuple[str, str]]:
    """Return text and label of the first utterances of every known intent."""
    texts: dict[str, list[str]] = {intent: [] for intent in task.known}
    for text, label in zip(task.train.texts, task.train.labels, strict=True):
        if label in texts:
            texts[label].append(text)
    return [(text, intent) for intent in task.known for text in texts[intent][:LABELLED_PER_INTENT]]


def log_rows(task: DiscoveryTask, size: int) -> list[tuple[str]]:
    """Return that many utterances in random wordings, of known and of new intents."""
    wordings = [opening + text + ending for text in task.train.texts for opening, ending in product(OPENINGS, ENDINGS)]
    return [(wordings[i],) for i in np.random.default_rng(0).permutation(len(wordings))[:size]]


def measure(size: int, folder: Path) -> Row:
    """Run `newfound discover` on logs of a size in a process of its own."""
    task = load_partition("FRESH-CLINC150", ratio=40, split=1000)
    command = [
        *(sys.executable, "-m", "newfound", "discover"),
        write_csv(folder / "known.csv", ("text", "label"), labelled_rows(task)),
        write_csv(folder / "logs.csv", ("text",), log_rows(task, size)),
        *("--n-new", str(len(task.new)), "--logs", "mixed", "--effort", "quick", "--device", "cpu"),
        *("--out", str(folder / "model")),
    ]
    started = time.perf_counter()
    process = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NEWFOUND_CACHE": str(folder)})
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(process.stderr)
    # The peak is that of the largest child so far, so sizes must ascend.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / KIB_PER_GIB
    return {"logs": size, "seconds": round(seconds, 1), "peak_gb": round(peak, 2)}


def main() -> None:
    """Measure all sizes, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", type=int, help="numbers of utterances in the logs")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    rows: list[Row] = []
    for size in sorted(options.sizes):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(size, Path(folder)))
        print(rows[-1], flush=True)
        write_atomically(options.out / FILE_NAME, to_json({"hardware": hardware("cpu"), "runs": rows}))


if __name__ == "__main__":
    main()
