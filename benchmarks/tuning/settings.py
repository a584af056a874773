"""Settings of the paper's methods on fresh partitions, scored on dev rows: what the benchmark's defaults rest on.

python benchmarks/tuning/settings.py run FRESH-BANKING77:1000 FRESH-CLINC150:1000 --out FILE     one JSON line per run
python benchmarks/tuning/settings.py table FILE ...                                              means by settings

Finished runs in the file are skipped.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from newfound.bench.cells import Cell, load_partition
from newfound.bench.experiments import SCORES
from newfound.bench.provenance import commit
from newfound.bench.running import fit_cell
from newfound.bench.scoring import score_predictor
from newfound.bench.studies import append_row, read_rows, study_encoder, whole_numbers
from newfound.bench.tables import as_markdown, table_of_rows

E2E_AS_RELEASED = {"lr": 0.4, "min_lr": 0.01, "epochs": 200, "overcluster": 1, "heads": 4, "temperature": 0.1}
E2E_AS_BEFORE = {"lr": 0.1, "min_lr": 0.001, "epochs": 100, "overcluster": 3}
DEEPALIGNED_AS_RELEASED = {
    "optimizer": "adamw",
    "lr": 5e-5,
    "min_lr": 0.0,
    "pretrain_lr": 5e-5,
    "batch_size": 128,
    "head": "linear",
    "patience": 20,
}
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "E2E, released": ("e2e", E2E_AS_RELEASED),
    "E2E, released, balanced start": ("e2e", {**E2E_AS_RELEASED, "start": "balanced"}),
    "E2E, 100 epochs at 0.1, 3 times over-clustering": ("e2e", E2E_AS_BEFORE),
    "E2E, 100 epochs at 0.1, balanced start": ("e2e", {**E2E_AS_BEFORE, "start": "balanced"}),
    "DPL": ("dpl", {}),
    "DPL, projection at PCA": ("dpl", {"projection_start": "pca"}),
    "DPL, random start": ("dpl", {"start": "random"}),
    "DeepAligned": ("deepaligned", {}),
    "DeepAligned, released": ("deepaligned", DEEPALIGNED_AS_RELEASED),
}


def run(options: argparse.Namespace) -> None:
    """Fit every candidate on every partition, and write its scores on dev rows."""
    encoder = study_encoder(options.encoder)
    done = {(row["candidate"], row["partition"], row["seed"]) for row in read_rows(options.out)}
    names = [name for name in CANDIDATES if not options.only or CANDIDATES[name][0] in options.only.split(",")]
    for partition in options.partitions:
        benchmark, _, split = partition.partition(":")
        task = load_partition(benchmark, split=int(split))
        memory: dict[str, Any] = {}
        for name in names:
            method, settings = CANDIDATES[name]
            for seed in whole_numbers(options.seeds):
                if (name, partition, seed) in done:
                    continue
                cell = Cell(method, benchmark, 40, int(split), seed, options.name, options.tune)
                started = time.perf_counter()
                fitted = fit_cell(cell, encoder, options.device, task, settings, memory)
                row = {
                    "candidate": name,
                    "corpus": benchmark.removeprefix("FRESH-"),
                    "partition": partition,
                    "seed": seed,
                    "encoder": options.name,
                    "tune": options.tune,
                    "seconds": round(time.perf_counter() - started, 1),
                    "commit": commit(),
                    **score_predictor(fitted.model_, task),
                }
                append_row(options.out, row)
                print(name, partition, seed, row["scores"]["strict"]["ood_acc"], row["seconds"], flush=True)


def table(options: argparse.Namespace) -> None:
    """Print means by corpus and settings."""
    rows = [row for path in options.files for row in read_rows(path)]
    rows.sort(key=lambda row: (row["corpus"], list(CANDIDATES).index(row["candidate"])))
    print(as_markdown(*table_of_rows(rows, ("corpus", "candidate"), SCORES)))


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("partitions", nargs="+", help="as FRESH-BANKING77:1000")
    running.add_argument("--seeds", default="0")
    running.add_argument("--only", default="", help="methods, separated by commas")
    running.add_argument("--tune", default="last")
    running.add_argument("--encoder", default="minilm", help="a short name, or the folder that holds it")
    running.add_argument("--name", default="minilm", help="what the rows call it")
    running.add_argument("--device", default="auto")
    running.add_argument("--out", type=Path, required=True)
    running.set_defaults(run=run)
    showing = commands.add_parser("table")
    showing.add_argument("files", nargs="+", type=Path)
    showing.set_defaults(run=table)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
