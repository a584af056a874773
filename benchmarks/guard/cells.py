"""The cells of the guard: a corpus, a division of its intents into known and new ones, the labels, and the effort."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.everyday.shapes import NEW_SHARE, rows_of_file
from benchmarks.harness.datasets import SETS, read_part

CORPORA = ("banking77", "clinc150", "hint3-curekart", "dstc11-insurance", "snips", "xsid-en")
CASES = ("mixed", "ten", "three", "none")
EFFORTS = ("quick", "standard", "best")  # the cheapest first
SEEDS = (1901, 1902)
LABELS_PER_INTENT = {"ten": 10, "three": 3, "none": 0}  # in the case `mixed`, half of the rows of an intent
MAX_LOGS = 4000  # rows with an intent; rows without one come on top
TRAIN_SHARE = 0.7  # of the rows of a corpus that is not divided by its authors
SEED_OF_PARTS = 7

Rows = list[tuple[str, str]]  # texts and their intents


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of newfound; the seed divides intents and rows."""

    corpus: str
    seed: int
    case: str
    effort: str


@dataclass(frozen=True, slots=True)
class Data:
    """What a user has (labelled rows, and logs of known intents, new ones and none), and what is scored."""

    known: Rows
    logs: list[str]
    new: frozenset[str]  # the intents that have no labels
    test: Rows  # held-out rows of all intents
    outside: list[str]  # the texts of no intent, which are in the logs, too


def read_corpus(name: str) -> tuple[Rows, Rows, list[str]]:
    """Return training rows, test rows and texts of no intent, from the folder `$NEWFOUND_DATA`."""
    if name in SETS:
        folder = Path(os.environ["NEWFOUND_DATA"]) / name
        parts = [read_part(name, part, folder / f"{part}.csv") for part in ("train", "test")]
        train, test = (list(zip(part.texts, map(str, part.labels), strict=True)) for part in parts)
        return train, test, []
    rows = rows_of_file("xsid", language=name[5:]) if name.startswith("xsid-") else rows_of_file(name)
    rows = [rows[i] for i in np.random.default_rng(SEED_OF_PARTS).permutation(len(rows))]
    inside = [(text, intent) for text, intent in rows if intent is not None]
    cut = round(TRAIN_SHARE * len(inside))
    return inside[:cut], inside[cut:], [text for text, intent in rows if intent is None]


def data_of(cell: Cell) -> Data:
    """Choose the new intents, and label rows of the others as the case says; all other rows are the logs."""
    train, test, outside = read_corpus(cell.corpus)
    rng = np.random.default_rng(cell.seed)
    distinct: dict[str, tuple[str, str]] = {}
    for text, intent in train:
        distinct.setdefault(text.strip().lower(), (text, intent))
    rows = list(distinct.values())
    sizes = Counter(intent for _, intent in rows)
    intents = sorted(sizes)
    n_new = max(1, round(NEW_SHARE * len(intents)))
    new = frozenset(intents if cell.case == "none" else rng.permutation(intents)[:n_new].tolist())
    seen: Counter[str] = Counter()
    known, logs = [], []
    for text, intent in (rows[i] for i in rng.permutation(len(rows))):
        seen[intent] += 1
        if intent not in new and seen[intent] <= LABELS_PER_INTENT.get(cell.case, sizes[intent] // 2):
            known.append((text, intent))
        else:
            logs.append(text)
    logs = logs[:MAX_LOGS] + outside
    return Data(known, [logs[i] for i in rng.permutation(len(logs))], new, test, outside)
