"""Many experiments in one process, within a time limit: for a GPU that is lent by the minute.

PYTHONPATH=src python3 benchmarks/many.py --encoder /tmp/minilm --name minilm --tune last --limit 560 \\
    --results results --pack $OUT/results.tgz main:dpl,e2e,kmeans:GID-CD,GID-MD trunk-dropout speed

An experiment may be narrowed to methods and to benchmarks. Finished cells in --results are skipped; the archive holds
what was added. No cell is begun that would end after the limit, by the mean of those before it.
"""

from __future__ import annotations

import argparse
import tarfile
import time
from pathlib import Path

from newfound.bench.cells import Cell, missing, resolved
from newfound.bench.experiments import experiment_named
from newfound.bench.running import run_missing
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import default_cache_dir, load_encoder
from newfound.training.progress import Plain


def planned(spec: str, encoder: str, tune: str, device: str) -> list[Cell]:
    name, methods, benchmarks = (*spec.split(":"), "", "")[:3]
    experiment = experiment_named(name).narrowed(
        methods=[m for m in methods.split(",") if m], benchmarks=[b for b in benchmarks.split(",") if b]
    )
    return [resolved(cell, device) for cell in experiment.cells(encoder, tune)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="+")
    parser.add_argument("--encoder", default="minilm", help="where it lies")
    parser.add_argument("--name", default="minilm", help="what the result files call it")
    parser.add_argument("--tune", default="last")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--limit", type=float, default=560.0, help="seconds")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--pack", type=Path, help="an archive of the new result files")
    options = parser.parse_args()
    started = time.monotonic()
    encoder = load_encoder(options.encoder, cache=FeatureCache(default_cache_dir()))
    planned_cells = [planned(spec, options.name, options.tune, options.device) for spec in options.experiments]
    cells = list(dict.fromkeys(cell for some in planned_cells for cell in some))
    before = set(missing(cells, options.results))
    try:
        run_missing(cells, options.results, encoder, options.device, Plain(), until=started + options.limit)
    finally:
        if options.pack is not None:
            with tarfile.open(options.pack, "w:gz") as archive:
                for cell in before - set(missing(cells, options.results)):
                    path = cell.file(options.results)
                    archive.add(path, path.relative_to(options.results))


if __name__ == "__main__":
    main()
