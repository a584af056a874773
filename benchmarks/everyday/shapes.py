"""Corpora of many shapes as people have them: known intents among the logs, few labels or many, some rows of no intent.

The corpora lie in `$NEWFOUND_DATA` (BANKING77, CLINC150) and in its folder `more`. Tuning uses training rows alone and
partitions of its own (seeds from 1000 up); settings were chosen on them.
"""

from __future__ import annotations

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.harness.datasets import out_of_scope, read_part
from benchmarks.harness.partitions import facts

NEW_SHARE = 0.4  # of the intents
OUT_OF_SCOPE_ROWS = 250  # of CLINC150, added to corpora that have none of their own
NO_WISH = frozenset(  # labels of MultiDoGO
    ("contentonly", "confirmation", "rejection", "openinggreeting", "closinggreeting", "thankyou", "outofdomain")
)
Labels = int | str  # labelled rows of each known intent, or "half" of them


@dataclass(frozen=True, slots=True)
class Shape:
    """A corpus with true intents; None for a row of no intent."""

    name: str
    texts: tuple[str, ...]
    gold: tuple[str | None, ...]

    @classmethod
    def of(cls, name: str, rows: Sequence[tuple[str, str | None]]) -> Shape:
        """Return distinct rows in an order that says nothing, the same every time."""
        distinct = list(dict(rows).items())
        order = np.random.default_rng(8).permutation(len(distinct))
        return cls(name, tuple(distinct[i][0] for i in order), tuple(distinct[i][1] for i in order))

    @property
    def intents(self) -> list[str]:
        return sorted({intent for intent in self.gold if intent is not None})

    def in_scope(self) -> Shape:
        """Return the shape without its rows of no intent, in the same order."""
        rows = [i for i, intent in enumerate(self.gold) if intent is not None]
        return Shape(self.name, tuple(self.texts[i] for i in rows), tuple(self.gold[i] for i in rows))


@dataclass(frozen=True, slots=True)
class Case:
    """A shape divided into known and new intents, with labels as a user would have them."""

    shape: str
    texts: tuple[str, ...]
    labels: tuple[str | None, ...]  # that are given; None in the logs
    gold: tuple[str | None, ...]  # the true intents; None for a row of no intent
    new: frozenset[str]  # the intents that are not known

    @property
    def logs(self) -> list[int]:
        """The rows without a label."""
        return [i for i, label in enumerate(self.labels) if label is None]


def rows_of_file(name: str, *, part: str | None = None, language: str | None = None) -> list[tuple[str, str | None]]:
    """Return texts and intents of a file in the folder `more`; None for a row of no intent."""
    path = Path(os.environ["NEWFOUND_DATA"]) / "more" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (row["text"], row["label"] or None)
            for row in csv.DictReader(file)
            if part in (None, row.get("part")) and language in (None, row.get("language"))
        ]


def _benchmark(name: str) -> list[tuple[str, str | None]]:
    part = read_part(name, "train")
    return list(zip(part.texts, part.labels, strict=True))


def _subset(
    rows: Sequence[tuple[str, str | None]], intents: int, sizes: tuple[int, int], seed: int
) -> list[tuple[str, str | None]]:
    """Return rows of some intents, each with a number of rows between two sizes (evenly on a logarithmic scale)."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(sorted({str(label) for _, label in rows}))[:intents]
    chosen = []
    for name, size in zip(names, rng.permutation(np.geomspace(*sizes, len(names)).round()), strict=True):
        own = [row for row in rows if row[1] == name]
        chosen += [own[i] for i in rng.permutation(len(own))[: int(size)]]
    return chosen


def _domains() -> list[tuple[str, str | None]]:
    """CLINC150 with its ten domains as intents of 800 rows."""
    domain = {c: name for name, classes in facts("splits")["clinc150_domains"].items() for c in classes}
    return _subset([(text, domain[str(label)]) for text, label in _benchmark("clinc150")], 10, (800, 800), 7)


def shapes() -> list[Shape]:
    """Return the corpora, about smallest first; each is the same every time."""
    banking, clinc = _benchmark("banking77"), _benchmark("clinc150")
    corpora = {
        "dstc11-banking": rows_of_file("dstc11-banking"),
        "sofmattress": [row for row in rows_of_file("hint3-sofmattress") if row[1]],
        "dstc11-insurance": rows_of_file("dstc11-insurance"),
        "xsid-en": rows_of_file("xsid", language="en"),
        "curekart": [row for row in rows_of_file("hint3-curekart") if row[1]],
        "curekart, out of scope": rows_of_file("hint3-curekart"),
        "clinc 8 even": _subset(clinc, 8, (120, 120), 1),
        "clinc 20 uneven": _subset(clinc, 20, (15, 120), 2),
        "banking 20 uneven": _subset(banking, 20, (15, 150), 3),
        "clinc 40": _subset(clinc, 40, (120, 120), 4),
        "banking 40": _subset(banking, 40, (200, 200), 5),
        "snips": rows_of_file("snips"),
        "clinc domains": _domains(),
        "banking 77": banking,
        "clinc 150": _subset(clinc, 150, (60, 60), 6),
    }
    return [Shape.of(name, rows) for name, rows in corpora.items()]


def shapes_with_out_of_scope() -> list[Shape]:
    """Return small corpora that hold rows of no intent: two shops' own, and CLINC150's beside two benchmarks."""
    outside: list[tuple[str, str | None]] = [(text, None) for text in out_of_scope()]
    clinc = _subset(_benchmark("clinc150"), 20, (15, 120), 2)
    banking = _subset(_benchmark("banking77"), 20, (15, 150), 3)
    return [
        Shape.of("curekart", rows_of_file("hint3-curekart")),
        Shape.of("sofmattress", rows_of_file("hint3-sofmattress")),
        Shape.of("clinc 20 uneven", clinc + outside[:OUT_OF_SCOPE_ROWS]),
        Shape.of("banking 20 uneven", banking + outside[OUT_OF_SCOPE_ROWS : 2 * OUT_OF_SCOPE_ROWS]),
    ]


def customers_turns(name: str) -> Shape:
    """Return what customers say in the conversations of a file: the wish of each turn, and None if it states none.

    A text that occurs several times has the label that it has most often, and of several wishes the first.
    """
    path = Path(os.environ["NEWFOUND_DATA"]) / "more" / f"{name}.csv"
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            labels = (row["labels"] if "labels" in row else row["label"]).split("|")
            is_damaged = any(" " in label for label in labels)  # a few turns of MultiDoGO have tags of words there
            if row["speaker"] == "customer" and row["text"].strip() and not is_damaged:
                wishes = [label for label in labels if label and label not in NO_WISH]
                counts[row["text"]][wishes[0] if wishes else None] += 1
    return Shape.of(name, [(text, own.most_common(1)[0][0]) for text, own in counts.items()])


def case_of(shape: Shape, labels: Labels, seed: int, *, new_share: float = NEW_SHARE) -> Case:
    """Divide a shape's intents into known and new ones, and label some rows of the known ones.

    Args:
        shape: The shape.
        labels: Labelled rows of each known intent, at most half of them.
        seed: Of the division and of the rows; from 1000 up for tuning.
        new_share: Share of the intents that are new.
    """
    rng = np.random.default_rng(seed)
    new = frozenset(rng.permutation(shape.intents)[: round(new_share * len(shape.intents))].tolist())
    given: list[str | None] = [None] * len(shape.texts)
    for intent in shape.intents:
        rows = rng.permutation([i for i, name in enumerate(shape.gold) if name == intent])
        if intent in new:
            continue
        count = max(1, len(rows) // 2)
        for i in rows[: count if labels == "half" else min(count, int(labels))]:
            given[i] = intent
    return Case(shape.name, shape.texts, tuple(given), shape.gold, new)
