"""The recipe on class partitions that nobody published, heads only: where its settings were chosen.

python benchmarks/recipe/fresh.py NAME METHOD [SETTING=VALUE ...] [--condition imbalance=10] [--auto] [--seeds 0,1]

Appends to NAME.jsonl beside this file: one line per partition and seed.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from pathlib import Path

from newfound.bench.cells import scored
from newfound.data.benchmarks import fresh_domain_task, fresh_task, out_of_scope
from newfound.data.conditions import Condition, under
from newfound.data.task import DiscoveryTask
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import default_cache_dir, load_encoder
from newfound.methods import method_named


def tasks(seeds: list[int]) -> list[DiscoveryTask]:
    found = []
    for seed in seeds:
        found.append(fresh_task("banking77", ood_ratio=0.4, seed=seed))
        found.append(fresh_task("clinc150", ood_ratio=0.4, seed=seed))
        found.append(fresh_domain_task(hidden=4, seed=seed))
    return found


def pair(text: str) -> tuple[str, object]:
    name, value = text.split("=", 1)
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("method")
    parser.add_argument("settings", nargs="*", type=pair)
    parser.add_argument("--condition", type=pair)
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--partitions", default="1000,1001")
    options = parser.parse_args()
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    path = Path(__file__).parent / f"{options.name}.jsonl"
    for task in tasks([int(p) for p in options.partitions.split(",")]):
        for seed in map(int, options.seeds.split(",")):
            made = task
            if options.condition:
                condition = Condition(**dict([options.condition]))
                made = under(task, condition, out_of_scope=out_of_scope() if condition.noise else (), seed=seed)
            settings = {"n_new": "auto" if options.auto else len(task.new), **dict(options.settings)}
            method = method_named(options.method)(encoder=encoder, tune="heads", device="cpu", seed=seed, **settings)
            seen = made.observed_train
            started = time.perf_counter()
            method.fit(seen.texts, seen.labels)
            seconds = round(time.perf_counter() - started, 1)
            row = {
                "task": task.name,
                "method": options.method,
                "settings": {**settings, "seed": seed},
                "condition": dict([options.condition]) if options.condition else {},
                **scored(method, made),
                "n_new": method.n_new_,
                "seconds": seconds,
            }
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            strict = row["scores"]["strict"]
            extra = {**row.get("logs", {}), **row.get("out_of_scope", {})}
            print(
                f"{task.name:28} {options.method} {settings} IND {strict['ind_acc']} OOD {strict['ood_acc']} "
                f"F1 {strict['ood_f1']} {extra} {seconds} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
