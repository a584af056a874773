"""How long predictions take while the server works on something long, compared with the same server when it is quiet.

python -m benchmarks.serve.beside_jobs MODEL FILE... [--connections 8] [--seconds 15] [--out beside_jobs.json]

The utterances of the CSV files (columns text and label) are the logs of an update and a discovery, and the rows of an
evaluation. Each kind of work gets a server of its own with an empty cache, so that all texts are encoded. The client
shares the machine with the server: compare the ratios, which come from one server within a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.serve.load import WARM_UP_SECONDS, send_load, server

from newfound.bench.provenance import hardware, with_code_hash
from newfound.data.validation import read_corpus
from newfound.files import to_json, write_atomically

HERE = Path(__file__).parent
PORT = 8813
MAX_LOGS, MAX_ROWS, MAX_TEXT_LENGTH = 20_000, 15_000, 190  # so that a body stays below 4 MiB
MAX_PREDICTED = 500
SECONDS_UNTIL_IT_WORKS = 2.0


def bodies(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the paths of the work and the bodies that ask for it."""
    logs = list(texts[:MAX_LOGS])
    return {
        "/v1/update": {"author": "load", "logs": logs, "accept_all": True},
        "/v1/discover": {"author": "load", "logs": logs},
        "/v1/evaluate": {"labelled": [{"text": text, "label": "any"} for text in texts[:MAX_ROWS]]},
    }


def ask(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the answer, or the status of an error."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return dict(json.load(answer))
    except (urllib.error.URLError, OSError) as error:
        return {"error": str(error)}


def measure(model: str, path: str, body: dict[str, Any], connections: int, seconds: float) -> dict[str, Any]:
    """Return the latencies of a server that is quiet, and then of the same one while it works."""
    texts = list(body.get("logs") or [row["text"] for row in body["labelled"]])[-MAX_PREDICTED:]
    command = [sys.executable, "-m", "newfound", "serve", model, "--quiet", "--port", str(PORT)]
    with (
        tempfile.TemporaryDirectory() as cache,
        server(command, PORT, {"NEWFOUND_CACHE": cache}, SECONDS_UNTIL_IT_WORKS) as _,
    ):
        while not ask("/v1/review/map").get("is_final"):  # until then the server prepares its review
            time.sleep(SECONDS_UNTIL_IT_WORKS)
        asyncio.run(send_load(PORT, texts, connections, WARM_UP_SECONDS))
        quiet = asyncio.run(send_load(PORT, texts, connections, seconds)).summary()
        if path == "/v1/evaluate":
            ask(path, {"labelled": body["labelled"][:2]})  # its process starts with the first
        work = threading.Thread(target=ask, args=(path, body), daemon=True)
        work.start()
        time.sleep(SECONDS_UNTIL_IT_WORKS)
        while ask("/v1/jobs").get("step") == "starting":
            time.sleep(SECONDS_UNTIL_IT_WORKS)
        busy = asyncio.run(send_load(PORT, texts, connections, seconds)).summary()
        job = ask("/v1/jobs")
        is_working = work.is_alive() if path == "/v1/evaluate" else job.get("status") == "running"
    return {
        "quiet": quiet,
        "beside it": busy,
        "ratio of p50": round(busy["p50_ms"] / quiet["p50_ms"], 2),
        "ratio of p99": round(busy["p99_ms"] / quiet["p99_ms"], 2),
        "it still worked at the end": is_working,
        "its step at the end": job.get("step", ""),
    }


def main() -> None:
    """Measure each kind of work and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("files", nargs="+", help="CSV files with columns text and label")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--out", type=Path, default=HERE / "beside_jobs.json")
    options = parser.parse_args()
    texts = list(dict.fromkeys(t for f in options.files for t in read_corpus(f, conflicts="first")[0].texts))
    texts = [text for text in texts if len(text) <= MAX_TEXT_LENGTH]
    content: dict[str, Any] = {
        "hardware": hardware("cpu"),
        "cores": os.cpu_count(),
        "connections": options.connections,
        "seconds": options.seconds,
        "texts": len(texts),
    }
    for path, body in bodies(texts).items():
        content[path] = measure(options.model, path, body, options.connections, options.seconds)
        print(path, content[path], flush=True)
    write_atomically(options.out, to_json(with_code_hash(content)))


if __name__ == "__main__":
    main()
