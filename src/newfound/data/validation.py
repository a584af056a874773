"""Makes rows of the records of a file, checks them, and makes a `Corpus` of them.

What cannot be used raises an error with the file, the line and the remedy; what is unusual but usable is counted. Texts
with more than one label are found, and dealt with as the caller wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from newfound.data.circumstances import Turn, with_circumstances
from newfound.data.corpus import Corpus, Origin, label_text
from newfound.data.duplicates import DistinctSample
from newfound.data.readers import read_records
from newfound.data.rows import (
    DEFAULT_READ_OPTIONS,
    MAX_TEXT_LENGTH,
    STANDARD_INPUT,
    LabelUse,
    ReadOptions,
    ReadReport,
    Record,
    Records,
    Row,
    Source,
)
from newfound.data.times import with_days
from newfound.defaults import Conflicts
from newfound.errors import ColumnMissing, ConflictingLabels, DataError
from newfound.preparation import Preparation
from newfound.text import has_half_character, shorten

MAX_LENGTH_READ = 20_000  # characters of a mail or a page, of which its own words are kept
MAX_LABEL_LENGTH = 1_000  # characters; a model folder keeps no longer names
MAX_CHARACTERS_SHOWN = 60
FEW_EXAMPLES = 5  # below this an intent is too small to be learned or judged well
MIN_LIKENESS_OF_LABELS = 0.85  # as difflib measures it; of the 323 labels of seven corpora, one pair is as alike
MAX_RELATIVE_SIZE_OF_MISSPELT = 0.2  # of the size of the label that is meant, unless there are few examples
MAX_LABELS_COMPARED = 1_000  # a few seconds


@dataclass(frozen=True, slots=True)
class Conflict:
    """A text with more than one label, with the line and the label of each of its rows."""

    text: str
    uses: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        (first_line, first), *others = self.uses
        line, label = next(use for use in others if use[1] != first)
        shown = shorten(self.text, MAX_CHARACTERS_SHOWN)
        return f"line {line}: '{shown}' is labelled {label!r}, but {first!r} on line {first_line}"


def open_rows(
    path: str | Path,
    options: ReadOptions = DEFAULT_READ_OPTIONS,
    labels: LabelUse = "required",
    *,
    times: bool = False,
    skip_unlabelled: bool = False,
) -> tuple[Iterator[Row], ReadReport]:
    """Return the usable rows of a file, one by one, and what is unusual in those that were read so far.

    Args:
        path: The file, or `-` for standard input.
        options: How the file is read.
        labels: "required" for known intents, where every row has a text and a label; "optional" for known intents and
            logs in one file, where rows without a label are the logs; "ignored" for logs.
        times: Whether the days of logs are read, too. Their column is looked for in the first rows.
        skip_unlabelled: Whether rows without a label are left out and counted, where labels are required.

    Raises:
        DataError: The file cannot be read, or does not hold what is needed; raised as the rows are read.
    """
    report = ReadReport(STANDARD_INPUT if str(path) == "-" else str(path))
    source = Source(report, options=options, labels=labels, times=times)
    records = with_circumstances(read_records(path, source), source)
    return usable_rows(source, records, skip_unlabelled=skip_unlabelled), report


def usable_rows(source: Source, records: Records, *, skip_unlabelled: bool = False) -> Iterator[Row]:
    """Yield the records that can be used as rows; the report counts those that are left out or changed."""
    timed = with_days(records, source) if source.reads_times else ((*record, None) for record in records)
    for line, record, day in timed:
        where = f"{source.name}, line {line}"
        text, label = _text_and_label(source, where, record)
        if skip_unlabelled and label is None:
            source.report.count("unlabelled", line)
            continue
        source.report.rows += 1
        if not text and (source.labels != "required" or skip_unlabelled):
            source.report.count("empty", line)
            continue
        if not text:
            raise DataError(f"{where}: the text is empty; fill it in or delete the row")
        if label is None and source.labels == "required":
            raise DataError(f"{where}: the label is empty; fill it in, or move the row to the logs")
        check_text(text, where)
        if label is not None:
            check_label(label, where)
        if len(text) > MAX_TEXT_LENGTH:
            text = Preparation()(text[:MAX_LENGTH_READ])
        if len(text) > MAX_TEXT_LENGTH:
            source.report.count("truncated", line)
            text = text[:MAX_TEXT_LENGTH]
        origin = _origin(day, label is not None)
        yield Row(line, text, label, replace(origin, said=record.said) if isinstance(record, Turn) else origin)


def _text_and_label(source: Source, where: str, record: Record) -> tuple[str, str | None]:
    """Return the text and the label of a record without spaces around them; an empty label is none."""
    text_column, label_column = source.report.text_column or "text", source.report.label_column or "label"
    for name, role in ((text_column, "text"), (label_column, "label")):
        if name not in record and (role == "text" or source.labels == "required"):
            raise ColumnMissing(where, name, role, list(record))
    text, value = record[text_column], record.get(label_column) if source.reads_labels else None
    if not isinstance(text, str | None):
        raise DataError(f"{where}: {text_column!r} is not a string but {type(text).__name__}")
    try:
        label = label_text(value)
    except DataError:
        raise DataError(f"{where}: the label is not a string but {type(value).__name__}") from None
    return (text or "").strip(), (label or "").strip() or None


def read_corpus(
    path: str | Path,
    options: ReadOptions = DEFAULT_READ_OPTIONS,
    labels: LabelUse = "required",
    *,
    max_logs: int | None = None,
) -> tuple[Corpus, ReadReport]:
    """Read utterances, and return what was unusual in the file as well. See `open_rows` and `collect`."""
    rows, report = open_rows(path, options, labels, times=True)
    return collect(rows, report, labels, max_logs=max_logs), report


def collect(
    rows: Iterable[Row],
    report: ReadReport,
    labels: LabelUse,
    *,
    conflicts: Conflicts = "error",
    max_logs: int | None = None,
    seed: int = 0,
) -> Corpus:
    """Return rows as a corpus; the report is told of conflicts, which become what is wanted, and of repeats.

    Of more than `max_logs` rows without a label, a random sample of so many distinct ones is kept, chosen by `seed`,
    which bounds the memory.

    Raises:
        DataError: A row cannot be used, or the rows do not hold what is needed.
    """
    sample = None if max_logs is None else DistinctSample(max_logs, seed=seed)
    kept, report.conflicts = without_conflicts(report.name, list(_divert_to_sample(rows, sample)), conflicts)
    seen: set[tuple[str, str | None]] = set()
    for row in kept:
        if (row.text, row.label) in seen:
            report.count("duplicates", row.line)
        seen.add((row.text, row.label))
    corpus = Corpus(tuple(r.text for r in kept), tuple(r.label for r in kept), tuple(r.origin for r in kept))
    if sample is not None and sample.seen:
        if not sample.is_everything:
            report.note(note_of_sample(sample.size))
        corpus += sample.corpus()
    if labels == "required" and not corpus.intents:
        remedy = "give each known intent a few, or give the logs alone if no intent is known"
        raise DataError(f"{report.name}: no labelled utterance; {remedy}")
    if not len(corpus):
        raise DataError(f"{report.name}: no utterance in it; it needs one text a row")
    if labels == "optional" and None not in corpus.labels:
        remedy = "give the logs as well, or leave some labels empty"
        raise DataError(f"{report.name}: every utterance has a label; {remedy}")
    return corpus


def note_of_sample(size: int) -> str:
    """Return what is said of logs of which only so many distinct utterances are kept."""
    return (
        f"intents are looked for in a random sample of {size:,} distinct utterances of the logs, which bounds time and "
        "memory (max_logs); predictions assign the others"
    )


def check_label(label: str, where: str) -> None:
    """Refuse a label that a model folder could not keep: one that is too long, or has half a character."""
    if len(label) > MAX_LABEL_LENGTH:
        raise DataError(
            f"{where}: a label of {len(label):,} characters; is it the utterance? at most {MAX_LABEL_LENGTH:,}"
        )
    if has_half_character(label):
        raise DataError(f"{where}: half a character (a lone surrogate) in the label; remove it")


def check_text(text: str, where: str) -> None:
    """Refuse a text with half a character, which a model folder could not keep."""
    if has_half_character(text):
        raise DataError(f"{where}: half a character (a lone surrogate); remove it")


def _divert_to_sample(rows: Iterable[Row], sample: DistinctSample | None) -> Iterator[Row]:
    """Yield all rows; if more of them have no label than the sample holds, the sample takes those in instead."""
    waiting: list[Row] = []
    for row in rows:
        if row.label is not None or sample is None:
            yield row
        elif sample.seen:
            sample.add(row.text, row.origin)
        elif len(waiting) < sample.size:
            waiting.append(row)
        else:
            for held in (*waiting, row):
                sample.add(held.text, held.origin)
            waiting.clear()
    yield from waiting


@cache
def _origin(day: str | None, labelled: bool) -> Origin:
    return Origin(labelled, days=() if day is None else ((day, 1),))


def find_conflicts(rows: Iterable[Row]) -> list[Conflict]:
    """Return the texts that have more than one label, in order. Rows without a label do not count."""
    uses: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        if row.label is not None:
            uses.setdefault(row.text, []).append((row.line, row.label))
    return [Conflict(text, tuple(lines)) for text, lines in uses.items() if len({label for _, label in lines}) > 1]


def without_conflicts(name: str, rows: Sequence[Row], policy: Conflicts) -> tuple[list[Row], list[Conflict]]:
    """Return the rows to keep, and the conflicts; these are an error by the policy of that name.

    Rows without a label are kept.
    """
    conflicts = find_conflicts(rows)
    if conflicts and policy == "error":
        where = f"{name}," if len(conflicts) == 1 else f"{name}: {len(conflicts):,} texts have several labels:"
        raise ConflictingLabels(f"{where} {conflicts[0]}", conflicts)
    first = {conflict.text: conflict.uses[0][1] for conflict in conflicts}
    kept = [
        row
        for row in rows
        if row.label is None or row.text not in first or (policy == "first" and row.label == first[row.text])
    ]
    return kept, conflicts


def misspelt_labels(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return labels that are likely misspelt, and the more frequent label that is likely meant.

    They differ in case and separators only, or are spelt alike and one of them is rare. Labels that differ in digits
    only are meant to differ. `sizes` has the number of utterances of each label.
    """
    if len(sizes) > MAX_LABELS_COMPARED:
        return {}
    intended = {}
    words = {label: re.sub(r"\d", "", label) for label in sizes}
    frequent: dict[str, str] = {}  # the letters and digits of each label that is not misspelt
    for label in sorted(sizes, key=lambda label: (-sizes[label], label)):
        letters = "".join(filter(str.isalnum, label.casefold()))
        if letters in frequent:
            intended[label] = frequent[letters]
            continue
        alike = {
            other.casefold(): other
            for other in frequent.values()
            if sizes[label] <= max(FEW_EXAMPLES - 1, MAX_RELATIVE_SIZE_OF_MISSPELT * sizes[other])
            and words[other] != words[label]
        }
        close = get_close_matches(label.casefold(), alike, n=1, cutoff=MIN_LIKENESS_OF_LABELS)
        if close:
            intended[label] = alike[close[0]]
        else:
            frequent[letters or label] = label
    return intended
