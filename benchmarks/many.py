"""Run several experiments in one process within a time limit, for instance on a GPU that is lent by the minute.

PYTHONPATH=src python3 benchmarks/many.py --encoder /tmp/minilm --name minilm --tune last --limit 560 \\
    --results results --pack $OUT/results.tgz main:dpl,e2e,kmeans:GID-CD,GID-MD trunk-dropout speed

An experiment may be narrowed to methods, to benchmarks and to variants. Finished cells in --results are skipped; the
archive holds the results that were added. Several processes share the missing cells with --part. No cell is begun that
would end after the limit, by the mean time of those before it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from newfound.bench.cells import Cell, missing_cells, write_archive
from newfound.bench.experiments import experiment_named
from newfound.bench.running import resolve_cell, run_missing
from newfound.bench.studies import study_encoder
from newfound.cli.progress import Plain


def planned(specification: str, encoder: str, tune: str, device: str) -> list[Cell]:
    """Return the cells of an experiment that is written as NAME[:METHODS[:BENCHMARKS[:VARIANTS]]]."""
    name, methods, benchmarks, variants = (*specification.split(":"), "", "", "")[:4]
    experiment = experiment_named(name).narrow(
        methods=[m for m in methods.split(",") if m], benchmarks=[b for b in benchmarks.split(",") if b]
    )
    cells = [resolve_cell(cell, device) for cell in experiment.cells(encoder, tune)]
    return [cell for cell in cells if not variants or cell.variant in variants.split(",")]


def main() -> None:
    """Run the missing cells of the experiments on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="+")
    parser.add_argument("--encoder", default="minilm", help="a short name, or the folder that holds it")
    parser.add_argument("--name", default="minilm", help="what the result files call the encoder")
    parser.add_argument("--tune", default="last")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--limit", type=float, default=560.0, help="seconds")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--part", default="0/1", help="i/n: every n-th of the missing cells from the i-th on")
    parser.add_argument("--pack", type=Path, help="an archive of the new result files")
    options = parser.parse_args()
    started = time.monotonic()
    encoder = study_encoder(options.encoder)
    by_experiment = [planned(spec, options.name, options.tune, options.device) for spec in options.experiments]
    cells = list(dict.fromkeys(cell for experiment in by_experiment for cell in experiment))
    part, parts = map(int, options.part.split("/"))
    to_run = missing_cells(cells, options.results)[part::parts]
    try:
        run_missing(to_run, options.results, encoder, options.device, Plain(), until=started + options.limit)
    finally:
        if options.pack is not None:
            left = set(missing_cells(to_run, options.results))
            write_archive([cell for cell in to_run if cell not in left], options.results, options.pack)


if __name__ == "__main__":
    main()
