"""Where utterances come from: files, or values of the caller's program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from newfound.data.corpus import Corpus
from newfound.data.duplicates import distinct
from newfound.data.redact import redact_corpus
from newfound.data.validation import ReadReport, read_known, read_logs
from newfound.defaults import ENCODING, LABEL_COLUMN, TEXT_COLUMN
from newfound.errors import DataError
from newfound.training.progress import Reporter

KnownSource = str | Path | Corpus | tuple[Sequence[str], Sequence[str]]
"""Labelled utterances: a file, a corpus, or texts and labels."""
LogSource = str | Path | Corpus | Sequence[str]
"""Unlabelled utterances: a file, a corpus, or texts."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file of utterances is read.

    Attributes:
        text_column: The column that holds the utterance.
        label_column: The column that holds the intent.
        format: One of `newfound.data.readers.READERS`; None goes by the file's extension.
        encoding: The file's character encoding.
    """

    text_column: str = TEXT_COLUMN
    label_column: str = LABEL_COLUMN
    format: str | None = None
    encoding: str = ENCODING


DEFAULT_READ_OPTIONS = ReadOptions()


def known_corpus(source: KnownSource, options: ReadOptions, reporter: Reporter) -> Corpus:
    """Return the labelled utterances of the known intents."""
    if isinstance(source, Corpus | tuple):
        if isinstance(source, tuple) and len(source) != 2:
            raise DataError("known: give a file, a corpus, or two lists: texts and labels")
        corpus = source if isinstance(source, Corpus) else Corpus.of(*source)
        if len(corpus.intents) < 2:
            raise DataError(f"{len(corpus.intents)} known intents; a classifier needs at least two")
        return corpus
    corpus, report = read_known(
        source,
        text_column=options.text_column,
        label_column=options.label_column,
        format=options.format,
        encoding=options.encoding,
    )
    _warn(report, reporter)
    return corpus.from_source(Path(source).name)


def logs_corpus(source: LogSource, options: ReadOptions, reporter: Reporter) -> Corpus:
    """Return the unlabelled utterances of the logs, repeats included."""
    if isinstance(source, Corpus):
        return Corpus.of(source.texts, None, [replace(origin, labelled=False) for origin in source.origins])
    if not isinstance(source, str | Path):
        return Corpus.of(source)
    corpus, report = read_logs(
        source, text_column=options.text_column, format=options.format, encoding=options.encoding
    )
    _warn(report, reporter)
    return corpus.from_source(Path(source).name)


def redacted(corpus: Corpus, reporter: Reporter) -> Corpus:
    """Return the corpus with masks for what identifies a person, and say how many utterances have one."""
    masked, changed = redact_corpus(corpus)
    reporter.note(f"Masked something in {changed:,} of {len(corpus):,} utterances.")
    return masked


def distinct_logs(logs: Corpus, reporter: Reporter) -> Corpus:
    """Return the logs without repeats, each utterance counted as often as it was said."""
    found = distinct(logs)
    if len(found) < len(logs):
        reporter.note(
            f"{len(logs):,} utterances in the logs, {len(found):,} distinct ones: each is learned once, and counts as "
            "often as it was said."
        )
    return found


def _warn(report: ReadReport, reporter: Reporter) -> None:
    for warning in report.warnings():
        reporter.warn(warning)
