"""Measure which rows of the logs are put aside as rows of no intent, before anything is clustered.

export NEWFOUND_DATA=...
python -m benchmarks.everyday.small_talk --out benchmarks/everyday/small_talk.jsonl
python -m benchmarks.everyday.small_talk --table benchmarks/everyday/small_talk.jsonl
python -m benchmarks.everyday.small_talk --table benchmarks/everyday/small_talk.jsonl --clean

A case is a corpus, ten labels for each of 60 % of its intents or none at all, and a seed. The rule `now` is
`methods.estimation.put_aside`, on frozen vectors. Rows of the rule `density` were measured with the one that it
replaced, which is in the git history: rows without words, and rows with a lower density than labelled ones lead one to
expect, or than most others where nothing is labelled.
Corpora are HINT3's two shops with their own rows of no intent, CLINC150's rows of no intent beside its intents and
those of BANKING77, customers' turns in conversations, of which many state no wish, and corpora in which every row has
an intent. The constants were chosen with one corpus left out at a time; SGD was not looked at. Cases in the file are
skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.everyday.shapes import (
    Case,
    Shape,
    case_of,
    customers_turns,
    rows_of_file,
    shapes_with_out_of_scope,
)
from benchmarks.harness.datasets import out_of_scope, read_part
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
from torch import Tensor

from newfound.methods.estimation import put_aside

KEY = ("shape", "labels", "seed", "rule")
LABELS = (0, 10)
LANGUAGES = ("en", "de", "nl", "it", "zh", "ar", "id", "tr", "ja")
RULES = ("density", "now")


def corpora() -> Iterator[Shape]:
    """Yield the corpora: first those that hold rows of no intent."""
    benchmarks = {name: read_part(name, "train") for name in ("clinc150", "banking77")}
    rows = {name: list(zip(part.texts, part.labels, strict=True)) for name, part in benchmarks.items()}
    outside: list[tuple[str, str | None]] = [(text, None) for text in out_of_scope()]
    yield from shapes_with_out_of_scope()
    yield Shape.of("clinc150, out of scope", rows["clinc150"] + outside)
    yield from map(customers_turns, ("multidogo-software", "multidogo-fastfood", "sgd-conversations"))
    yield from (Shape.of(name, own) for name, own in rows.items())
    yield from (Shape.of(name, rows_of_file(name)) for name in ("snips", "dstc11-banking", "dstc11-insurance", "xsid"))
    yield from (Shape.of(f"xsid, {language}", rows_of_file("xsid", language=language)) for language in LANGUAGES)


def run(case: Case, x: Tensor) -> Row:
    """Return how well the rule tells rows of no intent, and the share of the others that it puts aside, in percent."""
    labelled = torch.tensor([label is not None for label in case.labels])
    pile = put_aside(case.texts, x, labelled, no_intent="auto").numpy()[case.logs]
    outside = np.array([case.gold[i] is None for i in case.logs])
    right = int((pile & outside).sum())
    row: Row = {"lost": 100 * (pile & ~outside).sum() / (~outside).sum()}
    if outside.any():
        row |= {"recall": 100 * right / outside.sum(), "f1": 200 * right / (outside.sum() + pile.sum())}
        row |= {"precision": 100 * right / pile.sum()} if pile.any() else {}
    return {name: round(float(value), 2) for name, value in row.items()}


def table(rows: list[Row], *, clean: bool) -> str:
    """Return means over seeds as Markdown, of corpora with rows of no intent or (`clean`) without; then their means."""
    names = ["lost"] if clean else ["precision", "recall", "f1", "lost"]
    with_none = {row["shape"] for row in rows if "recall" in row}
    chosen = [row for row in rows if (row["shape"] in with_none) != clean]
    groups = {**group_rows(chosen, ("shape", "labels"))}
    groups |= {("**mean**", labels): own for (labels,), own in group_rows(chosen, ("labels",)).items()}
    header = ("corpus", "labels", *("F1" if name == "f1" else name for name in names), "lost at worst")
    lines = []
    for (shape, labels), own in groups.items():
        cells = [_arrow(own, name) for name in names]
        lines.append((shape, str(labels), *cells, _arrow(own, "lost", worst=True)))
    return as_markdown(header, lines)


def _arrow(rows: list[Row], name: str, *, worst: bool = False) -> str:
    """Return the mean over corpora, or the highest value, of both rules, such as `16.8 → 48.7`."""
    cells = []
    for rule in RULES:
        chosen = group_rows([row for row in rows if row["rule"] == rule and name in row], ("shape",)).values()
        values = [(max if worst else np.mean)([row[name] for row in own]) for own in chosen]
        cells.append(f"{max(values) if worst else np.mean(values):.1f}" if values else "–")
    return " → ".join(cells)


def main() -> None:
    """Run the cases that are missing, or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--clean", action="store_true", help="print the corpora in which every row has an intent")
    parser.add_argument("--seeds", type=whole_numbers, default=list(range(1000, 1010)))
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.table), clean=options.clean))
        return
    encoder = study_encoder()
    done = {tuple(row[name] for name in KEY) for row in read_rows(options.out)}
    for shape in corpora():
        x = F.normalize(frozen_vectors(encoder, shape.texts).float(), dim=-1)
        for labels in LABELS:
            for seed in options.seeds if labels else options.seeds[:1]:  # without labels, seeds make no difference
                case = case_of(shape, labels, seed, **({} if labels else {"new_share": 1.0}))
                key = dict(zip(KEY, (shape.name, labels, seed, "now"), strict=True))
                if tuple(key.values()) not in done:
                    append_row(options.out, key | run(case, x))
        print(shape.name, flush=True)


if __name__ == "__main__":
    main()
