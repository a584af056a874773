"""Checks the rows of a file and makes a `Corpus` of them.

What cannot be used raises an error with the file, the line and the remedy; what is unusual but usable is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from newfound.data.conflicts import without_conflicts
from newfound.data.corpus import FROM_LOGS, Corpus
from newfound.data.readers import open_rows
from newfound.data.rows import DEFAULT_READ_OPTIONS, MAX_TEXT_LENGTH, ReadOptions, ReadReport, Row
from newfound.data.sampling import DistinctSample
from newfound.defaults import Conflicts
from newfound.errors import DataError
from newfound.text import has_half_character

MAX_LABEL_LENGTH = 1_000  # characters; a model folder keeps no longer names


def read_known(
    path: str | Path, options: ReadOptions = DEFAULT_READ_OPTIONS, *, conflicts: Conflicts = "error"
) -> tuple[Corpus, ReadReport]:
    """Read labelled utterances of the known intents.

    Args:
        path: The file, or `-` for standard input.
        options: How the file is read.
        conflicts: What becomes of a text with several labels.

    Returns:
        The corpus, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, a row lacks a text or a label, a text has two labels, or there is no row.
    """
    rows, report = open_rows(path, options)
    corpus = _corpus(_labelled_rows(rows, report), report, conflicts)
    check_known(corpus, report.name)
    return corpus, report


def read_labelled_rows(path: str | Path, options: ReadOptions = DEFAULT_READ_OPTIONS) -> tuple[list[Row], ReadReport]:
    """Read the rows that have a text and a label, conflicting labels included; the others are counted.

    Args:
        path: The file, or `-` for standard input.
        options: How the file is read.
    """
    rows, report = open_rows(path, options)
    labelled = []
    for row in _with_stripped_labels(rows):
        if row.label is None:
            report.count("unlabelled", row.line)
        else:
            labelled.append(row)
    return list(_usable_texts(labelled, report)), report


def read_combined(
    path: str | Path,
    options: ReadOptions = DEFAULT_READ_OPTIONS,
    *,
    conflicts: Conflicts = "error",
    max_logs: int | None = None,
    seed: int = 0,
) -> tuple[Corpus, ReadReport]:
    """Read a file of labelled and unlabelled utterances: a row without a label is part of the logs.

    If no row has a label, or there is no column of labels, all rows are logs.

    Args:
        path: The file, or `-` for standard input.
        options: How the file is read.
        conflicts: What becomes of a text with several labels.
        max_logs: Of more rows without a label, a random sample of so many distinct ones is kept; memory is bounded.
        seed: Chooses the sample.

    Returns:
        The corpus, in which some utterances have no label, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, has no utterance, or every row has a label.
    """
    rows, report = open_rows(path, options, "optional")
    corpus = _corpus(_usable_texts(_with_stripped_labels(rows), report), report, conflicts, max_logs, seed)
    check_combined(corpus, report.name)
    return corpus, report


def read_logs(
    path: str | Path, options: ReadOptions = DEFAULT_READ_OPTIONS, *, max_logs: int | None = None, seed: int = 0
) -> tuple[Corpus, ReadReport]:
    """Read unlabelled utterances; a label column is ignored.

    Args:
        path: The file, or `-` for standard input.
        options: How the file is read.
        max_logs: Of more rows, a random sample of so many distinct ones is kept; memory is bounded.
        seed: Chooses the sample.

    Returns:
        The corpus, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, or has no utterance.
    """
    rows, report = stream_rows(path, options)
    corpus = _corpus(rows, report, max_logs=max_logs, seed=seed)
    check_not_empty(corpus, report.name)
    return corpus, report


def stream_rows(path: str | Path, options: ReadOptions = DEFAULT_READ_OPTIONS) -> tuple[Iterator[Row], ReadReport]:
    """Return the rows that have a text, one by one, for prediction over files of any size.

    Args:
        path: The file, or `-` for standard input.
        options: How the file is read.

    Returns:
        The rows, and what was unusual in those that were read so far.
    """
    rows, report = open_rows(path, options, "ignored")
    return _usable_texts(rows, report), report


def check_not_empty(corpus: Corpus, name: str) -> None:
    """Refuse data without an utterance.

    Raises:
        DataError: There is none.
    """
    if not len(corpus):
        raise DataError(f"{name}: no utterance in it; it needs one text a row")


def check_combined(corpus: Corpus, name: str) -> None:
    """Check that there are utterances without a label, which are the logs.

    Raises:
        DataError: There are none.
    """
    check_not_empty(corpus, name)
    if not len(corpus.unlabelled()):
        raise DataError(f"{name}: every utterance has a label; give the logs as well, or leave some labels empty")


def check_known(corpus: Corpus, name: str) -> None:
    """Check that data which were given as known intents have a label.

    Raises:
        DataError: There is no labelled utterance.
    """
    if not corpus.intents:
        raise DataError(
            f"{name}: no labelled utterance; give each known intent a few, or give the logs alone if no intent is known"
        )


def check_label(label: str, where: str) -> None:
    """Refuse a label that a model folder could not keep.

    Raises:
        DataError: It is too long, or has half a character.
    """
    if len(label) > MAX_LABEL_LENGTH:
        raise DataError(
            f"{where}: a label of {len(label):,} characters; is it the utterance? at most {MAX_LABEL_LENGTH:,}"
        )
    if has_half_character(label):
        raise DataError(f"{where}: half a character (a lone surrogate) in the label; remove it")


def _usable_texts(rows: Iterable[Row], report: ReadReport) -> Iterator[Row]:
    """Yield rows with a text, cut at `MAX_TEXT_LENGTH`; empty rows are skipped and counted."""
    for row in rows:
        report.rows += 1
        text = row.text.strip()
        if not text:
            report.count("empty", row.line)
            continue
        if has_half_character(text):
            raise DataError(f"{report.name}, line {row.line}: half a character (a lone surrogate); remove it")
        if row.label is not None:
            check_label(row.label, f"{report.name}, line {row.line}")
        if len(text) > MAX_TEXT_LENGTH:
            report.count("truncated", row.line)
            text = text[:MAX_TEXT_LENGTH]
        yield Row(row.line, text, row.label)


def _divert_to_sample(rows: Iterable[Row], sample: DistinctSample | None) -> Iterator[Row]:
    """Yield all rows; if more of them have no label than the sample holds, the sample takes those in instead."""
    waiting: list[Row] = []
    for row in rows:
        if row.label is not None or sample is None:
            yield row
        elif sample.seen:
            sample.add(row.text, FROM_LOGS)
        elif len(waiting) < sample.size:
            waiting.append(row)
        else:
            for text in (*(earlier.text for earlier in waiting), row.text):
                sample.add(text, FROM_LOGS)
            waiting.clear()
    yield from waiting


def _labelled_rows(rows: Iterable[Row], report: ReadReport) -> Iterator[Row]:
    """Yield rows of known intents; an empty text or label is an error, because it is a mistake in training data."""
    for row in rows:
        if not row.text.strip():
            raise DataError(f"{report.name}, line {row.line}: the text is empty; fill it in or delete the row")
        if row.label is None or not row.label.strip():
            problem = "the label is empty; fill it in, or move the row to the logs"
            raise DataError(f"{report.name}, line {row.line}: {problem}")
        yield from _usable_texts([Row(row.line, row.text, row.label.strip())], report)


def _with_stripped_labels(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows whose labels have no space around them; an empty label is none."""
    return (Row(row.line, row.text, (row.label or "").strip() or None) for row in rows)


def _corpus(
    rows: Iterable[Row],
    report: ReadReport,
    policy: Conflicts = "error",
    max_logs: int | None = None,
    seed: int = 0,
) -> Corpus:
    """Collect rows in a corpus; repeats are counted, and a text with several labels is treated as the caller wants."""
    sample = None if max_logs is None else DistinctSample(max_logs, seed=seed)
    collected = list(_divert_to_sample(rows, sample))
    kept, report.conflicts = without_conflicts(report.name, collected, policy)
    seen: set[tuple[str, str | None]] = set()
    for row in (collected[i] for i in kept):
        if (row.text, row.label) in seen:
            report.count("duplicates", row.line)
        seen.add((row.text, row.label))
    corpus = Corpus(tuple(collected[i].text for i in kept), tuple(collected[i].label for i in kept))
    if sample is None or not sample.seen:
        return corpus
    report.n_distinct = None if sample.is_everything else sample.n_distinct
    return corpus + sample.corpus()
