"""Look for likely label errors and intents that are nearly one in the known data, before anything is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from newfound import defaults
from newfound.algorithms.label_errors import likely_labels, near_duplicates, out_of_sample_probabilities
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions, Row
from newfound.data.validation import FEW_EXAMPLES, Conflict, find_conflicts, misspelt_labels
from newfound.encoders.encoder import Encoder
from newfound.encoders.languages import text_warnings
from newfound.errors import DataError
from newfound.files import check_file_target, csv_bytes, write_atomically
from newfound.training.progress import Reporter
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import KnownSource, read_labelled

CROSS_VALIDATION_FOLDS = 5


@dataclass(frozen=True, slots=True)
class LabelError:
    """An utterance whose label is likely wrong.

    Attributes:
        line: Its line in the file, or its position in the data, from 1.
        text: The utterance.
        label: The label that it has in the data.
        likely: The label that it more likely has.
        margin: How much more probable the likely label is than the given one, out of sample, from 0 to 1.
    """

    line: int
    text: str
    label: str
    likely: str
    margin: float


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two intents that are nearly one.

    Attributes:
        first: One intent.
        second: The name of the other intent.
        confusion: The share of their utterances that is predicted, out of sample, as the other of the two.
        similarity: The cosine of their centroids, without what the centroids of all intents have in common.
    """

    first: str
    second: str
    confusion: float
    similarity: float


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the known data should be looked at for.

    Attributes:
        utterances: The number of utterances that were checked.
        intents: The number of intents.
        label_errors: Likely label errors, the clearest first.
        near_duplicates: Pairs of intents that are nearly one, the most confused first.
        conflicts: Texts with several labels.
        few_examples: Intents with fewer than five distinct examples, and how many they have.
        misspelt: Labels that are likely misspelt, each with the more frequent label that is likely meant.
    """

    utterances: int
    intents: int
    label_errors: tuple[LabelError, ...]
    near_duplicates: tuple[NearDuplicate, ...]
    conflicts: tuple[Conflict, ...]
    few_examples: tuple[tuple[str, int], ...]
    misspelt: tuple[tuple[str, str], ...]


def check(
    known: KnownSource,
    out: str | Path | None = None,
    *,
    encoder: str | Encoder = defaults.ENCODER,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> CheckResult:
    """Look for problems in labelled utterances; nothing is changed.

    A classifier on the vectors of the frozen encoder predicts each utterance after it was fitted on others
    (cross-validation). A label is likely wrong if another intent reaches the probability that its own utterances have
    on average, as in confident learning (`newfound.algorithms.label_errors`).

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        known: Labelled utterances of the known intents: a file, a corpus, or texts and labels.
        out: The CSV file to write; None writes nothing.
    """
    runtime = Runtime.of(reporter, encoder)
    path = None if out is None else Path(out)
    if path is not None:
        check_file_target(path, overwrite)
    rows = read_labelled(known, read, runtime)
    if len({row.label for row in rows}) < 2:
        name = known if isinstance(known, str | Path) else "known"
        problem = f"only one intent ({rows[0].label!r})" if rows else "no labelled utterance"
        raise DataError(f"{name}: {problem}; labels can be checked from two known intents on")
    conflicts = find_conflicts(rows)
    in_conflict = {conflict.text for conflict in conflicts}
    # A text that occurs in both parts of a division would be recognised, whatever its label.
    first = {row.text: row for row in reversed(rows) if row.text not in in_conflict}
    distinct = sorted(first.values(), key=lambda row: row.line)
    sizes = Counter(row.label for row in rows if row.text in in_conflict and row.label is not None)
    sizes.update(row.label for row in distinct if row.label is not None)
    errors, pairs = _suspects(distinct, runtime)
    result = CheckResult(
        utterances=len(rows),
        intents=len(sizes),
        label_errors=tuple(errors),
        near_duplicates=tuple(pairs),
        conflicts=tuple(conflicts),
        few_examples=tuple(sorted(((i, n) for i, n in sizes.items() if n < FEW_EXAMPLES), key=lambda x: (x[1], x[0]))),
        misspelt=tuple(misspelt_labels(sizes).items()),
    )
    if path is not None:
        write_atomically(path, csv_bytes([("problem", "line", "text", "label", "likely", "score"), *_table(result)]))
    return result


def _suspects(rows: list[Row], runtime: Runtime) -> tuple[list[LabelError], list[NearDuplicate]]:
    """Return likely label errors and near-duplicate intents among rows with distinct texts."""
    names = sorted({row.label for row in rows if row.label is not None})
    y = np.array([names.index(row.label) for row in rows if row.label is not None], dtype=np.int64)
    largest = int(np.bincount(y).max()) if len(y) else 0
    if len(names) < 2 or largest < 2:
        runtime.reporter.warn("too few examples to look for label errors; an intent needs at least two")
        return [], []
    encoder = runtime.load_encoder()
    for warning in text_warnings(encoder, [row.text for row in rows]):
        runtime.reporter.warn(warning)
    with runtime.reporter.task("encoding", len(rows)) as task:
        x = encoder.vectors([row.text for row in rows]).astype(np.float64)
        task.advance(steps=len(rows))
    p = out_of_sample_probabilities(x, y, n_classes=len(names), folds=min(CROSS_VALIDATION_FOLDS, largest), seed=0)
    likely, each = likely_labels(p, y), np.arange(len(y))
    margin = p[each, likely] - p[each, y]
    sizes = np.bincount(y, minlength=len(names))
    # An intent with one example has no other to be recognised by: out of sample, it is always something else.
    suspects = [i for i in np.flatnonzero(likely != y) if sizes[y[i]] > 1]
    errors = [
        LabelError(rows[i].line, rows[i].text, names[y[i]], names[likely[i]], round(float(margin[i]), 4))
        for i in sorted(suspects, key=lambda i: -margin[i])
    ]
    pairs = [
        NearDuplicate(names[first], names[second], round(confusion, 4), round(similarity, 4))
        for first, second, confusion, similarity in near_duplicates(x, p, y)
        if min(sizes[first], sizes[second]) >= FEW_EXAMPLES
    ]
    return errors, pairs


def _table(result: CheckResult) -> Iterator[tuple[object, ...]]:
    """Yield all findings as rows: what is wrong, where, the label, what it should likely be, and a score."""
    for conflict in result.conflicts:
        yield from (("several labels", line, conflict.text, label, "", "") for line, label in conflict.uses)
    for error in result.label_errors:
        yield "label error", error.line, error.text, error.label, error.likely, error.margin
    for pair in result.near_duplicates:
        yield "nearly one intent", "", "", pair.first, pair.second, pair.confusion
    for label, likely in result.misspelt:
        yield "misspelt label", "", "", label, likely, ""
    for intent, size in result.few_examples:
        yield "few examples", "", "", intent, "", size
