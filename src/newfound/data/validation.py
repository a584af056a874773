"""Rows to a `Corpus`: what is wrong stops with the file, the line and the remedy; what is only odd is counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from newfound.data.corpus import Corpus
from newfound.data.readers import Columns, Row, open_rows
from newfound.errors import DataError
from newfound.text import has_half_character

LONGEST_TEXT = 2_000
"""Characters kept of one utterance: more than any encoder reads, far less than a pasted log file."""


@dataclass(slots=True)
class ReadReport:
    """What was odd but usable in one file."""

    name: str
    rows: int = 0
    duplicates: int = 0
    truncated: int = 0
    empty: int = 0
    recoded: int = 0
    first_line: dict[str, int] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """One line per oddity, with a count and the first line it was seen on."""
        notes = {
            "truncated": f"longer than {LONGEST_TEXT:,} characters, cut there",
            "empty": "empty, skipped",
            "recoded": "not UTF-8, read as Windows-1252",
            "duplicates": "repeats of an earlier text, kept",
        }
        return [
            f"{self.name}: {count:,} {'row' if count == 1 else 'rows'} {note} (first: line {self.first_line[kind]})"
            for kind, note in notes.items()
            if (count := getattr(self, kind))
        ]

    def count(self, kind: str, line: int) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        self.first_line.setdefault(kind, line)


def read_known(
    path: str | Path,
    *,
    text_column: str = "text",
    label_column: str = "label",
    format: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Corpus, ReadReport]:
    """Labelled utterances of the known intents; every row needs a text and a label, and there are two classes."""
    rows = open_rows(path, Columns(text_column, label_column), format=format, encoding=encoding)
    report = ReadReport(str(path))
    corpus = _corpus(_labelled_rows(rows, report), report)
    if len(corpus.intents) == 0:
        raise DataError(f"{path}: no labelled utterance; it needs at least two known intents with a few each")
    if len(corpus.intents) == 1:
        raise DataError(
            f"{path}: only one intent ({corpus.intents[0]!r}); a classifier needs at least two known intents"
        )
    return corpus, report


def read_logs(
    path: str | Path,
    *,
    text_column: str = "text",
    format: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Corpus, ReadReport]:
    """Unlabelled utterances; a label column, if there is one, is not read."""
    report = ReadReport(str(path))
    rows = _unlabelled_rows(path, text_column, format, encoding, report)
    corpus = _corpus(_usable_texts(rows, report), report)
    if not len(corpus):
        raise DataError(f"{path}: no utterance in it; it needs one text a row")
    return corpus, report


def stream_rows(
    path: str | Path,
    *,
    text_column: str = "text",
    format: str | None = None,
    encoding: str = "utf-8",
    report: ReadReport,
) -> Iterator[Row]:
    """Rows with a usable text one by one, for prediction over files of any size."""
    return _usable_texts(_unlabelled_rows(path, text_column, format, encoding, report), report)


def _unlabelled_rows(
    path: str | Path, text_column: str, format: str | None, encoding: str, report: ReadReport
) -> Iterator[Row]:
    """Logs come from many sources: a line in another encoding is counted, not refused."""

    def recoded(line: int) -> None:
        report.count("recoded", line)

    return open_rows(path, Columns(text_column, None), format=format, encoding=encoding, recoded=recoded)


def _usable_texts(rows: Iterable[Row], report: ReadReport) -> Iterator[Row]:
    """Rows with a text, cut where absurdly long; empty ones are skipped and counted."""
    for row in rows:
        report.rows += 1
        text = row.text.strip()
        if not text:
            report.count("empty", row.line)
            continue
        if has_half_character(text):
            raise DataError(f"{report.name}, line {row.line}: half a character (a lone surrogate); remove it")
        if len(text) > LONGEST_TEXT:
            report.count("truncated", row.line)
            text = text[:LONGEST_TEXT]
        yield Row(row.line, text, row.label)


def _labelled_rows(rows: Iterable[Row], report: ReadReport) -> Iterator[Row]:
    """Rows of known intents: an empty text or label there is a mistake in somebody's training data."""
    for row in rows:
        if not row.text.strip():
            raise DataError(f"{report.name}, line {row.line}: the text is empty; fill it in or delete the row")
        if row.label is None or not row.label.strip():
            raise DataError(
                f"{report.name}, line {row.line}: the label is empty; fill it in, or move the row to the logs"
            )
        yield from _usable_texts([Row(row.line, row.text, row.label.strip())], report)


def _corpus(rows: Iterable[Row], report: ReadReport) -> Corpus:
    """Collect rows; count repeats, refuse a text that carries two labels."""
    texts: list[str] = []
    labels: list[str | None] = []
    seen: dict[str, tuple[int, str | None]] = {}
    for row in rows:
        if row.text in seen:
            line, label = seen[row.text]
            if label != row.label:
                raise DataError(
                    f"{report.name}, line {row.line}: {_short(row.text)!r} is labelled {row.label!r}, but "
                    f"{label!r} on line {line}; keep one of them"
                )
            report.count("duplicates", row.line)
        else:
            seen[row.text] = (row.line, row.label)
        texts.append(row.text)
        labels.append(row.label)
    return Corpus(tuple(texts), tuple(labels))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
