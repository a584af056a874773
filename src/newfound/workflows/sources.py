"""Where utterances come from: files, or values of the caller's program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import DistinctSample, distinct, distinct_examples
from newfound.data.labels import misspelt_labels
from newfound.data.readers import open_rows
from newfound.data.redact import redact, redact_corpus
from newfound.data.rows import DEFAULT_READ_OPTIONS, LabelUse, ReadOptions, ReadReport, Row
from newfound.data.validation import (
    Conflict,
    check_corpus,
    check_label,
    read_corpus,
    read_labelled_rows,
    without_conflicts,
    write_conflicts,
)
from newfound.defaults import Conflicts
from newfound.errors import ColumnMissing, ConflictingLabels, DataError, SettingsError
from newfound.methods.settings import Seed
from newfound.text import has_half_character
from newfound.workflows.runtime import Runtime

MIN_UTTERANCES_PER_NEW_INTENT = 2  # fewer make no intent
FEW_UTTERANCES_PER_NEW_INTENT = 5  # on average; below it a warning is due
ROWS_LOOKED_AT = 50  # to see whether a file has labels

KnownSource = str | Path | Corpus | tuple[Sequence[str], Sequence[str | int | None]]
"""Labelled utterances: a file, a corpus, or texts and labels."""
LogSource = str | Path | Corpus | Sequence[str]
"""Unlabelled utterances: a file, a corpus, or texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """How logs are read: what the requests that learn from logs have in common.

    Attributes:
        read: How files are read.
        redact: Mask e-mail addresses, card numbers, IBANs and telephone numbers first.
        max_logs: Distinct utterances of the logs that are looked at; of larger logs a random sample of this size.
        seed: Same seed, same device: the same result.
    """

    read: ReadOptions = DEFAULT_READ_OPTIONS
    redact: bool = False
    max_logs: int = defaults.MAX_LOGS
    seed: Seed = defaults.SEED


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions(LogOptions):
    """How known intents and logs are read; `LogOptions` has what holds for both.

    Attributes:
        read_logs: How the logs are read, where that differs.
        conflicts: What becomes of a known text with several labels: error, first (its first label is kept) or drop.
    """

    read_logs: ReadOptions | None = None
    conflicts: Conflicts = defaults.CONFLICTS


def read_inputs(
    known: KnownSource | None,
    logs: LogSource | None,
    options: InputOptions,
    runtime: Runtime,
    *,
    conflicts_file: Path | None = None,
) -> tuple[Corpus, Corpus]:
    """Return the labelled utterances of the known intents, and the logs with counts, both without repeats.

    Args:
        known: Labelled utterances. Without logs, those that have no label are the logs; if none has a label, all are.
            None if there are none.
        logs: Unlabelled utterances.
        options: How they are read, masked and sampled.
        runtime: Its reporter is told what was unusual.
        conflicts_file: Where texts with several labels are listed.
    """
    _check_max_logs(options)
    labelled, unlabelled, n_distinct = _read(known, logs, options, runtime, conflicts_file)
    labelled = distinct_examples(labelled)
    _warn_of_labels(labelled, runtime)
    if options.redact:
        labelled, unlabelled = _mask(labelled, runtime), _mask(unlabelled, runtime)
        # Texts that differed in what is masked now may be equal, with two labels.
        labelled = labelled.take(without_conflicts("known, masked", rows_of(labelled), options.conflicts)[0])
        labelled = distinct_examples(labelled)
    sample = _distinct_sample(unlabelled, n_distinct, options, runtime)
    if not len(labelled):
        runtime.reporter.note("No known intents: all intents are discovered.")
    return labelled, sample


def read_newer_logs(logs: LogSource, options: LogOptions, runtime: Runtime) -> Corpus:
    """Return the unlabelled utterances that an update learns from: without repeats, each with its count."""
    _check_max_logs(options)
    corpus, n_distinct = _read_logs(logs, options.read, options, runtime)
    return _distinct_sample(_mask(corpus, runtime) if options.redact else corpus, n_distinct, options, runtime)


def read_labelled(source: KnownSource, read: ReadOptions, runtime: Runtime) -> list[Row]:
    """Return the rows that have a label, conflicting ones included; without a file, their lines are positions."""
    if isinstance(source, str | Path):
        rows, report = read_labelled_rows(source, read)
        runtime.tell(report)
        return rows
    return [row for row in rows_of(corpus_of(source)) if row.label is not None]


def _check_max_logs(options: LogOptions) -> None:
    if type(options.max_logs) is not int or options.max_logs < 1:
        raise SettingsError(f"max_logs={options.max_logs!r} must be a whole number from 1")


def _read(
    known: KnownSource | None,
    logs: LogSource | None,
    options: InputOptions,
    runtime: Runtime,
    conflicts_file: Path | None,
) -> tuple[Corpus, Corpus, int | None]:
    """Return labelled and unlabelled utterances, and about how many distinct logs there are if these are a sample."""
    read_logs = options.read_logs or options.read
    if known is None:
        if logs is None:
            raise DataError("nothing to discover intents in; give the logs")
        return Corpus.of([]), *_read_logs(logs, read_logs, options, runtime)
    if logs is None:
        combined, n_distinct = _read_labelled(known, options, runtime, conflicts_file, "optional")
        labelled, unlabelled = combined.labelled(), combined.unlabelled()
        parts = f"{len(labelled):,} utterances with a label are the known intents, {len(unlabelled):,} without one are"
        if not len(labelled):
            parts = (
                f"none of its {len(unlabelled):,} utterances has a label (in a column such as label or intent): all are"
            )
        runtime.reporter.note(f"{_name_of(known)}: {parts} the logs.")
        return labelled, unlabelled, n_distinct
    try:
        given, _ = _read_labelled(known, options, runtime, conflicts_file)
    except DataError as error:
        if _has_labels(known, options.read) is False and _has_labels(logs, read_logs):
            error.message += f" (or are the two files swapped? {logs} has labels, and this one has none)"
        raise
    try:
        unlabelled, n_distinct = _read_logs(logs, read_logs, options, runtime)
    except ColumnMissing as error:
        if error.role == "text":
            error.remedies = ("logs_text_column", *error.remedies[1:])
        raise
    return given.labelled(), given.unlabelled() + unlabelled, n_distinct


def _has_labels(source: KnownSource | LogSource, options: ReadOptions) -> bool | None:
    """Return whether one of the first rows of a file has a label; None if that cannot be found out."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return None
    rows, _ = open_rows(source, options, "optional")
    try:
        return any(row.label and row.label.strip() for row in islice(rows, ROWS_LOOKED_AT))
    except DataError:
        return None


def _read_labelled(
    source: KnownSource,
    options: InputOptions,
    runtime: Runtime,
    conflicts_file: Path | None,
    labels: LabelUse = "required",
) -> tuple[Corpus, int | None]:
    """Return the labelled utterances of the known intents; if labels are optional, unlabelled ones as well."""
    policy = options.conflicts
    try:
        if isinstance(source, str | Path):
            corpus, report = read_corpus(
                source, options.read, labels, conflicts=policy, max_logs=options.max_logs, seed=options.seed
            )
            runtime.tell(report)
            corpus = corpus.from_source(Path(source).name)
        else:
            report = ReadReport("known")
            corpus = corpus_of(source)
            kept, report.conflicts = without_conflicts("known", rows_of(corpus), policy)
            corpus = corpus.take(kept)
            check_corpus(corpus, "known", labels)
    except ConflictingLabels as error:
        shown = redact(error.shown) if options.redact else error.shown
        listed = _list_conflicts(error.conflicts, options, conflicts_file)
        raise ConflictingLabels(shown, listed, conflicts_file) from None
    if report.conflicts:
        conflicts = _list_conflicts(report.conflicts, options, conflicts_file)
        what = "1 text has" if len(conflicts) == 1 else f"{len(conflicts):,} texts have"
        done = "their first label was kept" if policy == "first" else "they were dropped"
        listed_in = "" if conflicts_file is None else f" (all: {conflicts_file})"
        runtime.reporter.warn(f"{_name_of(source)}: {what} several labels; {done}; {conflicts[0]}{listed_in}")
    return corpus, report.n_distinct


def _list_conflicts(conflicts: Sequence[Conflict], options: InputOptions, path: Path | None) -> list[Conflict]:
    """Return the conflicts, masked if that is asked for, and write them to a file if there is to be one."""
    listed = [replace(c, text=redact(c.text)) if options.redact else c for c in conflicts]
    if path is not None:
        write_conflicts(path, listed)
    return listed


def _read_logs(
    source: LogSource, read: ReadOptions, options: LogOptions, runtime: Runtime
) -> tuple[Corpus, int | None]:
    """Return the unlabelled utterances of the logs, repeats included; of a large file a sample."""
    if isinstance(source, Corpus):
        return Corpus.of(source.texts, None, [replace(origin, labelled=False) for origin in source.origins]), None
    if not isinstance(source, str | Path):
        return Corpus.of(source), None
    corpus, report = read_corpus(source, read, "ignored", max_logs=options.max_logs, seed=options.seed)
    runtime.tell(report)
    return corpus.from_source(Path(source).name), report.n_distinct


def corpus_of(source: Corpus | tuple[Sequence[str], Sequence[str | int | None]]) -> Corpus:
    """Return a corpus of the values of a caller's program; refuse what a model folder could not keep."""
    if isinstance(source, Corpus):
        return source
    if not isinstance(source, tuple) or len(source) != 2:
        raise DataError("known: give a file, a corpus, or two lists: texts and labels (texts alone are logs: `logs=`)")
    corpus = Corpus.of(*source)
    for number, (text, label) in enumerate(zip(corpus.texts, corpus.labels, strict=True), 1):
        if has_half_character(text):
            raise DataError(f"known, text {number}: half a character (a lone surrogate); remove it")
        if label is not None:
            check_label(label, f"known, label {number}")
    return corpus


def rows_of(corpus: Corpus) -> list[Row]:
    """Return the utterances as rows; their lines are their positions, from 1."""
    return [Row(i, text, label) for i, (text, label) in enumerate(zip(corpus.texts, corpus.labels, strict=True), 1)]


def _warn_of_labels(known: Corpus, runtime: Runtime) -> None:
    misspelt = misspelt_labels(known.sizes)
    if misspelt:
        label, meant = next(iter(misspelt.items()))
        which = "1 is" if len(misspelt) == 1 else f"{len(misspelt):,} are"
        runtime.reporter.warn(
            f"of {len(known.sizes):,} known intents, {which} likely misspelt ({label!r} for {meant!r}); correct the "
            "labels that `check` lists, or they will be intents of their own"
        )
    single = sorted(intent for intent, size in known.sizes.items() if size == 1 and intent not in misspelt)
    if single:
        names = ", ".join(single[:5]) + (", ..." if len(single) > 5 else "")
        what = "1 known intent has" if len(single) == 1 else f"{len(single):,} known intents have"
        runtime.reporter.warn(
            f"{what} a single example ({names}); give each a few more, or it will be recognised badly"
        )


def check_n_new(n_new: int | Literal["auto"], logs: Corpus, runtime: Runtime) -> None:
    """Refuse more new intents than the logs without repeats can hold, and warn of many."""
    if n_new == "auto":
        return
    have = f"n_new={n_new}, but the logs have {len(logs):,} distinct utterances"
    if len(logs) < MIN_UTTERANCES_PER_NEW_INTENT * n_new:
        raise SettingsError(f"{have}, fewer than {MIN_UTTERANCES_PER_NEW_INTENT} for each new intent; lower it")
    if len(logs) < FEW_UTTERANCES_PER_NEW_INTENT * n_new:
        runtime.reporter.warn(
            f"{have}, {len(logs) / n_new:.1f} for each new intent; most of them will not be real intents"
        )


def _distinct_sample(logs: Corpus, n_distinct: int | None, options: LogOptions, runtime: Runtime) -> Corpus:
    """Return at most `max_logs` of the logs without repeats; if they are a sample already, of about `n_distinct`."""
    kept = distinct(logs)
    if len(kept) < len(logs):
        runtime.reporter.note(
            f"{len(logs):,} utterances in the logs, {len(kept):,} distinct ones: each is learned once, and counts as "
            "often as it was said."
        )
    if len(kept) > options.max_logs:
        sample = DistinctSample(options.max_logs, seed=options.seed)
        sample.add_all(kept.texts, kept.origins)
        kept, n_distinct = sample.corpus(), n_distinct or sample.n_distinct
    if n_distinct is not None:
        runtime.reporter.note(
            f"The logs have about {n_distinct:,} distinct utterances. Intents are looked for in a random sample of "
            f"{len(kept):,} of them, which bounds time and memory (max_logs); predictions assign the others."
        )
    return kept


def _name_of(source: KnownSource) -> str:
    return str(source) if isinstance(source, str | Path) else "known"


def _mask(corpus: Corpus, runtime: Runtime) -> Corpus:
    """Return the corpus with masks for what identifies a person, and say how many utterances have one."""
    if not len(corpus):
        return corpus
    masked, changed = redact_corpus(corpus)
    runtime.reporter.note(f"Masked something in {changed:,} of {len(corpus):,} utterances.")
    return masked
