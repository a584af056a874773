"""`newfound serve` under load, beside a plain FastAPI endpoint that calls the same model once per request.

python benchmarks/serve/load.py MODEL [--connections 64] [--seconds 20] [--soak 600]     writes load.json beside it

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
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from newfound.bench.speed import hardware
from newfound.model import read_utterances
from newfound.review.reviewed import open_model

HEAD = (
    "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
)


class Texts(BaseModel):
    texts: list[str]


def plain(folder: str, port: int) -> None:
    """The endpoint one would write first."""
    import uvicorn
    from fastapi import FastAPI

    model, app = open_model(folder), FastAPI()

    @app.post("/v1/predict")
    def predict(body: Texts) -> dict[str, Any]:
        return {"predictions": [{"intent": p.intent, "probability": p.probability} for p in model.classify(body.texts)]}

    uvicorn.run(app, port=port, log_level="error", access_log=False)


@contextmanager
def server(command: list[str], port: int) -> Iterator[int]:
    """A server process; gives its number once it answers."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise SystemExit(f"{command} ended")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        time.sleep(3)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def load(port: int, texts: list[str], connections: int, seconds: float) -> dict[str, Any]:
    """Requests one after another on every connection."""
    times: list[float] = []
    answers: dict[str, Any] = {}
    errors, number = 0, count()
    end = time.perf_counter() + seconds

    async def client() -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            text = texts[next(number) % len(texts)]
            body = json.dumps({"texts": [text]}).encode()
            head = HEAD.format(length=len(body))
            started = time.perf_counter()
            writer.write(head.encode() + body)
            header = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(header.split("content-length: ")[1].split("\r\n")[0])
            answer = await reader.readexactly(length)
            times.append(time.perf_counter() - started)
            if " 200 " in header.split("\r\n")[0]:
                answers[text] = json.loads(answer)["predictions"][0]
            else:
                errors += 1
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    spent = time.perf_counter() - began
    cuts = statistics.quantiles(times, n=100)
    return {
        "requests": len(times),
        "errors": errors,
        "per_second": round(len(times) / spent, 1),
        "p50_ms": round(1000 * cuts[49], 1),
        "p99_ms": round(1000 * cuts[98], 1),
        "answers": answers,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--soak", type=float, default=0)
    parser.add_argument("--plain", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        plain(options.model, options.plain)
        return
    texts = [u.text for u in read_utterances(options.model, 10**6)][:500]
    expected = {p.text: p for p in open_model(options.model).classify(texts)}
    result: dict[str, Any] = {"connections": options.connections, "hardware": hardware("cpu"), "cores": os.cpu_count()}
    commands = {
        "plain": [sys.executable, __file__, options.model, "--plain", "8811"],
        "newfound": [sys.executable, "-m", "newfound", "serve", options.model, "--port", "8812", "--quiet"],
    }
    for (name, command), port in zip(commands.items(), (8811, 8812), strict=True):
        with server(command, port) as pid:
            asyncio.run(load(port, texts, options.connections, 5))  # warm
            found = asyncio.run(load(port, texts, options.connections, options.seconds))
            answers = found.pop("answers")
            wrong = [t for t, a in answers.items() if a["intent"] != expected[t].intent]
            furthest = max(abs(a["probability"] - expected[t].probability) for t, a in answers.items())
            result[name] = {**found, "differing_intents": len(wrong), "largest_difference": float(f"{furthest:.1e}")}
            print(name, result[name], flush=True)
            if name == "newfound" and options.soak:
                result["soak"] = soak(pid, port, texts, options.connections, options.soak)
    result["ratio"] = round(result["newfound"]["per_second"] / result["plain"]["per_second"], 2)
    print(f"{result['ratio']} times the plain endpoint")
    (Path(__file__).parent / "load.json").write_text(json.dumps(result, indent=2) + "\n")


def soak(pid: int, port: int, texts: list[str], connections: int, seconds: float) -> dict[str, Any]:
    """Ten stretches; memory after each."""
    memory, requests, errors = [memory_mb(pid)], 0, 0
    for _ in range(10):
        found = asyncio.run(load(port, texts, connections, seconds / 10))
        requests, errors = requests + found["requests"], errors + found["errors"]
        memory.append(memory_mb(pid))
        print(f"soak: {requests:,} requests, {errors} errors, {memory[-1]:.0f} MB", flush=True)
    return {"seconds": seconds, "requests": requests, "errors": errors, "memory_mb": [round(m) for m in memory]}


if __name__ == "__main__":
    main()
