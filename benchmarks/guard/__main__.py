"""Does newfound work on everyday logs? Six corpora in the cases that people have, with flags for what must not happen.

export NEWFOUND_DATA=...
python -m benchmarks.guard OUT.jsonl                                                   two cores: about ten minutes
python -m benchmarks.guard OUT.jsonl --effort quick,standard,best --device cuda --encoder FOLDER --processes 8
python -m benchmarks.guard --table benchmarks/guard/result.jsonl

40 % of the intents are new, and the number of new intents is estimated. Cases: `mixed` (half of the rows of known
intents have labels), `ten` (ten labels for each known intent), `three`, `none` (no labels, and only `quick`); all other
rows are the logs. `lr` is a logistic regression on the encoder's vectors that knows only the known intents and sees
only their rows, which is an easier task. `flags.py` has the limits. A run replaces OUT.jsonl, and exits with 1 if there
is a flag or a cell is missing.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from benchmarks.guard.cells import CASES, CORPORA, EFFORTS, SEEDS, Cell
from benchmarks.guard.flags import flags
from benchmarks.guard.scoring import attempt
from benchmarks.guard.table import in_words, summary
from benchmarks.harness.studies import Row, append_row, read_rows, whole_numbers


def run(cells: Sequence[Cell], *, device: str, encoder: str, processes: int, seconds: float) -> Iterator[Row | str]:
    """Yield the row of each cell, or why it failed, as soon as it is there, until time is up."""
    ends = time.monotonic() + seconds
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        outcomes = pool.imap_unordered(partial(attempt, device=device, encoder=encoder), cells)
        for done in range(len(cells)):
            try:
                yield outcomes.next(timeout=max(1.0, ends - time.monotonic()))
            except multiprocessing.TimeoutError:
                yield f"time is up after {done} cells"
                return


def main() -> None:
    """Run the cells and print the result, or print that of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", help="the result file")
    parser.add_argument("--table", type=Path, help="print the table and the flags of a result file")
    parser.add_argument("--short", action="store_true", help="with --table: only how many flags there are of each kind")
    parser.add_argument("--by", choices=("case", "corpus"), help="with --table: the default effort alone, in words")
    parser.add_argument("--data", default=os.environ.get("NEWFOUND_DATA"), help="by default $NEWFOUND_DATA")
    for name, values in {"effort": EFFORTS[:1], "cases": CASES, "corpora": CORPORA}.items():
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=values)
    parser.add_argument("--seeds", type=whole_numbers, default=SEEDS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--encoder", default="minilm", help="a short name, or the folder that holds the encoder")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3000, help="seconds")
    options = parser.parse_args()
    if options.table:
        if not (rows := read_rows(options.table)):
            parser.error(f"{options.table}: no results")
        print(in_words(rows, options.by) if options.by else summary(rows, short=options.short))
        return
    if not (options.out and options.data):
        parser.error("give a result file, and the folder of the corpora as --data or NEWFOUND_DATA")
    os.environ.setdefault("OMP_NUM_THREADS", "2")  # the processes inherit this, the data and the cache
    os.environ["NEWFOUND_DATA"] = str(options.data)
    if find_spec("platformdirs") is None:
        os.environ.setdefault("NEWFOUND_CACHE", tempfile.mkdtemp())
    keys = product(options.seeds, options.corpora, options.cases, options.effort)
    cells = [Cell(corpus, seed, case, e) for seed, corpus, case, e in keys if case != "none" or e == "quick"]
    print(f"{len(cells)} cells", flush=True)
    options.out.unlink(missing_ok=True)
    settings = {"device": options.device, "encoder": options.encoder, "processes": options.processes}
    for outcome in run(cells, **settings, seconds=options.limit):
        print(outcome, flush=True)
        if not isinstance(outcome, str):
            append_row(options.out, outcome)
    rows = read_rows(options.out)
    print(summary(rows), flush=True)
    if missing := len(cells) - len(rows):
        print(f"{missing} of {len(cells)} cells are missing")
    sys.exit(1 if missing or flags(rows) else 0)


if __name__ == "__main__":
    main()
