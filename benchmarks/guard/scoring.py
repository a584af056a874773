"""Running a cell of the guard: newfound learns from its rows, and is scored on held-out ones."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.guard.cells import Cell, Rows, data_of
from benchmarks.harness.provenance import commit, hardware
from benchmarks.harness.studies import Row

import newfound
from newfound.algorithms.metrics import Ids, map_clusters

NO_INTENT = -1


def measure(cell: Cell, *, device: str, encoder: str) -> Row:
    """Return the result row of a cell."""
    data = data_of(cell)
    started = time.perf_counter()
    known = columns(data.known) if data.known else None
    settings: dict[str, Any] = {"effort": cell.effort, "device": device, "encoder": encoder, "conflicts": "first"}
    result = newfound.discover(known, data.logs, **settings)
    row: Row = {**asdict(cell), "seconds": round(time.perf_counter() - started, 1)}
    row |= {"n_new": result.n_new, "true_new": len(data.new), "logs": len(data.logs), "labelled": len(data.known)}
    model, (texts, gold) = result.model, columns(data.test)
    row |= scores(gold, model.predict(texts), data.new, {intent.name for intent in result.intents if intent.known})
    row["sure"] = percent(model.predict_proba(texts).max(1))
    row["empty"] = sum(not intent.known and not intent.size for intent in result.intents)
    if data.outside:
        row["put_aside"] = percent([intent is None for intent in model.predict(data.outside)])
    if known and cell.effort == "quick":
        from sklearn.linear_model import LogisticRegression

        texts, gold = columns([(text, intent) for text, intent in data.test if intent not in data.new])
        classifier = LogisticRegression(C=20, max_iter=300).fit(model.transform(known[0]), known[1])
        row["lr"] = percent(classifier.predict(model.transform(texts)) == np.array(gold))
    return row | {"commit": commit(), "hardware": hardware(device)}


def attempt(cell: Cell, *, device: str, encoder: str) -> Row | str:
    """Return the result row of a cell, or a sentence about its failure, so that the other cells go on."""
    try:
        return measure(cell, device=device, encoder=encoder)
    except Exception as error:
        return f"{cell} failed: {error!r}"


def scores(gold: Sequence[str], predicted: Sequence[str | None], new: Collection[str], known: Collection[str]) -> Row:
    """Return accuracies, and the share of rows without an intent, in percent.

    Args:
        gold: The true intents; every row has one.
        predicted: The predicted intents; None, which is wrong, for no intent.
        new: The true intents that were to be discovered.
        known: The predicted intents that were known before.

    Returns:
        `IND`: of rows of known intents, which must get their own name. `OOD`: of rows of new intents, after the
        Hungarian matching of discovered with true ones. `ALL`: both. `match`: of all rows, after a matching that
        ignores names, so that it can be compared with a result without labels. `lost`: rows that get no intent.
    """
    true = np.unique(np.array(gold), return_inverse=True)[1]
    number = {name: i for i, name in enumerate(dict.fromkeys(predicted))} | {None: NO_INTENT}
    found = np.array([number[name] for name in predicted])
    is_new = np.array([intent in new for intent in gold])
    in_new = is_new & np.array([name is not None and name not in known for name in predicted])
    right = np.array([a == b for a, b in zip(gold, predicted, strict=True)]) & ~is_new
    right[in_new] = is_matched(true[in_new], found[in_new])
    return {
        "IND": None if is_new.all() else percent(right[~is_new]),
        "OOD": percent(right[is_new]),
        "ALL": percent(right),
        "match": percent(is_matched(true, found)),
        "lost": percent(found == NO_INTENT),
    }


def is_matched(true: Ids, found: Ids) -> npt.NDArray[np.bool_]:
    """Return which rows have the true intent that their cluster is matched with."""
    matched: npt.NDArray[np.bool_] = map_clusters(true, found) == true
    return matched


def percent(values: Sequence[bool] | npt.NDArray[Any]) -> float:
    """Return the mean of shares or truth values in percent, with one decimal."""
    return round(100 * float(np.mean(values)), 1)


def columns(rows: Rows) -> tuple[list[str], list[str]]:
    """Return texts and intents."""
    return [text for text, _ in rows], [intent for _, intent in rows]
