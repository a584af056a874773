"""The process that works for the server: `python -m newfound.serve.background.child`, which `process` starts.

It reads work from its standard input and writes reports and results to its standard output. When the server ends, its
input ends, and so does the process.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from newfound.errors import NewfoundError
from newfound.serve.background.process import LENGTH
from newfound.training.progress import Task

logger = logging.getLogger("newfound.serve")
NICENESS = 10  # beside predictions that want all cores, it gets about a tenth of one, so that it comes to its end
Send = Callable[..., None]


def main() -> None:
    """Do the work that arrives, one piece after the other, until there is no more."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer

    def send(*message: Any) -> None:
        content = pickle.dumps(message)
        answers.write(LENGTH.pack(len(content)) + content)
        answers.flush()

    arrived: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(sys.stdin.buffer, arrived), daemon=True).start()
    while True:
        _work(arrived.get(), send)


def _receive(source: BinaryIO, arrived: SimpleQueue[bytes]) -> None:
    """Take in work while the main thread works, so that the end of the server is noticed at once."""
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        arrived.put(source.read(LENGTH.unpack(head)[0]))
    os._exit(0)


def _work(message: bytes, send: Send) -> None:
    try:
        work = pickle.loads(message)  # noqa: S301 (from the server)
        send("done", work(reporter=SendingReporter(send)))
    except (NewfoundError, OSError) as error:
        send("refused", str(error))
    except Exception as error:
        logger.exception("work in the background failed")
        send("failed", f"{type(error).__name__}; the server's log says more")


class SendingReporter:
    """Sends the progress of the work to the server."""

    def __init__(self, send: Send) -> None:
        """Take the function that sends a message."""
        self._send = send

    def note(self, message: str) -> None:
        """Send a message."""
        self._send("note", message)

    def warn(self, message: str) -> None:
        """Send a warning."""
        self._send("warn", message)

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        """Send that a part of the work begins.

        Args:
            title: What is done.
            total: The number of its steps.
        """
        self._send("task", title, total)
        yield _SendingTask(self._send)


class _SendingTask:
    def __init__(self, send: Send) -> None:
        self._send = send

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._send("advance", steps)


if __name__ == "__main__":
    main()
