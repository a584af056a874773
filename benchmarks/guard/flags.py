"""What must not happen in a cell of the guard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.guard.cells import EFFORTS
from benchmarks.harness.studies import Row, group_rows

MAX_LOST = 5.0  # percent of the rows with an intent
MAX_BELOW_REGRESSION = 5.0  # points, as the next three
MAX_BELOW_CHEAPER_EFFORT = 2.0
MAX_BELOW_NO_LABELS = 2.0
MAX_ABOVE_ACCURACY = 15.0
MAX_FACTOR_OF_NUMBER = 1.5
CASE = ("corpus", "seed", "case")


def flags(rows: Sequence[Row]) -> list[str]:
    """Return one line for each flag: its name, the cell, and the numbers that speak for it.

    LOST: rows with an intent get none. KNOWN: known intents fall below a logistic regression. EMPTY: an intent without
    utterances. SURE: confidence above accuracy. LABELS: worse than without labels. NUMBER: the number of new intents is
    off. EFFORT: worse than a cheaper effort.
    """
    cases = group_rows(rows, CASE)
    lines = []
    for (corpus, seed, case), members in sorted(cases.items()):
        without_labels = [] if case == "none" else cases.get((corpus, seed, "none"), [])
        for row in members:
            cell = f"{corpus} {seed} {case} {row['effort']}"
            lines += [f"{flag:7s} {cell}: {reason}" for flag, reason in flags_of(row, members, without_labels)]
    return lines


def flags_of(row: Row, members: Sequence[Row], without_labels: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the flags of a row with reasons, given all rows of its case and those of its corpus without labels."""
    regression = regression_of(members)
    if row["lost"] > MAX_LOST:
        yield "LOST", f"{row['lost']} % of the rows with an intent get none"
    if regression is not None and row["IND"] is not None and row["IND"] < regression - MAX_BELOW_REGRESSION:
        yield "KNOWN", f"{row['IND']} against {regression} by logistic regression"
    if row["empty"]:
        yield "EMPTY", f"{row['empty']} intents without utterances"
    if row["sure"] > row["ALL"] + MAX_ABOVE_ACCURACY:
        yield "SURE", f"confidence {row['sure']}, accuracy {row['ALL']}"
    for other in without_labels:
        if row["match"] < other["match"] - MAX_BELOW_NO_LABELS:
            yield "LABELS", f"{row['match']} with labels, {other['match']} without"
    if not 1 / MAX_FACTOR_OF_NUMBER <= row["n_new"] / row["true_new"] <= MAX_FACTOR_OF_NUMBER:
        yield "NUMBER", f"{row['n_new']} for {row['true_new']}"
    cheaper = EFFORTS[: EFFORTS.index(row["effort"])]
    for other in sorted((r for r in members if r["effort"] in cheaper), key=lambda r: EFFORTS.index(r["effort"])):
        if row["ALL"] < other["ALL"] - MAX_BELOW_CHEAPER_EFFORT:
            yield "EFFORT", f"{row['ALL']}, {other['effort']} {other['ALL']}"


def regression_of(members: Sequence[Row]) -> float | None:
    """Return the accuracy of the logistic regression in a case; only the row of the effort `quick` has it."""
    return next((row["lr"] for row in members if "lr" in row), None)
