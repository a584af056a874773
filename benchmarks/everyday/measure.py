"""Measure discovery on everyday logs: known intents among them, few labels or many, the number given or estimated.

export NEWFOUND_DATA=...
python -m benchmarks.everyday.measure --out benchmarks/everyday/quick.jsonl
python -m benchmarks.everyday.measure --out best.jsonl --effort best --shapes "banking 77;snips" --labels 10

A case is a corpus of `shapes.py`, a number of labels for each known intent, whether the number of new intents is given,
and a seed. Every case fits `consensus` on all rows and is scored on the rows of its logs, by the protocol `strict`;
rows of no intent count for nothing but the share of them that is put into known intents. Cases in the file are skipped.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from benchmarks.everyday.shapes import Case, Labels, case_of, shapes
from benchmarks.harness.studies import Row, append_row, read_rows, study_encoder

from newfound.algorithms.metrics import calibration_error, map_clusters
from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.model.head import ids_of

KEY = ("shape", "labels", "number", "seed", "effort")


def fitted(
    case: Case, encoder: Encoder, n_new: int | Literal["auto"], effort: str, seed: int, device: str
) -> Consensus:
    """Return the fitted method."""
    settings = Consensus.EFFORTS[effort]
    method = Consensus(encoder=encoder, n_new=n_new, logs="mixed", device=device, seed=seed, **settings)
    return method.fit(case.texts, case.labels)


def scores(case: Case, probability: npt.NDArray[np.float32]) -> Row:
    """Return the strict scores of the rows of the logs, and how the estimates compare with the truth.

    A row with an intent for which none is predicted counts as wrong.

    Args:
        case: The case.
        probability: The predicted probabilities of the rows of its logs, [rows, intents], known intents first.
    """
    known = sorted({label for label in case.labels if label is not None})
    number = {name: i for i, name in enumerate([*known, *sorted(case.new)])}
    gold = np.array([number.get(case.gold[i] or "", -1) for i in case.logs])
    found, certainty = ids_of(probability), probability.max(1)
    is_known, is_new, outside = (gold >= 0) & (gold < len(known)), gold >= len(known), gold < 0
    in_new = is_new & (found >= len(known))
    mapped = found.copy()
    mapped[found >= len(known)] = -1
    mapped[in_new] = map_clusters(gold[in_new], found[in_new])
    right = (mapped == gold) & ~outside
    as_known, as_new = (found >= 0) & (found < len(known)), found >= len(known)
    row = {
        "all_acc": 100 * right[~outside].mean(),
        "ind_acc": 100 * right[is_known].mean() if is_known.any() else math.nan,
        "ood_acc": 100 * right[is_new].mean(),
        "known_precision": 100 * (right & as_known).sum() / max(1, as_known.sum()),
        "known_recall": 100 * (right & is_known).sum() / max(1, is_known.sum()),
        "certainty_new": 100 * certainty[as_new].mean() if as_new.any() else math.nan,
        "right_new": 100 * right[as_new & ~outside].mean() if (as_new & ~outside).any() else math.nan,
        "ece": calibration_error(certainty[~outside], right[~outside]),
    }
    if outside.any():
        row["outside_as_known"] = 100 * as_known[outside].mean()
    return {name: None if math.isnan(value) else round(float(value), 2) for name, value in row.items()}


def run(case: Case, encoder: Encoder, labels: Labels, number: str, effort: str, seed: int, device: str) -> Row:
    """Return one row of results."""
    started = time.perf_counter()
    method = fitted(case, encoder, len(case.new) if number == "given" else "auto", effort, seed, device)
    row: Row = {"shape": case.shape, "labels": labels, "number": number, "seed": seed, "effort": effort}
    row |= {"true": len(case.new), "found": sum(not intent.known for intent in method.intents)}
    if method.estimate_ is not None:
        row |= {"low": method.estimate_.low, "high": method.estimate_.high}
    row |= {"strategy": method.model_.provenance.get("choices", {}).get("strategy")}
    probability = method.model_.predict_proba([case.texts[i] for i in case.logs])
    return row | scores(case, probability) | {"seconds": round(time.perf_counter() - started, 1)}


def planned(options: argparse.Namespace) -> Iterator[tuple[Row, Case]]:
    """Yield every case that is asked for."""
    for shape in shapes():
        if options.shapes and shape.name not in options.shapes.split(";"):
            continue
        for labels, number, seed in product(options.labels.split(","), options.number.split(","), options.seeds):
            count: Labels = labels if labels == "half" else int(labels)
            key: Row = {"shape": shape.name, "labels": count, "number": number, "seed": seed, "effort": options.effort}
            if not count:
                yield key, case_of(shape, 0, seed, new_share=1.0)
            else:
                yield key, case_of(shape, count, seed)


def main() -> None:
    """Run the cases that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--shapes", default="", help="names with a semicolon between them; all by default")
    parser.add_argument("--labels", default="half,10,5")
    parser.add_argument("--number", default="given,auto")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1000, 1001, 1002])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th case from the i-th on")
    parser.add_argument("--limit", type=float, default=math.inf, help="begin no case after so many seconds")
    options = parser.parse_args()
    began, encoder = time.monotonic(), study_encoder(options.encoder)
    part, parts = map(int, options.part.split("/"))
    done = {tuple(row[name] for name in KEY) for row in read_rows(options.out)}
    for key, case in list(planned(options))[part::parts]:
        if tuple(key[name] for name in KEY) in done or time.monotonic() - began > options.limit:
            continue
        settings = (key["labels"], key["number"], key["effort"], key["seed"], options.device)
        row = run(case, encoder, *settings)
        append_row(options.out, row)
        print(row, flush=True)


if __name__ == "__main__":
    main()
