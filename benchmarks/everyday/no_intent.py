"""Measure logs that hold utterances of no intent: what `--no-intent auto` gains, and what it costs elsewhere.

export NEWFOUND_DATA=...
python -m benchmarks.everyday.no_intent --out benchmarks/everyday/no_intent.jsonl
python -m benchmarks.everyday.no_intent --out benchmarks/everyday/no_intent.jsonl --settings bertopic
python -m benchmarks.everyday.no_intent --table benchmarks/everyday/no_intent.jsonl

A case is a corpus of `shapes.shapes_with_out_of_scope`, with its rows of no intent or without them, a number of labels
for each known intent (0: all intents are new), and a seed. `consensus` is fitted with effort quick and the true number
of new intents, and scored on the rows of its logs. A row with an intent for which none is predicted counts as wrong.
`bertopic` clusters the same vectors with BERTopic's defaults (UMAP and HDBSCAN; the labels guide UMAP), then merges
topics to the same number of intents; what HDBSCAN leaves out belongs to no topic. Cases in the file are skipped.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.everyday.measure import scores
from benchmarks.everyday.shapes import Case, Labels, case_of, shapes_with_out_of_scope
from benchmarks.harness.baselines import fit_bertopic
from benchmarks.harness.studies import (
    Row,
    append_row,
    frozen_vectors,
    group_rows,
    read_rows,
    study_encoder,
    whole_numbers,
)
from benchmarks.harness.tables import as_markdown

from newfound.algorithms.metrics import Ids
from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.model.head import ids_of

KEY = ("shape", "out_of_scope", "labels", "seed", "setting")
LABELS: tuple[Labels, ...] = ("half", 10, 0)


def run(case: Case, encoder: Encoder, setting: str, seed: int) -> Row:
    """Return the scores of one case."""
    if setting == "bertopic":
        return pile_scores(case, bertopic_topics(case, encoder, seed), n_known=0)
    settings: dict[str, Any] = {"no_intent": setting, **Consensus.EFFORTS["quick"]}
    method = Consensus(encoder=encoder, n_new=len(case.new), device="cpu", seed=seed, **settings)
    model = method.fit(case.texts, case.labels).model_
    texts = [case.texts[i] for i in case.logs]
    probability = model.head.probabilities(texts, frozen_vectors(encoder, texts).numpy())
    strict = scores(case, probability)
    names = ["all_acc", "ood_acc"] + (["known_precision", "known_recall"] if any(case.labels) else [])
    row: Row = {name: strict[name] for name in names}
    return row | pile_scores(case, ids_of(probability), n_known=model.n_known)


def pile_scores(case: Case, found: Ids, *, n_known: int) -> Row:
    """Return how well rows of no intent are told from the others, and how pure the intents are, in percent.

    `found` has the intents of the rows of the logs, known ones first, and -1 for no intent.
    """
    gold = [case.gold[i] for i in case.logs]
    outside, pile = np.array([name is None for name in gold]), found < 0
    both = int((outside & pile).sum())
    row = {
        "pile": 100 * pile.mean(),
        "f1": 200 * both / (outside.sum() + pile.sum()) if outside.any() else math.nan,
        "precision": 100 * both / pile.sum() if outside.any() and pile.any() else math.nan,
        "recall": 100 * both / outside.sum() if outside.any() else math.nan,
        "lost": 100 * (pile & ~outside).sum() / (~outside).sum(),
        "purity": purity(gold, found, found >= 0),
        "purity_new": purity(gold, found, found >= n_known),
    }
    return {name: round(float(value), 2) for name, value in row.items() if not math.isnan(value)}


def purity(gold: list[str | None], found: Ids, chosen: npt.NDArray[np.bool_]) -> float:
    """Return the share of the chosen rows that are of the most frequent true intent of the intent they were given."""
    names = [sorted({name for name in gold if name is not None}).index(name) if name else -1 for name in gold]
    pairs = np.stack([found, np.array(names)], 1)[chosen]
    largest = 0
    for intent in np.unique(pairs[:, 0]):
        own = pairs[(pairs[:, 0] == intent) & (pairs[:, 1] >= 0), 1]
        largest += int(np.bincount(own).max()) if len(own) else 0
    return 100 * largest / len(pairs) if len(pairs) else math.nan


def bertopic_topics(case: Case, encoder: Encoder, seed: int) -> Ids:
    """Return BERTopic's topics of the rows of the logs; -1 for what HDBSCAN leaves out."""
    known = {label for label in case.labels if label is not None}
    vectors = frozen_vectors(encoder, case.texts).numpy()
    n_topics = len(known) + len(case.new) + 1  # one of them is the outliers
    _, topics = fit_bertopic(case.texts, vectors, case.labels, seed=seed, nr_topics=n_topics)
    return topics[case.logs]


def planned(seeds: list[int], settings: list[str]) -> Iterator[tuple[Row, Case]]:
    """Yield every case."""
    corpora = shapes_with_out_of_scope()
    for seed, shape, outside, labels, setting in product(seeds, corpora, (True, False), LABELS, settings):
        key = dict(zip(KEY, (shape.name, outside, labels, seed, setting), strict=True))
        share = {} if labels else {"new_share": 1.0}
        yield key, case_of(shape if outside else shape.in_scope(), labels, seed, **share)


def table(rows: list[Row]) -> str:
    """Return means over seeds as two Markdown tables: logs with rows of no intent, and without."""
    return "\n".join([*_table_with(rows), "", *_table_without(rows)])


def short_table(rows: list[Row]) -> str:
    """Return means over seeds, of logs with rows of no intent."""
    header = ("corpus", "labels", "precision of no intent", "recall", "purity of new intents", "OOD ACC", "ALL ACC")
    lines = []
    for (shape, labels), group in group_rows([r for r in rows if r["out_of_scope"]], ["shape", "labels"]).items():
        found = (_mean(group, name, ("auto",)) for name in ("precision", "recall"))
        lines.append(
            (shape, str(labels), *found, *(_mean(group, name) for name in ("purity_new", "ood_acc", "all_acc")))
        )
    return as_markdown(header, lines)


def _table_with(rows: list[Row]) -> Iterator[str]:
    yield (
        "| corpus | labels | known precision | known recall | F1 of no intent: newfound, BERTopic | "
        "purity of all intents: newfound, BERTopic |"
    )
    yield "|---" * 6 + "|"
    for (shape, labels), group in group_rows([r for r in rows if r["out_of_scope"]], ["shape", "labels"]).items():
        cells = [
            _mean(group, "known_precision"),
            _mean(group, "known_recall"),
            *(_mean(group, name, ("auto", "bertopic"), ", ") for name in ("f1", "purity")),
        ]
        yield f"| {shape} | {labels} | " + " | ".join(cells) + " |"


def _table_without(rows: list[Row]) -> Iterator[str]:
    yield (
        "| corpus, in scope only | labels | known precision | known recall | OOD ACC | ALL ACC | "
        "purity of new intents | put aside | BERTopic: put aside |"
    )
    yield "|---" * 9 + "|"
    for (shape, labels), group in group_rows([r for r in rows if not r["out_of_scope"]], ["shape", "labels"]).items():
        cells = [_mean(group, name) for name in ("known_precision", "known_recall", "ood_acc", "all_acc", "purity_new")]
        cells += [_mean(group, "lost", (setting,)) for setting in ("auto", "bertopic")]
        yield f"| {shape} | {labels} | " + " | ".join(cells) + " |"


def _mean(rows: list[Row], name: str, settings: tuple[str, ...] = ("none", "auto"), between: str = " → ") -> str:
    """Return the means over seeds, one for each setting, such as `71.2 → 85.0`."""
    values = [[row[name] for row in rows if row["setting"] == setting and name in row] for setting in settings]
    return between.join(f"{np.mean(own):.1f}" if own else "–" for own in values) if any(values) else "–"


def main() -> None:
    """Run the cases that are missing, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--short", action="store_true", help="print what is put aside, and the new intents")
    parser.add_argument("--settings", default="none,auto", help="of none, auto and bertopic")
    parser.add_argument("--seeds", type=whole_numbers, default=[1000, 1001, 1002])
    options = parser.parse_args()
    if options.table:
        print(short_table(read_rows(options.table)) if options.short else table(read_rows(options.table)))
        return
    encoder = study_encoder()
    done = {tuple(row[name] for name in KEY) for row in read_rows(options.out)}
    for key, case in planned(options.seeds, options.settings.split(",")):
        if tuple(key.values()) in done:
            continue
        started = time.perf_counter()
        row = key | run(case, encoder, key["setting"], key["seed"])
        append_row(options.out, row | {"seconds": round(time.perf_counter() - started, 1)})
        print(row, flush=True)


if __name__ == "__main__":
    main()
