"""Checks the rows of a file and makes a `Corpus` of them.

What cannot be used raises an error with the file, the line and the remedy; what is unusual but usable is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from newfound.data.conflicts import Conflict, without_conflicts
from newfound.data.corpus import FROM_LOGS, Corpus
from newfound.data.readers import open_rows
from newfound.data.rows import Columns, Row
from newfound.data.sampling import DistinctSample
from newfound.defaults import Conflicts
from newfound.errors import DataError
from newfound.text import has_half_character

MAX_TEXT_LENGTH = 2_000
MAX_LABEL_LENGTH = 1_000  # characters; a model folder keeps no longer names
"""Characters kept of one utterance. Encoders read fewer; a longer text is most likely a pasted file."""


@dataclass(slots=True)
class ReadReport:
    """What was unusual but usable in one file.

    Attributes:
        name: The file's name.
        rows: Number of rows read.
        duplicates: Number of repeats of an earlier text.
        truncated: Number of texts that were cut at `MAX_TEXT_LENGTH`.
        empty: Number of rows without text, which were skipped.
        recoded: Number of lines that were read as Windows-1252.
        unlabelled: Number of rows without a label, which were skipped.
        first_line: The first line of each of the above, by the name of the attribute.
        conflicts: Texts with several labels, which were resolved.
        notes: What a user should know about how the file was read.
    """

    name: str
    rows: int = 0
    duplicates: int = 0
    truncated: int = 0
    empty: int = 0
    recoded: int = 0
    unlabelled: int = 0
    first_line: dict[str, int] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def warnings(self) -> list[str]:
        """Return one message for each kind of problem, with a count and the first line that has it."""
        notes = {
            "truncated": f"longer than {MAX_TEXT_LENGTH:,} characters, cut there",
            "empty": "empty, skipped",
            "recoded": "not UTF-8, read as Windows-1252",
            "unlabelled": "without a label, skipped",
            "duplicates": "repeats of an earlier text, kept",
        }
        return [
            f"{self.name}: {count:,} {'row' if count == 1 else 'rows'} {note} (first: line {self.first_line[kind]})"
            for kind, note in notes.items()
            if (count := getattr(self, kind))
        ]

    def count(self, kind: str, line: int) -> None:
        """Add one to the count of a kind of problem (the name of an attribute), seen on this line."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.first_line.setdefault(kind, line)


def read_known(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    header: bool | None = None,
    conflicts: Conflicts = "error",
) -> tuple[Corpus, ReadReport]:
    """Read labelled utterances of the known intents.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances; by default it is found by its name.
        label_column: The column of the intents; by default it is found by its name.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.
        delimiter: What separates the fields of a table; by default it is found out.
        header: Whether a table starts with a line of column names; None expects one.
        conflicts: What becomes of a text with several labels.

    Returns:
        The corpus, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, a row lacks a text or a label, a text has two labels, or there is no row.
    """
    report = ReadReport(str(path))
    columns = Columns(text_column, label_column, "required", header)
    rows = _open(path, columns, report, format=format, encoding=encoding, delimiter=delimiter)
    corpus = _corpus(_labelled_rows(rows, report), report, conflicts)
    check_known(corpus, str(path))
    return corpus, report


def read_labelled_rows(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    header: bool | None = None,
) -> tuple[list[Row], ReadReport]:
    """Read the rows that have a text and a label, conflicting labels included; the others are counted.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances; by default it is found by its name.
        label_column: The column of the intents; by default it is found by its name.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.
        delimiter: What separates the fields of a table; by default it is found out.
        header: Whether a table starts with a line of column names; None expects one.
    """
    report = ReadReport(str(path))
    columns = Columns(text_column, label_column, "required", header)
    rows = []
    for row in _open(path, columns, report, format=format, encoding=encoding, delimiter=delimiter):
        label = (row.label or "").strip()
        if label:
            rows.append(Row(row.line, row.text, label))
        else:
            report.count("unlabelled", row.line)
    return list(_usable_texts(rows, report)), report


def read_combined(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    header: bool | None = None,
    conflicts: Conflicts = "error",
    sample: DistinctSample | None = None,
) -> tuple[Corpus, ReadReport]:
    """Read a file of labelled and unlabelled utterances: a row without a label is part of the logs.

    If no row has a label, or there is no column of labels, all rows are logs.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances; by default it is found by its name.
        label_column: The column of the intents; by default it is found by its name.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.
        delimiter: What separates the fields of a table; by default it is found out.
        header: Whether a table starts with a line of column names; None expects one.
        conflicts: What becomes of a text with several labels.
        sample: If there are more rows without a label than it holds, they go into the sample one by one, and the corpus
            has what it keeps; so memory is bounded.

    Returns:
        The corpus, in which some utterances have no label, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, has no utterance, or every row has a label.
    """
    report = ReadReport(str(path))
    columns = Columns(text_column, label_column, "optional", header)
    rows = _open(path, columns, report, format=format, encoding=encoding, delimiter=delimiter, mixed_encodings=True)
    stripped = (Row(row.line, row.text, (row.label or "").strip() or None) for row in rows)
    corpus = _corpus(_without_sampled(_usable_texts(stripped, report), sample), report, conflicts)
    if sample is not None and sample.seen:
        corpus += sample.corpus()
    check_combined(corpus, str(path))
    return corpus, report


def check_combined(corpus: Corpus, name: str) -> None:
    """Check that there are utterances without a label, which are the logs.

    Raises:
        DataError: There are none.
    """
    if not len(corpus):
        raise DataError(f"{name}: no utterance in it; it needs one text a row")
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


def read_logs(
    path: str | Path,
    *,
    text_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    header: bool | None = None,
    sample: DistinctSample | None = None,
) -> tuple[Corpus, ReadReport]:
    """Read unlabelled utterances; a label column is ignored.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances; by default it is found by its name.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.
        delimiter: What separates the fields of a table; by default it is found out.
        header: Whether a table starts with a line of column names; None expects one.
        sample: If the file has more rows than it holds, they go into the sample one by one, and the corpus is what it
            keeps; so memory is bounded.

    Returns:
        The corpus, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, or has no utterance.
    """
    report = ReadReport(str(path))
    rows = stream_rows(
        path,
        text_column=text_column,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        header=header,
        report=report,
    )
    corpus = _corpus(_without_sampled(rows, sample), report)
    if sample is not None and sample.seen:
        corpus += sample.corpus()
    if not len(corpus):
        raise DataError(f"{path}: no utterance in it; it needs one text a row")
    return corpus, report


def stream_rows(
    path: str | Path,
    *,
    text_column: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    header: bool | None = None,
    report: ReadReport,
) -> Iterator[Row]:
    """Yield the rows that have a text, one by one, for prediction over files of any size.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances; by default it is found by its name.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.
        delimiter: What separates the fields of a table; by default it is found out.
        header: Whether a table starts with a line of column names; None expects one.
        report: Where unusual rows are counted.
    """
    columns = Columns(text_column, None, "ignored", header)
    # A line in another encoding is counted and not refused, as logs come from many sources.
    rows = _open(path, columns, report, format=format, encoding=encoding, delimiter=delimiter, mixed_encodings=True)
    return _usable_texts(rows, report)


def _open(
    path: str | Path,
    columns: Columns,
    report: ReadReport,
    *,
    format: str | None,
    encoding: str,
    delimiter: str | None,
    mixed_encodings: bool = False,
) -> Iterator[Row]:
    return open_rows(
        path,
        columns,
        format=format,
        encoding=encoding,
        delimiter=delimiter,
        mixed_encodings=mixed_encodings,
        on_fallback=lambda line: report.count("recoded", line),
        on_note=lambda note: None if note in report.notes else report.notes.append(note),
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


def _without_sampled(rows: Iterable[Row], sample: DistinctSample | None) -> Iterator[Row]:
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
            raise DataError(
                f"{report.name}, line {row.line}: the label is empty; fill it in, or move the row to the logs"
            )
        yield from _usable_texts([Row(row.line, row.text, row.label.strip())], report)


def _corpus(rows: Iterable[Row], report: ReadReport, policy: Conflicts = "error") -> Corpus:
    """Collect rows in a corpus; repeats are counted, and a text with several labels is treated as the caller wants."""
    collected = list(rows)
    kept, report.conflicts = without_conflicts(report.name, collected, policy)
    seen: set[tuple[str, str | None]] = set()
    for row in (collected[i] for i in kept):
        if (row.text, row.label) in seen:
            report.count("duplicates", row.line)
        seen.add((row.text, row.label))
    return Corpus(tuple(collected[i].text for i in kept), tuple(collected[i].label for i in kept))
