"""Where utterances come from: files, or values of the caller's program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from newfound.data.conflicts import Conflict, without_conflicts, write_conflicts
from newfound.data.corpus import Corpus
from newfound.data.duplicates import distinct
from newfound.data.readers import open_rows
from newfound.data.redact import redact, redact_corpus
from newfound.data.rows import Columns, Row
from newfound.data.sampling import DistinctSample
from newfound.data.validation import (
    ReadReport,
    check_combined,
    check_known,
    check_label,
    read_combined,
    read_known,
    read_logs,
)
from newfound.defaults import CONFLICTS, ENCODING, LABEL_COLUMN, TEXT_COLUMN, Conflicts
from newfound.errors import ColumnMissing, ConflictingLabels, DataError, SettingsError
from newfound.text import has_half_character
from newfound.training.progress import Reporter

MIN_UTTERANCES_PER_NEW_INTENT = 2  # fewer make no intent
FEW_UTTERANCES_PER_NEW_INTENT = 5  # on average; below it a warning is due
ROWS_LOOKED_AT = 50  # to see whether a file has labels
NO_KNOWN_INTENTS = "No known intents: all intents are discovered."

KnownSource = str | Path | Corpus | tuple[Sequence[str], Sequence[str | int | None]]
"""Labelled utterances: a file, a corpus, or texts and labels."""
LogSource = str | Path | Corpus | Sequence[str]
"""Unlabelled utterances: a file, a corpus, or texts."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file of utterances is read.

    Attributes:
        text_column: The column that holds the utterance; None finds it by its name.
        label_column: The column that holds the intent; None finds it by its name.
        format: One of `newfound.data.readers.READERS`; None goes by the file's extension.
        encoding: The file's character encoding.
        delimiter: What separates the fields of a table: a character, or tab; None finds it out.
        header: Whether a table starts with a line of column names. None expects one, and refuses a first line that
            looks like data; without one, columns are named by their position, from 1.
    """

    text_column: str | None = TEXT_COLUMN
    label_column: str | None = LABEL_COLUMN
    format: str | None = None
    encoding: str = ENCODING
    delimiter: str | None = None
    header: bool | None = None


DEFAULT_READ_OPTIONS = ReadOptions()


def known_and_logs(
    known: KnownSource | None,
    logs: LogSource | None,
    options: ReadOptions,
    options_for_logs: ReadOptions,
    reporter: Reporter,
    *,
    conflicts: Conflicts = CONFLICTS,
    conflicts_file: Path | None = None,
    masked: bool = False,
    sample: DistinctSample | None = None,
) -> tuple[Corpus, Corpus]:
    """Return the labelled utterances of the known intents and the unlabelled ones of the logs.

    There may be no known intents: then all intents are to be discovered.

    Args:
        known: Labelled utterances. Without logs, those that have no label are the logs; if none has a label, all are.
        logs: Unlabelled utterances.
        options: How the file of known intents, or the only file, is read.
        options_for_logs: How the file of logs is read.
        reporter: Is told what was unusual.
        conflicts: What becomes of a text with several labels.
        conflicts_file: Where the texts with several labels are listed.
        masked: Whether texts are listed and shown with masks for what identifies a person.
        sample: Takes in a file of logs that is larger than it, so that memory is bounded.
    """
    if known is None:
        if logs is None:
            raise DataError("nothing to discover intents in; give the logs")
        labelled, unlabelled = Corpus.of([]), logs_corpus(logs, options_for_logs, reporter, sample=sample)
        reporter.note(NO_KNOWN_INTENTS)
    elif logs is None:
        combined = _labelled_corpus(
            known, options, reporter, conflicts, conflicts_file, combined=True, masked=masked, sample=sample
        )
        labelled, unlabelled = combined.labelled(), combined.unlabelled()
        if len(labelled):
            reporter.note(
                f"{_name_of(known)}: {len(labelled):,} utterances with a label are the known intents, "
                f"{len(unlabelled):,} without one are the logs."
            )
        else:
            reporter.note(
                f"{_name_of(known)}: none of its {len(unlabelled):,} utterances has a label (in a column such as label "
                f"or intent), so that all of them are logs. {NO_KNOWN_INTENTS}"
            )
    else:
        try:
            labelled = _labelled_corpus(
                known, options, reporter, conflicts, conflicts_file, combined=False, masked=masked
            )
        except DataError as error:
            if _has_labels(known, options) is False and _has_labels(logs, options_for_logs):
                error.args = (f"{error}; or are the two files swapped? {logs} has labels, and this one has none",)
            raise
        try:
            unlabelled = logs_corpus(logs, options_for_logs, reporter, sample=sample)
        except ColumnMissing as error:
            error.in_logs = True
            raise
        unlabelled, labelled = labelled.unlabelled() + unlabelled, labelled.labelled()
    _warn_of_single_examples(labelled, reporter)
    return labelled, unlabelled


def _has_labels(source: KnownSource | LogSource, options: ReadOptions) -> bool | None:
    """Return whether one of the first rows of a file has a label; None if that cannot be found out."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return None
    columns = Columns(options.text_column, options.label_column, "optional", options.header)
    try:
        rows = open_rows(source, columns, format=options.format, encoding=options.encoding, delimiter=options.delimiter)
        return any(row.label and row.label.strip() for row in islice(rows, ROWS_LOOKED_AT))
    except DataError:
        return None


def _labelled_corpus(
    source: KnownSource,
    options: ReadOptions,
    reporter: Reporter,
    policy: Conflicts,
    conflicts_file: Path | None,
    *,
    combined: bool,
    masked: bool,
    sample: DistinctSample | None = None,
) -> Corpus:
    """Return the labelled utterances of the known intents; combined data hold unlabelled ones as well."""
    try:
        if isinstance(source, str | Path):
            if combined:
                corpus, report = read_combined(source, **asdict(options), conflicts=policy, sample=sample)
            else:
                corpus, report = read_known(source, **asdict(options), conflicts=policy)
            tell(report, reporter)
            conflicts = report.conflicts
            corpus = corpus.from_source(Path(source).name)
        else:
            corpus = corpus_of(source)
            kept, conflicts = without_conflicts("known", rows_of(corpus), policy)
            corpus = corpus.take(kept)
            (check_combined if combined else check_known)(corpus, "known")
    except ConflictingLabels as error:
        shown, listed = error.shown, list(error.conflicts)
        if masked:
            shown, listed = redact(shown), _with_masks(listed)
        if conflicts_file is not None:
            write_conflicts(conflicts_file, listed)
        raise ConflictingLabels(shown, listed, conflicts_file) from None
    if conflicts:
        listed = _with_masks(conflicts) if masked else list(conflicts)
        _tell_of_conflicts(_name_of(source), listed, policy, conflicts_file, reporter)
    return corpus


def corpus_of(source: Corpus | tuple[Sequence[str], Sequence[str | int | None]]) -> Corpus:
    """Return a corpus of the values of a caller's program."""
    if isinstance(source, Corpus):
        return source
    if not isinstance(source, tuple) or len(source) != 2:
        raise DataError("known: give a file, a corpus, or two lists: texts and labels (texts alone are logs: `logs=`)")
    return _checked(Corpus.of(*source))


def _checked(corpus: Corpus) -> Corpus:
    """Refuse texts and labels of a caller's program that a model folder could not keep."""
    for number, (text, label) in enumerate(zip(corpus.texts, corpus.labels, strict=True), 1):
        if has_half_character(text):
            raise DataError(f"known, text {number}: half a character (a lone surrogate); remove it")
        if label is not None:
            check_label(label, f"known, label {number}")
    return corpus


def rows_of(corpus: Corpus) -> list[Row]:
    """Return the utterances as rows; their lines are their positions, from 1."""
    return [Row(i, text, label) for i, (text, label) in enumerate(zip(corpus.texts, corpus.labels, strict=True), 1)]


def _with_masks(conflicts: Sequence[Conflict]) -> list[Conflict]:
    return [replace(conflict, text=redact(conflict.text)) for conflict in conflicts]


def _tell_of_conflicts(
    name: str, conflicts: Sequence[Conflict], policy: Conflicts, path: Path | None, reporter: Reporter
) -> None:
    done = "their first label was kept" if policy == "first" else "they were dropped"
    listed = ""
    if path is not None:
        write_conflicts(path, conflicts)
        listed = f" (all: {path})"
    what = "1 text has" if len(conflicts) == 1 else f"{len(conflicts):,} texts have"
    reporter.warn(f"{name}: {what} several labels; {done}; {conflicts[0]}{listed}")


def _warn_of_single_examples(known: Corpus, reporter: Reporter) -> None:
    single = sorted(intent for intent, size in known.sizes.items() if size == 1)
    if single:
        names = ", ".join(single[:5]) + (", ..." if len(single) > 5 else "")
        what = "1 known intent has" if len(single) == 1 else f"{len(single):,} known intents have"
        reporter.warn(f"{what} a single example ({names}); give each a few more, or it will be recognised badly")


def check_n_new(n_new: int | Literal["auto"], logs: Corpus, reporter: Reporter) -> None:
    """Refuse more new intents than the logs can hold, and warn of many.

    Args:
        n_new: How many new intents to look for, or "auto".
        logs: The logs without repeats.
        reporter: Is told if the intents would be very small.

    Raises:
        SettingsError: There would be fewer than two utterances for an intent.
    """
    if n_new == "auto" or not isinstance(n_new, int) or not n_new:
        return
    have = f"n_new={n_new}, but the logs have {len(logs):,} distinct utterances"
    if len(logs) < MIN_UTTERANCES_PER_NEW_INTENT * n_new:
        raise SettingsError(f"{have}, fewer than {MIN_UTTERANCES_PER_NEW_INTENT} for each new intent; lower it")
    if len(logs) < FEW_UTTERANCES_PER_NEW_INTENT * n_new:
        reporter.warn(f"{have}, {len(logs) / n_new:.1f} for each new intent; most of them will not be real intents")


def logs_corpus(
    source: LogSource, options: ReadOptions, reporter: Reporter, *, sample: DistinctSample | None = None
) -> Corpus:
    """Return the unlabelled utterances of the logs, repeats included; of a larger file what the sample keeps of it."""
    if isinstance(source, Corpus):
        return Corpus.of(source.texts, None, [replace(origin, labelled=False) for origin in source.origins])
    if not isinstance(source, str | Path):
        return Corpus.of(source)
    corpus, report = read_logs(
        source,
        text_column=options.text_column,
        format=options.format,
        encoding=options.encoding,
        delimiter=options.delimiter,
        header=options.header,
        sample=sample,
    )
    tell(report, reporter)
    return corpus.from_source(Path(source).name)


def sample_for(max_logs: int, seed: int) -> DistinctSample:
    """Return an empty sample of so many distinct utterances, or refuse a number that is none."""
    if type(max_logs) is not int or max_logs < 1:
        raise SettingsError(f"max_logs={max_logs!r} must be a whole number from 1")
    return DistinctSample(max_logs, seed=seed)


def sampled(logs: Corpus, sample: DistinctSample, reporter: Reporter) -> Corpus:
    """Return at most as many distinct utterances of the logs as a sample holds, and say so if there are more.

    Args:
        logs: The logs without repeats, or what the sample kept of a file.
        sample: The sample; it is empty unless a file was larger than it.
        reporter: Is told what was left out.
    """
    if not sample.seen and len(logs) <= sample.size:
        return logs
    if not sample.seen:
        sample.add_all(logs.texts, logs.origins)
        logs = sample.corpus()
    if not sample.is_everything:
        reporter.note(
            f"The logs have about {sample.n_distinct:,} distinct utterances. Intents are looked for in a random sample "
            f"of {len(logs):,} of them, which bounds time and memory (max_logs); predictions assign the others."
        )
    return logs


def _name_of(source: KnownSource) -> str:
    return str(source) if isinstance(source, str | Path) else "known"


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


def tell(report: ReadReport, reporter: Reporter) -> None:
    for note in report.notes:
        reporter.note(note)
    for warning in report.warnings():
        reporter.warn(warning)
