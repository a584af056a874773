"""Put `newfound serve` under load with torch and with ONNX Runtime, beside a plain endpoint that calls the model once
per request.

python -m benchmarks.serve.load MODEL [--connections 1,16,64] [--seconds 8] [--soak 600]     writes load.json beside it

Single utterances over kept-alive connections from this process, which shares the machine with the server. The soak
goes on with `newfound serve` alone and watches its memory; its answers are compared with those of `newfound predict`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.harness.provenance import hardware, with_code_hash
from benchmarks.harness.studies import whole_numbers
from pydantic import BaseModel

from newfound.files import to_json, write_atomically
from newfound.model.about import Description, stream_utterances
from newfound.model.types import Prediction
from newfound.review.reviewed import load

HERE = Path(__file__).parent
FILE_NAME = "load.json"
PLAIN_PORT, NEWFOUND_PORT = 8811, 8812
MAX_TEXTS = 500
WARM_UP_SECONDS = 3
SECONDS_TO_LOAD = 8  # of the plain endpoint, which listens before it has the model
SETTLE_SECONDS = 20  # until the server has prepared its review, which takes a core
WITHOUT_ONNX = {"NEWFOUND_ONNX": "0"}
MAX_START_SECONDS, SECONDS_BETWEEN_PROBES = 60, 0.1
SOAK_STRETCHES = 10
REQUEST_HEAD = (
    "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
)


class PredictRequest(BaseModel):
    """The body of a request to the plain endpoint."""

    texts: list[str]


def serve_plainly(folder: str, port: int) -> None:
    """Serve the endpoint that one would write first."""
    import uvicorn
    from fastapi import FastAPI

    model, app = load(folder), FastAPI()

    @app.post("/v1/predict")
    def predict(body: PredictRequest) -> dict[str, Any]:
        return {"predictions": [{"intent": p.intent, "probability": p.probability} for p in model.classify(body.texts)]}

    uvicorn.run(app, port=port, log_level="error", access_log=False)


@contextmanager
def busy_process() -> Iterator[None]:
    """Keep a core busy with another process."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def server(command: Sequence[str], port: int, variables: Mapping[str, str], settle: float) -> Iterator[int]:
    """Run a server process and give its process id once it answers and has settled."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **variables})
    try:
        _wait_until_it_answers(process, port)
        time.sleep(settle)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + MAX_START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(SECONDS_BETWEEN_PROBES)
    raise SystemExit(f"{process.args!r} does not answer after {MAX_START_SECONDS} seconds")


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


@dataclass
class LoadResult:
    """What a stretch of load showed."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # seconds of each request
    errors: int = 0  # answers with another status than 200
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)  # the last prediction of each text

    def summary(self) -> dict[str, Any]:
        """Return counts, throughput and latencies as the result file has them."""
        percentiles = statistics.quantiles(self.latencies, n=100)
        return {
            "requests": len(self.latencies),
            "errors": self.errors,
            "per_second": round(len(self.latencies) / self.seconds, 1),
            "p50_ms": round(1000 * percentiles[49], 1),
            "p99_ms": round(1000 * percentiles[98], 1),
        }


async def send_load(port: int, texts: Sequence[str], connections: int, seconds: float) -> LoadResult:
    """Send requests one after another on every connection."""
    result, numbers = LoadResult(), count()
    end = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            text = texts[next(numbers) % len(texts)]
            body = json.dumps({"texts": [text]}).encode()
            started = time.perf_counter()
            writer.write(REQUEST_HEAD.format(length=len(body)).encode() + body)
            header = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(header.split("content-length: ")[1].split("\r\n")[0])
            answer = await reader.readexactly(length)
            result.latencies.append(time.perf_counter() - started)
            if " 200 " in header.split("\r\n")[0]:
                result.answers[text] = json.loads(answer)["predictions"][0]
            else:
                result.errors += 1
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    result.seconds = time.perf_counter() - started
    return result


def differences(answers: Mapping[str, dict[str, Any]], expected: Mapping[str, Prediction]) -> dict[str, Any]:
    """Compare the server's answers with the model's own."""
    other_intents = sum(answer["intent"] != expected[text].intent for text, answer in answers.items())
    largest = max(abs(answer["probability"] - expected[text].probability) for text, answer in answers.items())
    return {"differing_intents": other_intents, "largest_difference": float(f"{largest:.1e}")}


def soak(pid: int, port: int, texts: Sequence[str], connections: int, seconds: float) -> dict[str, Any]:
    """Keep a server under load in ten stretches, and record its memory after each."""
    memory, requests, errors = [memory_mb(pid)], 0, 0
    for _ in range(SOAK_STRETCHES):
        result = asyncio.run(send_load(port, texts, connections, seconds / SOAK_STRETCHES))
        requests, errors = requests + len(result.latencies), errors + result.errors
        memory.append(memory_mb(pid))
        print(f"soak: {requests:,} requests, {errors} errors, {memory[-1]:.0f} MB", flush=True)
    return {"seconds": seconds, "requests": requests, "errors": errors, "memory_mb": [round(m) for m in memory]}


def compare(model: str, connections: Sequence[int], seconds: float, soak_seconds: float) -> dict[str, Any]:
    """Put the servers under load, one after the other, and return what the result file holds."""
    utterances = stream_utterances(model, Description.read(model).intents)
    texts = [utterance.text for utterance in utterances][:MAX_TEXTS]
    expected = {prediction.text: prediction for prediction in load(model).classify(texts)}
    content: dict[str, Any] = {"hardware": hardware("cpu"), "cores": os.cpu_count(), "seconds": seconds}
    serve = [sys.executable, "-m", "newfound", "serve", model, "--quiet", "--port", str(NEWFOUND_PORT)]
    plain = [sys.executable, "-m", "benchmarks.serve.load", model, "--plain", str(PLAIN_PORT)]
    servers: dict[str, tuple[int, list[str], dict[str, str]]] = {
        "plain": (PLAIN_PORT, plain, WITHOUT_ONNX),
        "torch": (NEWFOUND_PORT, serve, WITHOUT_ONNX),
        "onnx fp32": (NEWFOUND_PORT, serve, {}),
    }
    for name, (port, command, variables) in servers.items():
        settle = SETTLE_SECONDS if name in ("torch", "onnx fp32") else SECONDS_TO_LOAD
        with server(command, port, variables, settle) as pid:
            asyncio.run(send_load(port, texts, max(connections), WARM_UP_SECONDS))
            results: dict[str, Any] = {}
            for count in connections if name != "plain" else connections[-1:]:
                result = asyncio.run(send_load(port, texts, count, seconds))
                results[f"{count} connections"] = {**result.summary(), **differences(result.answers, expected)}
                print(name, count, results[f"{count} connections"], flush=True)
            if name != "plain":
                with busy_process():
                    result = asyncio.run(send_load(port, texts, max(connections), seconds))
                results[f"{max(connections)} connections beside a busy process"] = result.summary()
                print(name, "busy", result.summary(), flush=True)
            results["memory_mb"] = round(memory_mb(pid))
            content[name] = results
            if name == "onnx fp32" and soak_seconds:
                content["soak"] = soak(pid, port, texts, max(connections), soak_seconds)
    most = f"{max(connections)} connections"
    before = content["torch"][most]["per_second"]
    content[f"ratio to torch at {most}"] = {
        name: round(content[name][most]["per_second"] / before, 2) for name in servers if name != "torch"
    }
    return content


def main() -> None:
    """Run the study, or the plain endpoint that it starts as a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("--connections", type=whole_numbers, default=[1, 16, 64])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--soak", type=float, default=0, help="seconds of further load on newfound serve")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    parser.add_argument("--plain", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        serve_plainly(options.model, options.plain)
        return
    content = compare(options.model, options.connections, options.seconds, options.soak)
    write_atomically(options.out / FILE_NAME, to_json(with_code_hash(content)))


if __name__ == "__main__":
    main()
