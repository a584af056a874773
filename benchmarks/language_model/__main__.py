"""What a language model adds to newfound: names, answers, short labels, the number, and the model without newfound.

export NEWFOUND_DATA=...
python -m benchmarks.language_model FOLDER --url http://127.0.0.1:8080              a server that is there
python -m benchmarks.language_model FOLDER --gguf MODEL.gguf --limit 360            starts `server.py` on the GPU

FOLDER gets result.jsonl and names.jsonl, a row as soon as it is there; rows that it has are not measured again. Cells
are those of the guard, `quick` on the CPU. `--old CHECKOUT` names intents as another version does, too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks.guard.cells import Cell, read_corpus
from benchmarks.harness.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from benchmarks.language_model.ways import Job, attempt

CORPORA = ("clinc150", "banking77", "hint3-curekart", "dstc11-insurance")  # the slowest first
CASES, SEEDS = ("ten", "none"), (1901, 1902, 1903)
SERVER_OF = {"answers": 0, "labels": 1, "before": 3, "propose": 4, "same": 3, "trusted": 0, "injected": 0}  # of five
WAYS = tuple(SERVER_OF)
FIRST_PORT, STARTS_WITHIN = 8081, 180  # seconds


def start_servers(gguf: Path, count: int, folder: Path, device: str) -> tuple[list[subprocess.Popen[bytes]], list[str]]:
    """Start servers on ports of their own, and return them with their addresses."""
    script, servers = Path(__file__).with_name("server.py"), []
    for port in range(FIRST_PORT, FIRST_PORT + count):
        command = [sys.executable, str(script), str(gguf), "--port", str(port), "--device", device]
        with (folder / "servers.log").open("ab") as log:
            environment = os.environ | {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
            servers.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment))
    return servers, [f"http://127.0.0.1:{FIRST_PORT + i}" for i in range(count)]


def wait_for(urls: list[str], seconds: float) -> None:
    """Wait until all servers accept connections."""
    ends = time.monotonic() + seconds
    for url in urls:
        host, port = url.rsplit("/", 1)[-1].split(":")
        while True:
            with socket.socket() as connection:
                if not connection.connect_ex((host, int(port))):
                    break
            if time.monotonic() > ends:
                sys.exit(f"{url} did not start")
            time.sleep(1)


def run(jobs: list[Job], processes: int, ends: float) -> Iterator[list[Row] | str]:
    """Yield what comes of each job as soon as it is there, until time is up."""
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=None) as pool:
        outcomes = pool.imap_unordered(attempt, jobs)
        for done in range(len(jobs)):
            try:
                yield outcomes.next(timeout=max(1.0, ends - time.monotonic()))
            except multiprocessing.TimeoutError:
                yield f"time is up after {done} of {len(jobs)} jobs"
                return


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the results")
    parser.add_argument("--url", action="append", help="a server; of several, each answers some ways")
    parser.add_argument("--gguf", type=Path, help="start servers of this file")
    parser.add_argument("--servers", type=int, default=5)
    parser.add_argument("--device", default="cuda", help="of these servers")
    parser.add_argument("--encoder", default="minilm", help="a short name, or the folder that holds the encoder")
    parser.add_argument("--old", default="", help="a checkout of another version")
    for name, values in {"ways": WAYS, "corpora": CORPORA, "cases": CASES}.items():
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=values)
    parser.add_argument("--seeds", type=whole_numbers, default=SEEDS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=86_400, help="seconds")
    options = parser.parse_args()
    ends = time.monotonic() + options.limit
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / "result.jsonl"
    done = {tuple(row[k] for k in ("way", "corpus", "seed", "case")) for row in read_rows(results)}
    count = options.servers if options.gguf else 0
    servers, urls = start_servers(options.gguf, count, options.out, options.device) if count else ([], options.url)
    try:
        encoder = study_encoder(options.encoder)
        for corpus in options.corpora:
            train, test, outside = read_corpus(corpus)
            frozen_vectors(encoder, [text for text, _ in train + test] + outside)
        print(f"encoded, {ends - time.monotonic():.0f} seconds left", flush=True)
        wait_for(urls, STARTS_WITHIN)
        print(f"servers are there, {ends - time.monotonic():.0f} seconds left", flush=True)
        jobs: list[Job] = []
        for way, seed, case, corpus in product(options.ways, options.seeds, options.cases, options.corpora):
            if way == "injected" and (case, corpus, seed) != ("ten", "dstc11-insurance", SEEDS[0]):
                continue
            number = SERVER_OF[way] + (way == "labels" and case == "none")  # long answers do not wait with short ones
            url = urls[number % len(urls)]
            if (way, corpus, seed, case) not in done:
                jobs.append(Job(way, Cell(corpus, seed, case, "quick"), url, options.encoder, options.old))
        os.nice(10)  # the servers come first
        os.environ["OMP_NUM_THREADS"] = "1"  # the processes inherit this
        for outcome in run(jobs, options.processes, ends):
            if isinstance(outcome, str):
                print(outcome, flush=True)
                continue
            for row in outcome:
                append_row(options.out / "names.jsonl" if row["way"] == "names" else results, row)
                print({k: v for k, v in row.items() if k != "names"}, flush=True)
    finally:
        for server in servers:
            server.kill()


if __name__ == "__main__":
    main()
