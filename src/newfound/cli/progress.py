"""What a person sees while something runs: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from newfound.training.progress import Reporter, Task


def print_warning(message: str) -> None:
    """Print a warning to standard error."""
    print(f"newfound: warning: {message}", file=sys.stderr, flush=True)


class _PlainTask:
    def __init__(self, title: str, total: int, every: float) -> None:
        self._title, self._total, self._every = title, total, every
        self._done, self._last = 0, time.monotonic()

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._done += steps
        if self._done >= self._total or time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            print(f"{self._title}: {self._done}/{self._total} {note}".rstrip(), file=sys.stderr, flush=True)


class Plain:
    """A line to standard error now and then: for logs and pipes."""

    def __init__(self, seconds_between_lines: float = 5.0) -> None:
        self._every = seconds_between_lines

    def note(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)

    def warn(self, message: str) -> None:
        print_warning(message)

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        yield _PlainTask(title, total, self._every)


class Bars:
    """Progress bars on standard error, for a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    def note(self, message: str) -> None:
        self._console.print(message, highlight=False, markup=False)

    def warn(self, message: str) -> None:
        self.note(f"newfound: warning: {message}")

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description:<22}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, TextColumn("{task.fields[note]}"), console=self._console) as progress:
            handle = progress.add_task(title, total=total, note="")

            class _Bar:
                def advance(self, note: str = "", steps: int = 1) -> None:
                    progress.update(handle, advance=steps, note=note)

            yield _Bar()


def reporter_for_terminal() -> Reporter:
    """Return what suits standard error: bars on a terminal, lines elsewhere."""
    return Bars() if sys.stderr.isatty() else Plain()
