"""Who is told the progress of something that takes long. What a terminal shows of it is the command line's business."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("newfound")


class Task:
    """Something under way, of which a known number of steps is to be done."""

    def advance(self, note: str = "", steps: int = 1) -> None:
        """Some of the steps are done."""


class Reporter:
    """Is told what happens. This one passes nothing on."""

    def note(self, message: str) -> None:
        """Something worth knowing happened."""

    def warn(self, message: str) -> None:
        """Something is odd; the work goes on."""

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        """Something with `total` steps begins; it ends with the block."""
        yield Task()


class LoggingReporter(Reporter):
    """Shows nothing. Notes and warnings go to the logger `newfound`, where the caller's program can see them."""

    def note(self, message: str) -> None:
        logger.info(message)

    def warn(self, message: str) -> None:
        logger.warning(message)
