"""The process that works for the server; `process` starts it.

It reads work from its connection and writes reports and results to it. When the server ends, the connection ends, and
so does the process.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from newfound.errors import NewfoundError
from newfound.threads import THREADS_VARIABLE
from newfound.training.progress import Task

MESSAGE_LENGTH = struct.Struct(">Q")  # before each message, in bytes
TOKENIZER_THREADS_VARIABLE = "RAYON_NUM_THREADS"
logger = logging.getLogger("newfound.serve")
Send = Callable[..., None]


def main(connection: socket.socket, threads: int, niceness: int) -> None:
    """Do the work that arrives, one piece after the other, until there is no more.

    Args:
        connection: To the server.
        threads: How many threads the work may use.
        niceness: By how much its priority is lower than the server's.
    """
    if hasattr(os, "nice"):
        os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    _limit_threads(threads)
    answers = connection.makefile("wb")

    def send(*message: Any) -> None:
        content = pickle.dumps(message)
        answers.write(MESSAGE_LENGTH.pack(len(content)) + content)
        answers.flush()

    arrived: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(connection.makefile("rb"), arrived), daemon=True).start()
    while True:
        _work(arrived.get(), send)


def _limit_threads(threads: int) -> None:
    """Limit the threads of what is imported later, by variables, and of what is there already."""
    from threadpoolctl import threadpool_limits

    os.environ[THREADS_VARIABLE] = os.environ[TOKENIZER_THREADS_VARIABLE] = str(threads)
    threadpool_limits(threads)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(threads)


def _receive(source: BinaryIO, arrived: SimpleQueue[bytes]) -> None:
    """Take in work while the main thread works, so that the end of the server is noticed at once."""
    while len(head := source.read(MESSAGE_LENGTH.size)) == MESSAGE_LENGTH.size:
        arrived.put(source.read(MESSAGE_LENGTH.unpack(head)[0]))
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
