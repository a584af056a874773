"""Progress of long commands on standard error: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from newfound.cli.show import printable
from newfound.training.progress import Reporter, Task

SECONDS_BETWEEN_LINES = 5.0


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
