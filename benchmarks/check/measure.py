"""Measure what `newfound check` finds: wrong labels and divided intents that were planted in benchmark data.

python -m benchmarks.check.measure            three seeds of each kind of fault, for BANKING77 and CLINC150
python -m benchmarks.check.measure --table    print the means from the file

`any` gives 5 % of the training utterances another label, drawn from all intents; `alike` draws it from the three
intents with the most similar centroids, as a person might mistake them; `divided` gives half of the utterances of eight
intents a label of their own, so that each of the eight becomes a pair that is one intent. What the data's own authors
labelled wrongly counts as a false alarm. The classifier's settings were chosen with seed 1000.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.harness.datasets import read_part
from benchmarks.harness.studies import Row, append_row, frozen_vectors, group_rows, read_rows, study_encoder

from newfound.algorithms.label_errors import centroid_similarity
from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Encoder
from newfound.workflows.checking import CheckResult, check

HERE = Path(__file__).parent
DATA_SETS = ("banking77", "clinc150")
KINDS = ("any", "alike", "divided")
SEEDS = (0, 1, 2)
WRONG_SHARE = 0.05
ALIKE_INTENTS = 3
DIVIDED_INTENTS = 8
TOP = 100


def main() -> None:
    """Run what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print the means")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of check.json")
    options = parser.parse_args()
    path = options.out / "check.json"
    if options.table:
        print_table(read_rows(path))
        return
    done = {(row["data"], row["kind"], row["seed"]) for row in read_rows(path)}
    encoder = study_encoder()
    for data in DATA_SETS:
        corpus = without_repeats(read_part(data, "train"))
        for kind in KINDS:
            for seed in SEEDS:
                if (data, kind, seed) not in done:
                    append_row(path, {"data": data, "kind": kind, "seed": seed} | run(corpus, kind, seed, encoder))


def without_repeats(corpus: Corpus) -> Corpus:
    """Return the first of each text, so that no planted label contradicts a repeat."""
    return corpus.take(list({text: i for i, text in reversed(list(enumerate(corpus.texts)))}.values())[::-1])


def run(corpus: Corpus, kind: str, seed: int, encoder: Encoder) -> Row:
    """Plant faults, look for them and compare."""
    rng = np.random.default_rng(seed)
    labels = np.array(corpus.labels, dtype=object)
    if kind == "divided":
        divided = rng.choice(corpus.intents, DIVIDED_INTENTS, replace=False)
        for intent in divided:
            rows = rng.permutation(np.flatnonzero(labels == intent))
            labels[rows[: len(rows) // 2]] = f"{intent} (2)"
        expected = {frozenset((intent, f"{intent} (2)")) for intent in divided}
        result, seconds = checked(corpus, labels.tolist(), encoder)
        found = {frozenset((pair.first, pair.second)) for pair in result.near_duplicates}
        return {
            "planted": len(expected),
            "found": len(found),
            "precision": len(found & expected) / max(1, len(found)),
            "recall": len(found & expected) / len(expected),
            "seconds": seconds,
        }
    planted = rng.choice(len(corpus), round(WRONG_SHARE * len(corpus)), replace=False)
    others = other_intents(corpus, kind, encoder)
    for i in planted:
        labels[i] = rng.choice(others[str(labels[i])])
    result, seconds = checked(corpus, labels.tolist(), encoder)
    wrong = {int(i) + 1 for i in planted}
    hits = [error for error in result.label_errors if error.line in wrong]
    return {
        "planted": len(wrong),
        "found": len(result.label_errors),
        "precision": len(hits) / max(1, len(result.label_errors)),
        "recall": len(hits) / len(wrong),
        "precision_of_top": sum(error.line in wrong for error in result.label_errors[:TOP]) / TOP,
        "likely_is_right": sum(error.likely == corpus.labels[error.line - 1] for error in hits) / max(1, len(hits)),
        "pairs": len(result.near_duplicates),
        "seconds": seconds,
    }


def other_intents(corpus: Corpus, kind: str, encoder: Encoder) -> dict[str, list[str]]:
    """Return the intents from which the wrong label of an utterance of each intent is drawn."""
    names = list(corpus.intents)
    if kind == "any":
        return {name: [other for other in names if other != name] for name in names}
    x = frozen_vectors(encoder, corpus.texts).numpy().astype(np.float64)
    y = np.array([names.index(str(label)) for label in corpus.labels])
    similarity = centroid_similarity(x, y, len(names))
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argsort(-similarity, axis=1)[:, :ALIKE_INTENTS]
    return {name: [names[j] for j in nearest[i]] for i, name in enumerate(names)}


def checked(corpus: Corpus, labels: Sequence[str], encoder: Encoder) -> tuple[CheckResult, float]:
    """Return what is found, and how long it took."""
    started = time.perf_counter()
    result = check((corpus.texts, labels), encoder=encoder)
    return result, round(time.perf_counter() - started, 1)


def print_table(rows: list[Row]) -> None:
    """Print the means over the seeds as a Markdown table."""
    print("| data | planted | found | precision | of the first 100 | recall | likely label right |")
    print("|---|---|---|---|---|---|---|")
    for (data, kind), group in group_rows(rows, ["data", "kind"]).items():
        cells = [_mean(group, "precision"), _mean(group, "precision_of_top"), _mean(group, "recall")]
        planted = f"{group[0]['planted']} {'divided intents' if kind == 'divided' else 'wrong labels, ' + kind}"
        found = f"{statistics.mean(row['found'] for row in group):.0f}"
        print(f"| {data} | {planted} | {found} | {' | '.join(cells)} | {_mean(group, 'likely_is_right')} |")


def _mean(group: list[Row], name: str) -> str:
    return f"{100 * statistics.mean(row[name] for row in group):.1f} %" if name in group[0] else "–"


if __name__ == "__main__":
    main()
