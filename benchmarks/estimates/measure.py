"""Estimated against true numbers of new intents, for every strategy; writes one JSON file beside this one.

python benchmarks/estimates/measure.py splits    the benchmark's splits 1-3 at ratios 20, 40 and 60
python benchmarks/estimates/measure.py fresh     class partitions that no setting was chosen on (seeds from 2000)
python benchmarks/estimates/measure.py domains   CLINC with whole domains hidden (seeds from 2000)
python benchmarks/estimates/measure.py mixed     as fresh, with 30 % known utterances in the logs
python benchmarks/estimates/measure.py summary   the mean absolute relative errors, from the files
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from newfound.data.benchmarks import facts, fresh_domain_task, fresh_task, load_benchmark
from newfound.data.task import DiscoveryTask
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import default_cache_dir, load_encoder
from newfound.estimate import estimate_n_new

KNOWN_SHARE = 0.3


def tasks(what: str) -> Iterator[tuple[DiscoveryTask, int]]:
    if what == "splits":
        for benchmark in ("GID-SD", "GID-CD", "GID-MD"):
            for ratio in (20, 40, 60):
                for split in facts("splits")["ood_classes"][benchmark][str(ratio)]:  # GID-CD 60: one was published
                    yield load_benchmark(benchmark, ratio=ratio, split=int(split)), ratio
        return
    if what == "domains":
        for hidden in (2, 4, 6):
            for seed in (2000, 2001, 2002):
                yield fresh_domain_task(hidden=hidden, seed=seed), hidden * 10
        return
    for data in ("banking77", "clinc150"):
        for ratio in (20, 40, 60):
            for seed in (2000, 2001, 2002):
                yield fresh_task(data, ood_ratio=ratio / 100, seed=seed), ratio


def summary() -> None:
    """Mean absolute relative error in percent of each strategy, and how often its interval holds the truth."""
    for path in sorted(Path(__file__).parent.glob("*-minilm.json")):
        by_group: dict[tuple[str, str], list[tuple[float, bool]]] = {}
        for row in json.loads(path.read_bytes()):
            for name, found in row.items():
                if isinstance(found, dict):
                    off = abs(found["n_new"] / row["truth"] - 1)
                    held = found["low"] <= row["truth"] <= found["high"]
                    for data in (row["task"].split("/")[0], "all"):
                        by_group.setdefault((data, name), []).append((off, held))
        for (data, name), values in sorted(by_group.items()):
            off, held = (100 * float(np.mean(column)) for column in zip(*values, strict=True))
            print(f"{path.stem:16} {data:10} {name:14} {off:5.1f} %   truth in the interval: {held:3.0f} %")


def main(what: str) -> None:
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    path = Path(__file__).parent / f"{what}-minilm.json"
    rows = json.loads(path.read_bytes()) if path.is_file() else []
    for task, ratio in tasks(what):
        if task.name in (row["task"] for row in rows):
            continue
        corpus = task.observed_train
        x = encoder.features(corpus.texts, encoder.tune("heads")).data.flat.numpy()
        y = np.array([-1 if label is None else task.known.index(label) for label in corpus.labels])
        known, logs = (y >= 0).nonzero()[0], (y < 0).nonzero()[0]
        variants = {name: {"strategy": name} for name in ("resolution", "height", "drop")}
        if what == "mixed":
            moved = np.random.default_rng(0).permutation(known)[: int(len(logs) * KNOWN_SHARE / (1 - KNOWN_SHARE))]
            moved = moved[: len(known) // 2]
            known, logs = np.setdiff1d(known, moved), np.concatenate([logs, moved])
            variants = {"mixed": {"logs_hold": "mixed"}, "taken as novel": {}}
        row = {"task": task.name, "ratio": ratio, "truth": len(task.new)}
        for name, settings in variants.items():
            started = time.perf_counter()
            found = estimate_n_new(x[known], y[known], x[logs], **settings)
            seconds = round(time.perf_counter() - started, 1)
            row[name] = {"n_new": found.n_new, "low": found.low, "high": found.high, "seconds": seconds}
        print(row["task"], row["truth"], {name: row[name]["n_new"] for name in variants}, flush=True)
        rows.append(row)
        path.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    summary() if sys.argv[1] == "summary" else main(sys.argv[1])
