"""Compare estimated with true numbers of intents on shapes of eight corpora: without labels, with few and with many.

python -m benchmarks.estimates.measure OUT.jsonl --data DIR --encoder DIR --processes 14    (--table prints the errors)

A shape is a corpus, half of its intents, or some intents of BANKING77 or CLINC150 with so many rows each. Without
labels all intents are counted. Otherwise 40 % of the intents are new, and three, ten or half of the rows of each known
one are labelled; its other rows are in the logs. The encoder is frozen. Shapes that are in the file are skipped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from benchmarks.everyday.shapes import Labels, Shape, case_of, rows_of_file
from benchmarks.harness.datasets import read_part
from benchmarks.harness.studies import Row, append_row, frozen_vectors, read_rows
from benchmarks.harness.tables import as_markdown

from newfound.algorithms.estimation import estimate_n_new
from newfound.encoders.encoder import load_encoder
from newfound.training.seeding import derive

LABELS: dict[Labels, str] = {0: "none", 3: "3", 10: "10", "half": "half of its utterances"}
OTHER_CORPORA = ("dstc11-banking", "dstc11-insurance", "hint3-curekart", "hint3-sofmattress", "snips", "xsid")
N_INTENTS, MEAN_SIZES, ZIPF_EXPONENTS, SEEDS = (8, 16, 32, 64, 128), (12, 30, 80, 200), (0.0, 0.8), (0, 1)
MIN_SIZE, MAX_ROWS, MIN_SHARE_DRAWN = 4, 6_000, 0.7  # shapes whose intents are too small for their sizes are left out


def shapes() -> Iterator[Shape]:
    """Yield all shapes, the same every time."""
    for data, part in product(("banking77", "clinc150"), ("train", "test")):
        corpus = read_part(data, part)
        rows = list(zip(corpus.texts, corpus.labels, strict=True))
        yield Shape.of(f"{data} {part}", rows)
        for k, size, exponent, seed in product(N_INTENTS, MEAN_SIZES, ZIPF_EXPONENTS, SEEDS):
            name = f"{data} {part}, {k} x {size}, exponent {exponent:g}, {seed}"
            share = np.arange(1, k + 1) ** -exponent
            sizes = np.maximum(MIN_SIZE, size * k * share / share.sum()).astype(int).tolist()
            shape = Shape.of(name, draw(rows, sizes, name))
            if MIN_SHARE_DRAWN * sum(sizes) <= len(shape.texts) <= MAX_ROWS and len(shape.intents) == k:
                yield shape
    for data in OTHER_CORPORA:
        rows = [row for row in rows_of_file(data, language="en" if data == "xsid" else None) if row[1]]
        yield Shape.of(data, rows)
        for name in (f"{data}, half, {seed}" for seed in range(4)):
            yield Shape.of(name, draw(rows, [len(rows)] * (len({intent for _, intent in rows}) // 2), name))


def draw(rows: Sequence[tuple[str, str | None]], sizes: Sequence[int], name: str) -> list[tuple[str, str | None]]:
    """Draw an intent for each size, and of each intent at most so many rows; the name of the shape is the seed."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    drawn = []
    for intent, size in zip(rng.permutation(sorted({str(intent) for _, intent in rows})), sizes, strict=False):
        drawn += [rows[i] for i in rng.permutation([i for i, row in enumerate(rows) if row[1] == intent])[:size]]
    return drawn


def measure(job: tuple[Shape, npt.NDArray[np.float32]]) -> Row:
    """Return estimated and true numbers of new intents of a shape with unit vectors [n, d]."""
    shape, x = job[0], torch.from_numpy(job[1])
    row: Row = {"shape": shape.name, "rows": len(x)}
    for labels in LABELS:
        case = case_of(shape, labels, 0) if labels else case_of(shape, 0, 0, new_share=1.0)
        known = sorted({label for label in case.labels if label is not None})
        y = torch.tensor([-1 if label is None else known.index(label) for label in case.labels])
        found = estimate_n_new(x, y, partial(derive, 0, "number"))  # without labels, this is `log_count`
        row[str(labels)] = {"true": len(case.new), "n_new": found.n_new, "low": found.low, "high": found.high}
    return row


def run(options: argparse.Namespace) -> None:
    """Measure the shapes that are not in the file."""
    finished = {row["shape"] for row in read_rows(options.out)}
    wanted = [shape for shape in shapes() if shape.name not in finished][: options.limit]
    number = {text: i for i, text in enumerate(dict.fromkeys(text for shape in wanted for text in shape.texts))}
    vectors = F.normalize(frozen_vectors(load_encoder(options.encoder), list(number)).float(), dim=-1).numpy()
    jobs = ((shape, vectors[[number[text] for text in shape.texts]]) for shape in wanted)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap_unordered(measure, jobs):
            append_row(options.out, row)
            print(row, flush=True)


def table(rows: list[Row]) -> str:
    """Return the errors by the number of labels as a Markdown table."""
    lines = []
    for labels, words in LABELS.items():
        own = [row[str(labels)] for row in rows]
        off = np.abs(np.log([max(r["n_new"], 0.5) / r["true"] for r in own]))
        near, held = np.mean(off <= np.log(1.5)), np.mean([r["low"] <= r["true"] <= r["high"] for r in own])
        lines.append((words, f"{np.exp(off.mean()):.2f}", f"{100 * near:.0f} %", f"{100 * held:.0f} %"))
    return as_markdown(("labels for each known intent", "typical factor", "within 1.5", "interval held truth"), lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the result file")
    parser.add_argument("--data", default=os.environ.get("NEWFOUND_DATA", "."), help="the folder of the corpora")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=int, help="at most so many shapes")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.out)))
    else:
        os.environ |= {"NEWFOUND_DATA": options.data, "OMP_NUM_THREADS": "1"}  # the latter in new processes
        run(options)
