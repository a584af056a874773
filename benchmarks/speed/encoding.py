"""Utterances a second: torch and ONNX Runtime, at batch 1, 8 and 64, in one run.

python -m benchmarks.speed.encoding [--seconds 4] [--out FOLDER]     writes encoding.json beside it

MiniLM on utterances of the demo corpus. Every turn measures all of them one after another, so that other work on the
machine meets all alike; the median of the turns is reported. The second part repeats it beside a busy process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from newfound.threads import inference_threads, limit_threads

limit_threads()  # before torch is imported, as the command line does

from benchmarks.harness.provenance import hardware, with_code_hash  # noqa: E402

from newfound.data.demo_corpus import load_demo  # noqa: E402
from newfound.encoders.encoder import Encoder, load_encoder  # noqa: E402
from newfound.encoders.onnx.engine import vectors_of  # noqa: E402
from newfound.files import to_json, write_atomically  # noqa: E402

HERE = Path(__file__).parent
BATCHES = (1, 8, 64)
MAX_TOKENS, MIN_TOKENS = 16, 9
Encode = Callable[[Sequence[str]], object]


@contextmanager
def busy_process() -> Iterator[None]:
    """Keep a core busy with another process."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def by_torch(encoder: Encoder) -> Encode:
    """Return the function that encodes with torch."""

    def encode(texts: Sequence[str]) -> object:
        os.environ["NEWFOUND_ONNX"] = "0"
        try:
            return encoder.features(texts, encoder.tune("heads"))
        finally:
            os.environ.pop("NEWFOUND_ONNX")

    return encode


def by_onnx(encoder: Encoder) -> Encode:
    """Return the function that encodes with ONNX Runtime, as `predict` does."""
    session = encoder.session()
    assert session is not None
    return lambda texts: vectors_of(session, encoder.tokenize(texts))


def utterances_per_second(encode: Encode, texts: Sequence[str], batch: int, seconds: float) -> float:
    """Return how many utterances are encoded in a second, in batches."""
    encode(texts[:batch])
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        start = done % (len(texts) - batch + 1)
        encode(texts[start : start + batch])
        done += batch
    return done / (time.perf_counter() - started)


def table(encoders: dict[str, Encode], texts: Sequence[str], seconds: float, turns: int) -> dict[str, Any]:
    """Return the medians by encoder and batch, and their ratios to torch."""
    found: dict[str, dict[str, list[float]]] = {name: {str(b): [] for b in BATCHES} for name in encoders}
    for _ in range(turns):
        for batch in BATCHES:
            for name, encode in encoders.items():
                found[name][str(batch)].append(utterances_per_second(encode, texts, batch, seconds))
    medians = {name: {batch: round(median(v), 1) for batch, v in by.items()} for name, by in found.items()}
    ratios = {
        name: {batch: round(value / medians["torch"][batch], 2) for batch, value in by.items()}
        for name, by in medians.items()
        if name != "torch"
    }
    return {"utterances a second by batch": medians, "ratio to torch": ratios}


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    encoder = load_encoder("minilm")
    every = list(dict.fromkeys(load_demo().observed_train.texts))
    lengths = encoder.tokenize(every).data.lengths.tolist()
    texts = [text for text, n in zip(every, lengths, strict=True) if MIN_TOKENS <= n <= MAX_TOKENS]
    encoders: dict[str, Encode] = {
        "torch": by_torch(encoder),
        "onnx fp32": by_onnx(encoder),
    }
    content: dict[str, Any] = {
        "hardware": hardware("cpu"),
        "threads": inference_threads(),
        "utterances": len(texts),
        "mean tokens": round(sum(n for n in lengths if MIN_TOKENS <= n <= MAX_TOKENS) / len(texts), 1),
        "quiet": table(encoders, texts, options.seconds, options.turns),
    }
    with busy_process():
        content["beside a busy process"] = table(encoders, texts, options.seconds, options.turns)
    result = to_json(with_code_hash(content))
    write_atomically(options.out / "encoding.json", result)
    print(result.decode())


if __name__ == "__main__":
    main()
