"""Who is told the progress of something that takes long. What a terminal shows of it is the command line's business."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

logger = logging.getLogger("newfound")


class Task(Protocol):
    """Something under way, of which a known number of steps is to be done."""

    def advance(self, note: str = "", steps: int = 1) -> None: ...


class Reporter(Protocol):
    """Is told what happens."""

    def note(self, message: str) -> None:
        """Something worth knowing happened."""

    def warn(self, message: str) -> None:
        """Something is odd; the work goes on."""

    def task(self, title: str, total: int) -> AbstractContextManager[Task]:
        """Something with `total` steps begins; it ends with the block."""


class _NoTask:
    def advance(self, note: str = "", steps: int = 1) -> None:
        pass


class NullReporter:
    """Is told everything and passes nothing on."""

    def note(self, message: str) -> None:
        pass

    def warn(self, message: str) -> None:
        pass

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        yield _NoTask()


class LoggingReporter(NullReporter):
    """Shows nothing. Notes and warnings go to the logger `newfound`, where the caller's program can see them."""

    def note(self, message: str) -> None:
        logger.info(message)

    def warn(self, message: str) -> None:
        logger.warning(message)
