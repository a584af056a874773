"""A process that works for the server: the server's end first, then its own.

It reads work from its connection and writes reports and results to it. When the server ends, the connection ends, and
so does the process.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any

from newfound.errors import NewfoundError
from newfound.threads import THREADS_VARIABLE, inference_threads
from newfound.training.progress import Task

logger = logging.getLogger("newfound.serve")
NICENESS = 10  # beside predictions that want all cores, it gets about a tenth of one, so that it comes to its end
SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"  # the folder in which the server was started is no place for modules
TOKENIZER_THREADS_VARIABLE = "RAYON_NUM_THREADS"
PRELOADED_MODULES = ["newfound.serve.background.work", "newfound.methods.consensus", "threadpoolctl"]
Work = Callable[..., Any]  # can be pickled, with all its arguments but the reporter
Tell = Callable[..., None]  # is called with the kind of a report and its values
_start_lock = threading.Lock()


class WorkFailed(Exception):
    """The work ended for a reason that no client can change."""


class WorkProcess:
    """A process that does one piece of work after another.

    It takes at most half of the cores and has a low priority, so that predictions go first, and it can be killed
    at any time. It starts with the first work.
    """

    def __init__(self) -> None:
        self._running: tuple[BaseProcess, Connection] | None = None

    async def run(self, work: Work, tell: Tell) -> Any:
        """Do some work and return its result; `tell` is called with each report of progress.

        If this is cancelled, the process is killed.

        Raises:
            NewfoundError: The work cannot be done as it was asked for.
            WorkFailed: It failed otherwise.
        """
        is_usable = False
        try:
            result = await self._exchange(work, tell)
            is_usable = True
        except NewfoundError:
            is_usable = True
            raise
        finally:
            if not is_usable:
                await self.stop()
        return result

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        running, self._running = self._running, None
        if running is not None:
            running[0].kill()
            await asyncio.to_thread(running[0].join)

    async def _exchange(self, work: Work, tell: Tell) -> Any:
        if self._running is None or not self._running[0].is_alive():  # it may have died while it had no work
            self._running = await asyncio.to_thread(_start)
        process, connection = self._running
        try:
            await asyncio.to_thread(connection.send, work)
            while True:
                kind, *values = await asyncio.to_thread(connection.recv)
                if kind == "done":
                    return values[0]
                if kind == "refused":
                    raise NewfoundError(values[0])
                if kind == "failed":
                    raise WorkFailed(values[0])
                tell(kind, *values)
        except (EOFError, ConnectionError):
            await asyncio.to_thread(process.join)
            raise WorkFailed(f"its process ended with code {process.exitcode}; was there enough memory?") from None


def _start() -> tuple[BaseProcess, Connection]:
    """Start a process; all but the first come from one that has imported everything already, where there is fork."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    context.set_forkserver_preload(PRELOADED_MODULES)
    threads = max(1, inference_threads() // 2)
    ours, theirs = context.Pipe()
    process: BaseProcess = context.Process(target=_main, args=(theirs, threads, NICENESS), daemon=True)
    with _start_lock, theirs:
        before = os.environ.get(SAFE_PATH_VARIABLE)
        os.environ[SAFE_PATH_VARIABLE] = "1"
        try:
            process.start()
        finally:
            if before is None:
                os.environ.pop(SAFE_PATH_VARIABLE, None)
    return process, ours


def _main(connection: Connection, threads: int, niceness: int) -> None:
    """Do the work that arrives, one piece after the other, until there is no more."""
    if hasattr(os, "nice"):
        os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    _limit_threads(threads)
    arrived: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, arrived), daemon=True).start()
    while True:
        _work(arrived.get(), connection)


def _limit_threads(threads: int) -> None:
    """Limit the threads of what is imported later, by variables, and of what is there already."""
    from threadpoolctl import threadpool_limits

    os.environ[THREADS_VARIABLE] = os.environ[TOKENIZER_THREADS_VARIABLE] = str(threads)
    threadpool_limits(threads)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(threads)


def _receive(connection: Connection, arrived: SimpleQueue[bytes]) -> None:
    """Take in work while the main thread works, so that the end of the server is noticed at once."""
    try:
        while True:
            arrived.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _work(message: bytes, connection: Connection) -> None:
    try:
        work = pickle.loads(message)  # noqa: S301 (from the server)
        connection.send(("done", work(reporter=SendingReporter(connection))))
    except (NewfoundError, OSError) as error:
        connection.send(("refused", str(error)))
    except Exception as error:
        logger.exception("work in the background failed")
        connection.send(("failed", f"{type(error).__name__}; the server's log says more"))


class SendingReporter:
    """Sends the progress of the work to the server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def note(self, message: str) -> None:
        """Send a message."""
        self._connection.send(("note", message))

    def warn(self, message: str) -> None:
        """Send a warning."""
        self._connection.send(("warn", message))

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        """Send that a part of the work begins; what it yields sends each advance."""
        self._connection.send(("task", title, total))
        yield self

    def advance(self, note: str = "", steps: int = 1) -> None:
        """Send that the part of the work has advanced."""
        self._connection.send(("advance", steps))
