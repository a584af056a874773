"""Checks the rows of a file and makes a `Corpus` of them.

What cannot be used raises an error with the file, the line and the remedy; what is unusual but usable is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from newfound.data.corpus import Corpus
from newfound.data.readers import Columns, Row, open_rows
from newfound.errors import DataError
from newfound.text import has_half_character

MAX_TEXT_LENGTH = 2_000
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
        first_line: The first line of each of the above, by the name of the attribute.
    """

    name: str
    rows: int = 0
    duplicates: int = 0
    truncated: int = 0
    empty: int = 0
    recoded: int = 0
    first_line: dict[str, int] = field(default_factory=dict)

    def warnings(self) -> list[str]:
        """Return one message for each kind of problem, with a count and the first line that has it."""
        notes = {
            "truncated": f"longer than {MAX_TEXT_LENGTH:,} characters, cut there",
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
        """Add one to the count of a kind of problem (the name of an attribute), seen on this line."""
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
    """Read labelled utterances of the known intents.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances.
        label_column: The column of the intents.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.

    Returns:
        The corpus, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, a row lacks a text or a label, a text has two labels, or there are fewer
            than two intents.
    """
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
    """Read unlabelled utterances; a label column is ignored.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.

    Returns:
        The corpus, and what was unusual in the file.

    Raises:
        DataError: The file cannot be read, or has no utterance.
    """
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
    """Yield the rows that have a text, one by one, for prediction over files of any size.

    Args:
        path: The file, or `-` for standard input.
        text_column: The column of the utterances.
        format: The file's format; by default, its extension decides.
        encoding: The file's character encoding.
        report: Where unusual rows are counted.
    """
    return _usable_texts(_unlabelled_rows(path, text_column, format, encoding, report), report)


def _unlabelled_rows(
    path: str | Path, text_column: str, format: str | None, encoding: str, report: ReadReport
) -> Iterator[Row]:
    """Yield the rows of logs; a line in another encoding is counted and not refused, as logs come from many sources."""

    def count_recoded(line: int) -> None:
        report.count("recoded", line)

    return open_rows(path, Columns(text_column, None), format=format, encoding=encoding, on_fallback=count_recoded)


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
        if len(text) > MAX_TEXT_LENGTH:
            report.count("truncated", row.line)
            text = text[:MAX_TEXT_LENGTH]
        yield Row(row.line, text, row.label)


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


def _corpus(rows: Iterable[Row], report: ReadReport) -> Corpus:
    """Collect rows in a corpus; repeats are counted, and a text with two different labels is refused."""
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
