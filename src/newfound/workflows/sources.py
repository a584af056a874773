"""Where utterances come from: files, or values of the caller's program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import DistinctSample, distinct, distinct_examples
from newfound.data.labels import misspelt_labels
from newfound.data.redact import redact_rows
from newfound.data.rows import DEFAULT_READ_OPTIONS, LabelUse, ReadOptions, ReadReport, Row
from newfound.data.validation import check_label, check_text, collect, open_rows, write_conflicts
from newfound.defaults import Conflicts
from newfound.errors import ColumnMissing, ConflictingLabels, DataError, SettingsError
from newfound.methods.settings import Seed
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


def open_source(
    source: KnownSource | LogSource,
    read: ReadOptions,
    labels: LabelUse,
    *,
    times: bool = True,
    skip_unlabelled: bool = False,
) -> tuple[Iterator[Row], ReadReport]:
    """Return the rows of a file or of values, one by one, and what is unusual in those that were read so far.

    The lines of values are their positions, from 1. See `newfound.data.validation.open_rows` for the arguments.
    """
    if isinstance(source, str | Path):
        return open_rows(source, read, labels, times=times, skip_unlabelled=skip_unlabelled)
    name = "logs" if labels == "ignored" else "known"
    rows = _rows_of_values(source, name, labels)
    return (row for row in rows if row.label is not None or not skip_unlabelled), ReadReport(name)


def _rows_of_values(source: Corpus | Sequence[Any], name: str, labels: LabelUse) -> Iterator[Row]:
    """Yield the values of a caller's program as rows; refuse what a model folder could not keep."""
    if not isinstance(source, Corpus):
        is_pair = isinstance(source, tuple) and len(source) == 2
        if labels != "ignored" and not is_pair:
            raise DataError(
                "known: give a file, a corpus, or two lists: texts and labels (texts alone are logs: `logs=`)"
            )
        source = Corpus.of(source) if labels == "ignored" else Corpus.of(*source)
    for line, (text, label, origin) in enumerate(zip(source.texts, source.labels, source.origins, strict=True), 1):
        check_text(text, f"{name}, text {line}")
        if labels == "ignored":
            yield Row(line, text, None, replace(origin, labelled=False) if origin.labelled else origin)
            continue
        if label is not None:
            check_label(label, f"{name}, label {line}")
        yield Row(line, text, label, origin)


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
    labelled, unlabelled, n_distinct = _read_both(known, logs, options, runtime, conflicts_file)
    labelled = distinct_examples(labelled)
    _warn_of_labels(labelled, runtime)
    sample = _distinct_sample(unlabelled, n_distinct, options, runtime)
    if not len(labelled):
        runtime.reporter.note("No known intents: all intents are discovered.")
    return labelled, sample


def read_newer_logs(logs: LogSource, options: LogOptions, runtime: Runtime) -> Corpus:
    """Return the unlabelled utterances that an update learns from: without repeats, each with its count."""
    _check_max_logs(options)
    corpus, report = _read(logs, options.read, "ignored", options, runtime)
    return _distinct_sample(corpus, report.n_distinct, options, runtime)


def read_labelled(source: KnownSource, read: ReadOptions, runtime: Runtime) -> list[Row]:
    """Return the rows that have a label, conflicting ones included."""
    rows, report = open_source(source, read, "required", skip_unlabelled=True)
    labelled = list(rows)
    runtime.tell(report)
    return labelled


def _check_max_logs(options: LogOptions) -> None:
    if type(options.max_logs) is not int or options.max_logs < 1:
        raise SettingsError(f"max_logs={options.max_logs!r} must be a whole number from 1")


def _read_both(
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
        unlabelled, report = _read(logs, read_logs, "ignored", options, runtime)
        return Corpus.of([]), unlabelled, report.n_distinct
    if logs is None:
        combined, report = _read_known(known, "optional", options, runtime, conflicts_file)
        labelled, unlabelled = combined.labelled(), combined.unlabelled()
        parts = f"{len(labelled):,} utterances with a label are the known intents, {len(unlabelled):,} without one are"
        if not len(labelled):
            parts = (
                f"none of its {len(unlabelled):,} utterances has a label (in a column such as label or intent): all are"
            )
        runtime.reporter.note(f"{report.name}: {parts} the logs.")
        return labelled, unlabelled, report.n_distinct
    try:
        given, _ = _read_known(known, "required", options, runtime, conflicts_file)
    except DataError as error:
        if _has_labels(known, options.read) is False and _has_labels(logs, read_logs):
            error.message += f" (or are the two files swapped? {logs} has labels, and this one has none)"
        raise
    try:
        unlabelled, report = _read(logs, read_logs, "ignored", options, runtime)
    except ColumnMissing as error:
        if error.role == "text":
            error.remedies = ("logs_text_column", *error.remedies[1:])
        raise
    return given.labelled(), given.unlabelled() + unlabelled, report.n_distinct


def _has_labels(source: KnownSource | LogSource, options: ReadOptions) -> bool | None:
    """Return whether one of the first rows of a file has a label; None if that cannot be found out."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return None
    rows, _ = open_rows(source, options, "optional")
    try:
        return any(row.label is not None for row in islice(rows, ROWS_LOOKED_AT))
    except DataError:
        return None


def _read_known(
    source: KnownSource, labels: LabelUse, options: InputOptions, runtime: Runtime, conflicts_file: Path | None
) -> tuple[Corpus, ReadReport]:
    """Return the utterances of the known intents; texts with several labels are listed in a file."""
    try:
        corpus, report = _read(source, options.read, labels, options, runtime, options.conflicts)
    except ConflictingLabels as error:
        if conflicts_file is not None:
            write_conflicts(conflicts_file, error.conflicts)
        raise ConflictingLabels(error.shown, error.conflicts, conflicts_file) from None
    if report.conflicts:
        what = "1 text has" if len(report.conflicts) == 1 else f"{len(report.conflicts):,} texts have"
        done = "their first label was kept" if options.conflicts == "first" else "they were dropped"
        listed_in = "" if conflicts_file is None else f" (all: {conflicts_file})"
        runtime.reporter.warn(f"{report.name}: {what} several labels; {done}; {report.conflicts[0]}{listed_in}")
        if conflicts_file is not None:
            write_conflicts(conflicts_file, report.conflicts)
    return corpus, report


def _read(
    source: KnownSource | LogSource,
    read: ReadOptions,
    labels: LabelUse,
    options: LogOptions,
    runtime: Runtime,
    conflicts: Conflicts = "error",
) -> tuple[Corpus, ReadReport]:
    """Return the utterances of a source, masked if that is asked for, repeats included; of large logs a sample."""
    rows, report = open_source(source, read, labels)
    if options.redact:
        rows = redact_rows(rows, report)
    path = Path(source) if isinstance(source, str | Path) else None
    max_logs = None if path is None else options.max_logs  # values are in memory already
    corpus = collect(rows, report, labels, conflicts=conflicts, max_logs=max_logs, seed=options.seed)
    if path is None:
        report.duplicates = 0  # repeats among values are no news to the program that gives them
    runtime.tell(report)
    return corpus if path is None else corpus.from_source(path.name), report


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
