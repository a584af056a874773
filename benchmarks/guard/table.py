"""The result of the guard as Markdown: means by case and effort, and the flags."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from statistics import fmean

from benchmarks.guard.cells import CASES, EFFORTS
from benchmarks.guard.flags import CASE, flags, regression_of
from benchmarks.harness.studies import Row, group_rows
from benchmarks.harness.tables import Line, as_markdown

IN_WORDS = {"effort": "effort", "ALL": "all messages", "OOD": "new intents", "IND": "known intents"} | {
    "logistic regression": "known intents: logistic regression",
    "number off by": "number of new intents off by a factor of",
}
HEADER = (
    *("effort", "ALL", "OOD", "IND", "logistic regression", "largest deficit of IND to it", "lost"),
    *("confidence", "mean distance to accuracy", "number off by", "seconds"),
)


def summary(rows: Sequence[Row], *, short: bool = False) -> str:
    """Return the table, a list of the flags (only how many of each kind, if it is to be short), and their number."""
    found = flags(rows)
    kinds = Counter(line.split()[0] for line in found)
    listed = [", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))]
    if not short:
        listed = [f"- {line}" for line in found]
    return "\n".join(
        [
            as_markdown(("case", *HEADER), lines(rows)),
            "",
            *([*listed, ""] if found else []),
            f"{len(found)} flags in {len(rows)} cells",
        ]
    )


def in_words(rows: Sequence[Row], by: str) -> str:
    """Return a table of the default effort (`quick` without labels) by case or by corpus, in a user's words."""
    chosen = [HEADER.index(name) + 1 for name in IN_WORDS]
    default = [line for line in lines(rows, by) if line[1] == ("quick" if line[0] == "none" else "standard")]
    return as_markdown((by, *IN_WORDS.values()), [(line[0], *(line[i] for i in chosen)) for line in default])


def lines(rows: Sequence[Row], by: str = "case") -> list[Line]:
    """Return the lines of the table by case or by corpus, in the order of cases and efforts."""
    regressions = {key: regression_of(members) for key, members in group_rows(rows, CASE).items()}
    groups = group_rows(rows, (by, "effort"))
    made: list[Line] = []
    values = CASES if by == "case" else sorted({row[by] for row in rows})
    for value, effort in (key for key in product(values, EFFORTS) if key in groups):
        group = groups[value, effort]
        regression = [regressions[tuple(row[name] for name in CASE)] for row in group]
        deficits = [lr - row["IND"] for lr, row in zip(regression, group, strict=True) if lr is not None]
        made.append(
            (
                *(value, effort, *(mean(row[name] for row in group) for name in ("ALL", "OOD", "IND"))),
                *(mean(regression), f"{max(deficits):.1f}" if deficits else "–"),
                *(mean(row[name] for row in group) for name in ("lost", "sure")),
                mean(abs(row["sure"] - row["ALL"]) for row in group),
                *(f"{factor(group):.2f}", f"{fmean(row['seconds'] for row in group):.0f}"),
            )
        )
    return made


def mean(values: Iterable[float | None]) -> str:
    """Return the mean of the values that are not None; a dash if there are none."""
    numbers = [value for value in values if value is not None]
    return f"{fmean(numbers):.1f}" if numbers else "–"


def factor(rows: Sequence[Row]) -> float:
    """Return by which factor the number of new intents is off, as a geometric mean."""
    return math.exp(fmean(abs(math.log(max(0.5, row["n_new"]) / row["true_new"])) for row in rows))
