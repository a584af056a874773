"""What the terminal shows: tables, examples, which commands to use next, and the progress of long commands.

Progress is shown on standard error: as bars on a terminal, as plain lines elsewhere.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from newfound.errors import OutputError
from newfound.text import percent, shorten
from newfound.training.progress import Reporter, Task

if TYPE_CHECKING:
    from newfound.model.types import Intent, KnownCheck, Utterance
    from newfound.workflows.evaluation import Evaluation
    from newfound.workflows.exporting import ExportCounts, ExportResult
    from newfound.workflows.trending import Trends
    from newfound.workflows.updating import UpdateChanges

# The line end, a joiner and a non-joiner, and the tags of which the flags of England, Scotland and Wales consist.
JOINERS = frozenset(("\n", "\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))))
WEEKS_SHOWN = 16
MAX_NAMES = 12  # of intents, in a line
MAX_CONFUSIONS = 10
BARS = "▁▂▃▄▅▆▇█"
SECONDS_BETWEEN_LINES = 5.0


def print_table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table. Markup and control characters in the data have no effect."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, header_style="bold", show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(printable(field), overflow="fold") for field in row))
    Console().print(table)


def print_new_intents(intents: Iterable[Intent]) -> None:
    """Print the new intents, the largest first."""
    new = sorted((i for i in intents if not i.known), key=lambda i: -i.size)
    if not new:
        print("\nNo new intent was found: what the logs hold belongs to known intents.")
        return
    print()
    print_table(
        ("new intent", "size", "certainty", "description, another utterance"),
        [(i.name, f"{i.size:,}", certainty(i), examples(i)) for i in new],
    )


def print_without_intent(utterances: Sequence[Utterance]) -> None:
    """Print how many utterances of the logs belong to no intent, and some of them."""
    without = [u for u in utterances if u.intent is None]
    if without:
        total = sum(u.count for u in utterances if not u.labelled)
        count = sum(u.count for u in without)
        texts = list(dict.fromkeys(u.text for u in without))
        shown = ", ".join(f"“{shorten(text, 30)}”" for text in texts[:3])
        print(printable(f"\n{count:,} utterances, {percent(count / total)} of the logs, belong to no intent: {shown}"))


def print_update(changes: UpdateChanges) -> None:
    """Print what became of the intents of the earlier model that nobody has accepted, and of the expected error."""
    for title, names in (
        ("New", changes.new),
        ("Found again, not accepted yet", changes.found_again),
        ("Not accepted, and not found again", changes.lost),
    ):
        if names:
            print(f"{title}: {printable(', '.join(names[:MAX_NAMES]))}{' …' if len(names) > MAX_NAMES else ''}")
    before, after = percent(changes.expected_error_before), percent(changes.expected_error_after)
    print(f"Probably in the wrong intent: {before} of the logs before, {after} now")


def print_known_check(check: KnownCheck | None, folder: Path) -> None:
    """Print how well known intents are classified, with a warning if they suffer; nothing if it was not measured."""
    if check is None:
        return
    print(f"\n{check.sentence}")
    if check.falls:
        review = f"newfound review {shlex.quote(str(folder))}"
        print(f"Warning: {check.advice} (discover and update have --n-new; the review: {review})")


def certainty(intent: Intent) -> str:
    """Return the certainty of an intent in percent; a dash if it is not known."""
    return "–" if intent.certainty is None else f"{100 * intent.certainty:.0f} %"


def volume(intent: Intent) -> str:
    """Return the trend of an intent and a small plot of the last weeks; empty if no times are known."""
    if intent.volume is None:
        return ""
    counts = intent.volume.counts[-WEEKS_SHOWN:]
    return f"{intent.volume.trend or ''} {''.join(BARS[round(7 * n / max(1, *counts))] for n in counts)}".strip()


def print_evaluation(result: Evaluation) -> None:
    """Print an evaluation in at most 80 columns, with some of the worst confused pairs."""
    others = result.labels - result.labels_by_name
    print(f"{result.utterances:,} utterances of {result.labels} labels.")
    print(f"The model has intents with {result.labels_by_name} of these names; {others} are new to it.\n")
    parts = {"on labels that the model has": result.accuracy_by_name, "on the others": result.accuracy_matched}
    shown = [f"{value:.1f} % {name}" for name, value in parts.items() if value is not None]
    print(f"accuracy     {result.accuracy:.1f} %" + (f" ({', '.join(shown)})" if len(shown) == 2 else ""))
    print(f"macro-F1     {result.macro_f1:.1f} %")
    confidence, accuracy = result.mean_confidence, result.accuracy_of_intents
    rates = _rates({"mean confidence": confidence, "accuracy": accuracy, "calibration error": result.calibration_error})
    print(f"calibration  {rates or 'no intent is predicted'}")
    if (none := result.no_intent) is not None:
        rates = _rates({"precision": none.precision, "recall": none.recall})
        print(
            f"no intent    F1 {none.f1:.1f} % ({rates}; {none.utterances:,} of no intent, "
            f"{none.predicted:,} predicted as none)"
        )
    if result.matches:
        print("\nNew and accepted intents and the labels they match best, one to one:\n")
        rows = []
        for m in result.matches:
            of_label = f"{m.of_label:,}" if m.label else ""
            rows.append((m.intent, m.status, m.label or "none", f"{m.shared:,}", f"{m.of_intent:,}", of_label))
        print_table(("intent", "status", "label", "both", "of intent", "of label"), rows)
    if result.confusions:
        print("\nThe worst confused pairs:\n")
        pairs = [
            (c.label, c.intent or "no intent", f"{c.count:,}", f"{100 * c.share:.0f} %")
            for c in result.confusions[:MAX_CONFUSIONS]
        ]
        print_table(("label", "predicted as", "count", "of label"), pairs)


def print_trends(result: Trends) -> None:
    print(f"{result.utterances:,} newer utterances, compared with {result.before:,} in the logs of the model.")
    if result.shifts:
        rows = [(s.intent, f"{s.before:,}", f"{s.after:,}", f"×{s.ratio:g}") for s in result.shifts]
        print("\nIntents whose share has changed:\n")
        print_table(("intent", "before", "now", "share"), rows)
    for group in result.emerging:
        shown = ", ".join(f"“{shorten(text, 50)}”" for text in group.exemplars)
        print(printable(f"\n{group.size} utterances look like one new intent, {group.name}: {shown}"))
    if not result.changed:
        print("Nothing has changed.")


def print_export(result: ExportResult, counts: ExportCounts, *, with_guesses: bool) -> None:
    """Print what was exported, who says that the utterances have their intents, and what was left out."""
    print(
        f"Wrote {result.utterances:,} utterances of {result.intents} intents to {result.path}: {counts.labelled:,} "
        f"labelled by people, {counts.accepted:,} that the model put into accepted intents, {counts.guesses:,} guesses"
    )
    if counts.left_out and not with_guesses:
        undecided = "1 new intent is" if counts.new_intents == 1 else f"{counts.new_intents} new intents are"
        new = f"; {undecided} not accepted yet" if counts.new_intents else ""
        print(
            f"Left out: {counts.left_out:,} guesses of the model{new}. Accept intents with `newfound review`, or add "
            "--with-guesses to include all"
        )


def _rates(rates: Mapping[str, float | None]) -> str:
    """Return those of the percentages that are known, with their names."""
    return ", ".join(f"{name} {value:.1f} %" for name, value in rates.items() if value is not None)


def examples(intent: Intent, width: int = 80) -> str:
    """Return the description of an intent, another utterance and the keywords, one below the other."""
    shown = [shorten(text, width) for text in (intent.description, *intent.exemplars[1:2]) if text]
    return "\n".join([*shown, *([f"({', '.join(intent.keywords)})"] if intent.keywords else [])])


def print_next(out: Path, example: str) -> None:
    """Print where a model was written and which commands to use next, with an utterance to classify."""
    folder, text = shlex.quote(str(out)), shlex.quote(shorten(printable(example), 60, end=""))
    print(
        f"\nWrote the model to {out}/. Next:\n"
        f"  newfound inspect {folder} --new\n"
        f"  newfound review {folder}\n"
        f"  echo {text} | newfound predict {folder}"
    )


def printable(text: str) -> str:
    """Return a text without control characters; those that join letters and emoji stay."""
    return "".join(c if c.isprintable() or c in JOINERS else "\N{REPLACEMENT CHARACTER}" for c in text)


def print_json(value: object) -> None:
    """Print a value as JSON, in which control characters are escaped, also those that JSON may hold as they are."""

    def escape(match: re.Match[str]) -> str:
        return match[0] if match[0].isprintable() or match[0] in JOINERS else json.dumps(match[0])[1:-1]

    print(re.sub(r"[^\x20-\x7e\n]", escape, json.dumps(value, indent=2, ensure_ascii=False)))


@contextmanager
def writing_output() -> Iterator[BinaryIO]:
    """Yield standard output. A full disk behind it becomes one error; a reader that has gone is none (`| head`)."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_output()
        raise OutputError(f"the output cannot be written ({error.strerror or error}); it is not complete") from error


def forget_output() -> None:
    """Send standard output nowhere. Python would flush it again at exit, and print another error."""
    with suppress(io.UnsupportedOperation):  # it may be memory of the caller and no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _PlainTask(Task):
    def __init__(self, title: str, total: int) -> None:
        self._title, self._total = title, total
        self._done, self._last_line_at = 0, time.monotonic()

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._done += steps
        if self._done >= self._total or time.monotonic() - self._last_line_at >= SECONDS_BETWEEN_LINES:
            self._last_line_at = time.monotonic()
            print(f"{self._title}: {self._done}/{self._total} {note}".rstrip(), file=sys.stderr, flush=True)


class Plain(Reporter):
    """A reporter for log files and pipes: prints a line to standard error every few seconds."""

    def note(self, message: str) -> None:
        print(printable(message), file=sys.stderr, flush=True)

    def warn(self, message: str) -> None:
        self.note(f"newfound: warning: {message}")

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        yield _PlainTask(title, total)


class Bars(Plain):
    """A reporter for terminals: shows progress bars on standard error."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    def note(self, message: str) -> None:
        self._console.print(printable(message), highlight=False, markup=False)

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, TextColumn("{task.fields[note]}"), console=self._console) as progress:
            handle = progress.add_task(title, total=total, note="")

            class _Bar(Task):
                def advance(self, note: str = "", steps: int = 1) -> None:
                    progress.update(handle, advance=steps, note=note)

            yield _Bar()


def reporter_for_terminal() -> Reporter:
    """Return the reporter for standard error: bars if it is a terminal, plain lines otherwise."""
    return Bars() if sys.stderr.isatty() else Plain()
