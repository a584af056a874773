"""Measure whether logs are divided that should not be, and whether messages that join known intents found new ones.

export NEWFOUND_DATA=...
python -m benchmarks.messages.joined --out benchmarks/messages/joined.jsonl
python -m benchmarks.messages.joined --table shares|new_intents

Shares: of a sample of the logs (half of the intents known, ten labels each), the messages whose parts have different
known intents. New intents: logs of 40 known intents, half of whose rows are labelled; a tenth of the logs joins two of
these intents; either any two, or one of three pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.everyday.shapes import Case, case_of, shapes
from benchmarks.harness.studies import Row, append_row, read_rows, study_encoder
from benchmarks.harness.tables import as_markdown
from benchmarks.messages.parts import CONNECTORS
from benchmarks.messages.wishes import read_table

import newfound
from newfound.data.corpus import Corpus
from newfound.methods.refit import Refit
from newfound.workflows.rereading import share_joined

SEEDS, RESULTS = (1001, 1002), Path(__file__).with_name("joined.jsonl")
OF_LOGS, N_PAIRS = 0.1, 3
PATTERNS, WAYS = ("any two intents", "three pairs of intents"), {"whole": False, "divided by default": None}


def share(known: Corpus, logs: list[str]) -> float:
    model = Refit(encoder=study_encoder(), tune="heads", epochs=20).fit(known).model_
    return round(100 * share_joined(Corpus.of(logs), lambda: model), 1)


def shares() -> Iterator[Row]:
    for shape in shapes():
        case = case_of(shape, "10", SEEDS[0])
        known = Corpus.of(case.texts, case.labels).labelled()
        yield {"corpus": shape.name, "share": share(known, [case.texts[i] for i in case.logs])}
    single = {shape.name: shape for shape in shapes()}
    for name, shape in (("mixbanking77", single["banking 77"]), ("mixclinc150", single["clinc 150"])):
        known = Corpus.of(shape.texts, shape.gold)
        yield {"corpus": name, "share": share(known, [row["text"] for row in read_table(f"more/{name}.csv")])}


def joined(case: Case, pattern: str, seed: int) -> list[str]:
    """Return the logs of a case, a tenth of which is joined to another one of another intent."""
    rng, logs = np.random.default_rng(seed), case.logs
    of_intent = {name: [i for i in logs if case.gold[i] == name] for name in sorted(map(str, set(case.gold)))}
    pairs = np.array(sorted(of_intent)[: 2 * N_PAIRS]).reshape(-1, 2)  # neighbours are often alike
    texts = [case.texts[i] for i in logs]
    for place in rng.choice(len(texts), round(OF_LOGS * len(texts)), replace=False).tolist():
        names = rng.choice(sorted(of_intent), 2, replace=False) if pattern == PATTERNS[0] else rng.choice(pairs)
        texts[place] = str(rng.choice(CONNECTORS)).join(case.texts[rng.choice(of_intent[str(name)])] for name in names)
    return texts


def new_intents() -> Iterator[Row]:
    for shape in (shape for shape in shapes() if shape.name in ("banking 40", "clinc 40")):
        for seed in SEEDS:
            case = case_of(shape, "half", seed, new_share=0.0)
            known = Corpus.of(case.texts, case.labels).labelled()
            for pattern in PATTERNS:
                for way, several in WAYS.items():
                    logs = Corpus.of(joined(case, pattern, seed))
                    found = newfound.discover(known, logs, encoder=study_encoder(), effort="quick", several=several)
                    yield {"logs": shape.name, "seed": seed, "pattern": pattern, "way": way, "n_new": found.n_new}


def table(rows: list[Row], what: str) -> str:
    if what == "shares":
        return as_markdown(("logs", "joined, %"), [(r["corpus"], f"{r['share']:.1f}") for r in rows if "share" in r])
    counted: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        if "n_new" in row:
            counted.setdefault((row["logs"], row["pattern"], row["way"]), []).append(row["n_new"])
    found = [(*key, ", ".join(map(str, numbers))) for key, numbers in counted.items()]
    return as_markdown(("logs", "joined", "messages are read", "new intents, by seed"), found)


def main() -> None:
    """Measure, or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", choices=("shares", "new_intents"))
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(RESULTS), options.table))
        return
    for row in (*shares(), *new_intents()):
        print(row, flush=True)
        if options.out:
            append_row(options.out, row)


if __name__ == "__main__":
    main()
