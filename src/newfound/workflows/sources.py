"""Where utterances come from: files, or values of the caller's program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import DistinctSample, distinct, distinct_examples
from newfound.data.redact import redact_rows
from newfound.data.rows import DEFAULT_READ_OPTIONS, LabelUse, ReadOptions, ReadReport, Row
from newfound.data.validation import check_label, check_text, collect, note_of_sample, open_rows
from newfound.defaults import Conflicts
from newfound.errors import ColumnMissing, DataError, SettingsError
from newfound.preparation import Preparation, preparation_for
from newfound.workflows.conversations import keep_wishes, with_one_turn_a_label
from newfound.workflows.runtime import Runtime

MIN_UTTERANCES_PER_NEW_INTENT = 2  # fewer make no intent

KnownSource = str | Path | Corpus | tuple[Sequence[str], Sequence[str | int | None]]
"""Labelled utterances: a file, a corpus, or texts and labels."""
LogSource = str | Path | Corpus | Sequence[str]
"""Unlabelled utterances: a file, a corpus, or texts."""


def check_seed(seed: int) -> None:
    """Refuse what is no seed."""
    if type(seed) is not int or not 0 <= seed <= defaults.MAX_SEED:
        raise SettingsError(f"seed={seed!r} must be a whole number from 0 to {defaults.MAX_SEED}")


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a value that is none of the choices of a `Literal` type."""
    if value not in get_args(choices):
        raise SettingsError(f"{name}={value!r} is not one of {', '.join(get_args(choices))}")


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


def read_labelled(source: KnownSource, read: ReadOptions, runtime: Runtime) -> list[Row]:
    """Return the rows that have a label, conflicting ones included."""
    rows, report = open_source(source, read, "required", skip_unlabelled=True)
    labelled = list(rows)
    runtime.report_warnings(report)
    return labelled


def check_n_new(n_new: int | Literal["auto"], logs: Corpus) -> None:
    """Refuse more new intents than the logs without repeats can hold."""
    if n_new != "auto" and len(logs) < MIN_UTTERANCES_PER_NEW_INTENT * n_new:
        have = f"n_new={n_new}, but the logs have {len(logs):,} distinct utterances"
        raise SettingsError(f"{have}, fewer than {MIN_UTTERANCES_PER_NEW_INTENT} for each new intent; lower it")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReader:
    """Reads known intents and logs, without repeats; how is described in `newfound.workflows`.

    Attributes:
        runtime: Its reporter is told what is unusual.
    """

    runtime: Runtime
    read: ReadOptions = DEFAULT_READ_OPTIONS
    read_logs: ReadOptions | None = None
    conflicts: Conflicts = defaults.CONFLICTS
    redact: bool = False
    max_logs: int = defaults.MAX_LOGS
    seed: int = defaults.SEED

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_choice("conflicts", self.conflicts, Conflicts)
        if type(self.max_logs) is not int or self.max_logs < 1:
            raise SettingsError(f"max_logs={self.max_logs!r} must be a whole number from 1")

    def known_and_logs(self, known: KnownSource | None, logs: LogSource | None) -> tuple[Corpus, Corpus, Preparation]:
        """Return the labelled utterances of the known intents, the logs with counts, and how both were prepared.

        Without logs, utterances of `known` that have no label are the logs; if none has a label, all are.
        """
        labelled, unlabelled = self._read_both(known, logs)
        labelled, unlabelled = with_one_turn_a_label(labelled), self._of_wishes(unlabelled)
        preparation = preparation_for(unlabelled.texts, self.read.mask)
        labelled, unlabelled = (self._prepared(corpus, preparation) for corpus in (labelled, unlabelled))
        labelled = distinct_examples(labelled)
        self._warn_of_alike(labelled)
        sample = self._distinct_sample(unlabelled)
        if not len(labelled):
            self.runtime.reporter.note("No known intents: all intents are discovered.")
        return labelled, sample, preparation

    def logs(self, logs: LogSource, preparation: Preparation | None = None) -> Corpus:
        """Return logs with counts, prepared as those of an earlier model were."""
        unlabelled = self._of_wishes(self._read_logs(logs))
        if preparation is not None:
            unlabelled = self._prepared(unlabelled, preparation)
        return self._distinct_sample(unlabelled)

    def _of_wishes(self, logs: Corpus) -> Corpus:
        is_wanted = (self.read_logs or self.read).turns == "wishes"
        return keep_wishes(logs, self.runtime.reporter) if is_wanted else logs

    def _prepared(self, corpus: Corpus, preparation: Preparation) -> Corpus:
        """Return a corpus without markup and what is masked; the reporter is told how many texts were changed."""
        prepared, counts = preparation.of_corpus(corpus)
        kinds = ", ".join((*preparation.masks, *(["words of files"] if preparation.words else [])))
        done = {
            "marked": "without markup, quoted messages, greetings and signatures",
            "long": "with the sentences alone that likely state a wish, since they are long",
            "masked": f"without {kinds}; `mask` says what is left out",
        }
        changes = [f"{counts[kind]:,} {how}" for kind, how in done.items() if counts[kind]]
        if changes:
            self.runtime.reporter.note(f"Of {len(corpus):,} utterances, {'; '.join(changes)} are read.")
        return prepared

    def _warn_of_alike(self, known: Corpus) -> None:
        """Warn of prepared texts that have several labels, though no text had before."""
        count = len(known) - len(set(known.texts))
        if count and any(origin.said.message for origin in known.origins):
            self.runtime.reporter.warn(
                f"{count:,} known utterances have the words of another label's, without what is masked and marked up; "
                "`mask` says what is left out"
            )

    def _read_both(self, known: KnownSource | None, logs: LogSource | None) -> tuple[Corpus, Corpus]:
        """Return labelled and unlabelled utterances."""
        if known is None:
            if logs is None:
                raise DataError("nothing to discover intents in; give the logs")
            return Corpus.of([]), self._read_logs(logs)
        if logs is None:
            combined, report = self._read_known(known, "optional")
            labelled, unlabelled = combined.labelled(), combined.unlabelled()
            parts = (
                f"{len(labelled):,} utterances with a label are the known intents, {len(unlabelled):,} without one are"
            )
            if not len(labelled):
                found = f"none of its {len(unlabelled):,} utterances has a label"
                parts = f"{found} (in a column such as label or intent): all are"
            self.runtime.reporter.note(f"{report.name}: {parts} the logs.")
            return labelled, unlabelled
        given, _ = self._read_known(known, "required")
        try:
            unlabelled = self._read_logs(logs)
        except ColumnMissing as error:
            if error.role == "text":
                error.remedies = ("logs_text_column", *error.remedies[1:])
            raise
        return given.labelled(), given.unlabelled() + unlabelled

    def _read_logs(self, logs: LogSource) -> Corpus:
        return self._read(logs, self.read_logs or self.read, "ignored", "error")[0]

    def _read_known(self, source: KnownSource, labels: LabelUse) -> tuple[Corpus, ReadReport]:
        """Return the utterances of the known intents; it is reported what became of texts with several labels."""
        corpus, report = self._read(source, self.read, labels, self.conflicts)
        if report.conflicts:
            what = "1 text has" if len(report.conflicts) == 1 else f"{len(report.conflicts):,} texts have"
            done = "their first label was kept" if self.conflicts == "first" else "they were dropped"
            self.runtime.reporter.warn(f"{report.name}: {what} several labels; {done}; {report.conflicts[0]}")
        return corpus, report

    def _read(
        self, source: KnownSource | LogSource, read: ReadOptions, labels: LabelUse, conflicts: Conflicts
    ) -> tuple[Corpus, ReadReport]:
        """Return the utterances of a source, masked if that is asked for, repeats included; of large logs a sample."""
        rows, report = open_source(source, read, labels)
        if self.redact:
            rows = redact_rows(rows, report)
        path = Path(source) if isinstance(source, str | Path) else None
        max_logs = None if path is None else self.max_logs  # values are in memory already
        corpus = collect(rows, report, labels, conflicts=conflicts, max_logs=max_logs, seed=self.seed)
        if path is None:
            report.counts["duplicates"] = 0  # repeats among values are no news to the program that gives them
        self.runtime.report_warnings(report)
        return corpus if path is None else corpus.from_source(path.name), report

    def _distinct_sample(self, logs: Corpus) -> Corpus:
        """Return the logs without repeats, and at most `max_logs` of them."""
        kept, reporter = distinct(logs), self.runtime.reporter
        if len(kept) < len(logs):
            reporter.note(
                f"{len(logs):,} utterances in the logs, {len(kept):,} distinct ones: each is learned once, and counts "
                "as often as it was said."
            )
        if len(kept) > self.max_logs:
            sample = DistinctSample(self.max_logs, seed=self.seed)
            sample.add_all(kept.texts, kept.origins)
            kept = sample.corpus()
            reporter.note(note_of_sample(len(kept)))
        return kept
