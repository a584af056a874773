"""Measure `newfound discover` on logs of up to a million utterances, stage by stage, and what it finds.

python -m benchmarks.scale.measure 10000 30000 100000 300000 1000000      writes scale-cpu.json beside this file
python -m benchmarks.scale.measure 1000000 --device cuda

The logs are CLINC150's utterances in many wordings (openings and endings that people add), 60 intents of them new; 40
labelled utterances of each known intent. Every size runs in a process of its own with an empty cache. Stages: `read`
the file into a sample of at most `--max-logs` distinct utterances, `encode` and `discover` on that sample, and `save`.
Each stage has its seconds, its processor seconds, which other work on the machine hardly changes, and the largest
memory up to its end. Scores are those of CLINC150's dev rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.harness.partitions import load_partition
from benchmarks.harness.provenance import hardware, with_code_hash
from benchmarks.harness.scoring import score_ids
from benchmarks.harness.studies import Row

from newfound.data.task import DiscoveryTask
from newfound.defaults import MAX_LOGS
from newfound.files import to_json, write_atomically
from newfound.training.progress import LoggingReporter, Task
from newfound.workflows.discovery import discover

HERE = Path(__file__).parent
OPENINGS = ("", "hi, ", "hello there, ", "quick question: ", "please ", "sorry, ", "ok so ", "hey ", "hmm, ", "so ")
ENDINGS = ("", " thanks", " please", "?", " asap", " - any idea", " right now", " today", " if possible", " then")
LABELLED_PER_INTENT = 40
ENCODING = "encoding"  # what discovery calls the stage
KIB_PER_GIB = 2**20


def write_csv(path: Path, header: Sequence[str], rows: Iterator[tuple[str, ...]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(header)
        csv.writer(file).writerows(rows)


def labelled_rows(task: DiscoveryTask) -> list[tuple[str, str]]:
    """Return text and label of the first utterances of every known intent."""
    texts: dict[str, list[str]] = {intent: [] for intent in task.known}
    for text, label in zip(task.train.texts, task.train.labels, strict=True):
        if label in texts:
            texts[label].append(text)
    return [(text, intent) for intent in task.known for text in texts[intent][:LABELLED_PER_INTENT]]


def log_rows(task: DiscoveryTask, size: int) -> Iterator[tuple[str]]:
    """Yield that many utterances in random wordings, of known and of new intents."""
    wordings = list(product(OPENINGS, ENDINGS))
    chosen = np.random.default_rng(0).permutation(len(task.train.texts) * len(wordings))[:size]
    if len(chosen) < size:
        raise SystemExit(f"there are only {len(chosen):,} wordings")
    for number in chosen.tolist():
        opening, ending = wordings[number % len(wordings)]
        yield (opening + task.train.texts[number // len(wordings)] + ending,)


def peak() -> float:
    """Return the largest memory of this process so far, in GiB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_GIB, 2)


def processor_seconds() -> float:
    """Return the processor time of this process so far, which other work on the machine hardly changes."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round(usage.ru_utime + usage.ru_stime, 1)


class StageClock:
    """Takes the time and the memory at the end of each stage."""

    def __init__(self) -> None:
        """Start."""
        self._last, self._used = time.perf_counter(), processor_seconds()
        self.seconds: Row = {}
        self.processor: Row = {}
        self.memory: Row = {}

    def end(self, stage: str) -> None:
        """Note what a stage took."""
        now, used = time.perf_counter(), processor_seconds()
        self.seconds[stage], self.memory[stage] = round(now - self._last, 1), peak()
        self.processor[stage] = round(used - self._used, 1)
        print(f"{stage}: {self.seconds[stage]} s, {self.processor[stage]} s of processors", file=sys.stderr, flush=True)
        self._last, self._used = now, used


class _Watching(LoggingReporter):
    """Knows the end of reading and of encoding by what is reported."""

    def __init__(self, clock: StageClock) -> None:
        self._clock = clock

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        if "read" not in self._clock.seconds:
            self._clock.end("read")
        with super().task(title, total) as task:
            yield task
        if title == ENCODING and "encode" not in self._clock.seconds:
            self._clock.end("encode")


def run(folder: Path, options: argparse.Namespace) -> Row:
    """Discover and save in this process, and return times, memory and scores."""
    task = load_partition("FRESH-CLINC150", ratio=40, split=1000)
    clock = StageClock()
    result = discover(
        str(folder / "known.csv"),
        str(folder / "logs.csv"),
        n_new=len(task.new),
        logs_hold="mixed",
        effort="quick",
        encoder=options.encoder,
        device=options.device,
        max_logs=options.max_logs,
        reporter=_Watching(clock),
    )
    clock.end("discover")
    result.model.save(folder / "model")
    clock.end("save")
    row: Row = {"learned_from": len(result.logs), "seconds": round(sum(clock.seconds.values()), 1)}
    scores = score_ids(task, result.model.predict_ids(task.test.texts))["scores"]["strict"]
    row |= {name: scores[name] for name in ("ind_acc", "ood_acc", "all_acc")}
    return row | {"stage_seconds": clock.seconds, "processor_seconds": clock.processor, "peak_gb": clock.memory}


def measure(size: int, folder: Path, arguments: Sequence[str]) -> Row:
    """Write logs of a size, and run in a process of its own with an empty cache."""
    task = load_partition("FRESH-CLINC150", ratio=40, split=1000)
    write_csv(folder / "known.csv", ("text", "label"), iter(labelled_rows(task)))
    write_csv(folder / "logs.csv", ("text",), log_rows(task, size))
    environment = {**os.environ, "NEWFOUND_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "benchmarks.scale.measure", "--run-in", str(folder), *arguments]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if process.returncode:
        raise SystemExit(process.returncode)
    return {"logs": size, **json.loads(process.stdout.splitlines()[-1])}


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, help="numbers of utterances in the logs")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--encoder", default="minilm", help="a short name, or the folder that holds the encoder")
    parser.add_argument("--max-logs", type=int, default=MAX_LOGS)
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    parser.add_argument("--run-in", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_in is not None:
        print(json.dumps(run(options.run_in, options)))
        return
    arguments = ["--device", options.device, "--encoder", options.encoder, "--max-logs", str(options.max_logs)]
    rows: list[Row] = []
    for size in sorted(options.sizes):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(with_code_hash(measure(size, Path(folder), arguments)))
        print(rows[-1], flush=True)
        file = options.out / f"scale-{options.device}.json"
        write_atomically(file, to_json({"hardware": hardware(options.device), "runs": rows}))


if __name__ == "__main__":
    main()
