"""Measure what merging and splitting to the right number of new intents is worth, against another fit.

export NEWFOUND_DATA=...
python -m benchmarks.everyday.resize --out benchmarks/everyday/resize.jsonl
python -m benchmarks.everyday.resize --table benchmarks/everyday/resize.jsonl

A case is a corpus of `shapes.py` with 40 intents, 16 of them new, ten labels for each known intent, logs of new intents
alone, and a seed. `consensus` is fitted with half the true number of new intents, with one and a half times as many,
and with the true one. The first two models are then resized to the true number. Scores are the accuracy on the rows of
the logs, by the protocol `strict`. Cases in the file are skipped.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.everyday.shapes import Case, case_of, shapes

from newfound.algorithms.metrics import map_clusters
from newfound.bench.studies import Row, append_row, group_rows, read_rows, study_encoder, whole_numbers
from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.review.queries import ReviewView
from newfound.review.session import ReviewSession

SHAPES = ("clinc 40", "banking 40")
LABELS = 10
FACTORS = (0.5, 1.0, 1.5)


def log_accuracy(view: ReviewView, case: Case) -> float:
    """Return the accuracy on the logs: new intents are matched to true ones, and a known intent is wrong."""
    gold = dict(zip(case.texts, case.gold, strict=True))
    logs = [u for u in view.describer.utterances if not u.labelled]
    new = {name: i for i, name in enumerate(view.names) if view.reviewed.review.status(name) != "known"}
    true = {name: i for i, name in enumerate(sorted(case.new))}
    target = np.array([true[str(gold[u.text])] for u in logs])
    found = np.array([new.get(u.intent or "", -1) for u in logs])
    right = np.zeros(len(logs), dtype=bool)
    in_new = found >= 0
    right[in_new] = map_clusters(target[in_new], found[in_new]) == target[in_new]
    return round(100 * float(right.mean()), 2)


def run(case: Case, encoder: Encoder, factor: float, seed: int) -> Row:
    """Fit with a multiple of the true number of new intents, and resize to the true number."""
    rows = [i for i, label in enumerate(case.labels) if label is not None or case.gold[i] in case.new]
    true = len(case.new)
    settings = dict(Consensus.EFFORTS["quick"])
    method = Consensus(encoder=encoder, n_new=round(factor * true), logs="novel", device="cpu", seed=seed, **settings)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        method.fit([case.texts[i] for i in rows], [case.labels[i] for i in rows]).save(Path(folder) / "model")
        fitted = time.perf_counter()
        session = ReviewSession(Path(folder) / "model", encoder=encoder)
        row: Row = {"factor": factor, "true": true, "fit": log_accuracy(session.view(), case)}
        row["found"] = session.view().resizer.preview().present
        begun = time.perf_counter()
        if row["found"] != true:
            session.resize(true, author="benchmark")
        row["resized"] = log_accuracy(session.view(), case)
        row["seconds_of_fit"], row["seconds"] = round(fitted - started, 1), round(time.perf_counter() - begun, 2)
        return row


def table(rows: list[Row]) -> str:
    """Return means over seeds as a Markdown table."""
    lines = ["| corpus | fitted with | as fitted | resized | fitted with the true number |", "|---|---|---|---|---|"]
    for (shape,), own in group_rows(rows, ["shape"]).items():
        right = np.mean([row["fit"] for row in own if row["factor"] == 1.0])
        for (factor,), group in group_rows(own, ["factor"]).items():
            if factor != 1.0:
                before, after = (np.mean([row[name] for row in group]) for name in ("fit", "resized"))
                asked = f"{round(factor * group[0]['true'])} for {group[0]['true']}"
                lines.append(f"| {shape} | {asked} | {before:.1f} | {after:.1f} | {right:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Run the cases that are missing, or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--seeds", type=whole_numbers, default=[1000, 1001, 1002])
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.table)))
        return
    encoder = study_encoder()
    done = {(row["shape"], row["seed"], row["factor"]) for row in read_rows(options.out)}
    for shape in shapes():
        for seed in options.seeds if shape.name in SHAPES else ():
            for factor in FACTORS:
                if (shape.name, seed, factor) not in done:
                    row = {
                        "shape": shape.name,
                        "seed": seed,
                        **run(case_of(shape, LABELS, seed), encoder, factor, seed),
                    }
                    append_row(options.out, row)
                    print(row, flush=True)


if __name__ == "__main__":
    main()
