"""Work in a process of its own: the server's end first, then that of the process."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from newfound.errors import NewfoundError
from newfound.threads import THREADS_VARIABLE, inference_threads
from newfound.training.progress import Task

logger = logging.getLogger("newfound.serve")
NICENESS = 10  # beside predictions that want all cores, it gets about a tenth of one, so that it comes to its end
SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"  # the folder in which the server was started is no place for modules
TOKENIZER_THREADS_VARIABLE = "RAYON_NUM_THREADS"
PRELOADED_MODULES = ["newfound.serve.background.work", "newfound.methods.consensus", "threadpoolctl"]
T = TypeVar("T")
Work = Callable[..., Any]  # can be pickled, with all its arguments but the reporter
Report = Callable[..., None]  # is called with the kind of a report and its values


class WorkFailed(Exception):
    """The work ended for a reason that no client can change."""


async def run_in_process(work: Callable[..., T], report: Report) -> T:
    """Do some work in another process and return its result; `report` is called with each report of progress.

    The process takes at most half of the cores and has a low priority, so that predictions go first. If this is
    cancelled, or the server ends, the process is killed.

    Raises:
        NewfoundError: The work cannot be done as it was asked for.
        WorkFailed: It failed otherwise.
    """
    starting = asyncio.create_task(asyncio.to_thread(_start, work))
    try:
        process, connection = await asyncio.shield(starting)
        while True:
            kind, *values = await asyncio.to_thread(connection.recv)
            if kind == "done":
                result: T = values[0]
                return result
            if kind == "refused":
                raise NewfoundError(values[0])
            if kind == "failed":
                raise WorkFailed(values[0])
            report(kind, *values)
    except (EOFError, ConnectionError):
        await asyncio.to_thread(process.join)
        raise WorkFailed(f"its process ended with code {process.exitcode}; was there enough memory?") from None
    finally:
        process, _ = await starting  # which cannot be interrupted
        process.kill()
        await asyncio.to_thread(process.join)


def _start(work: Work) -> tuple[BaseProcess, Connection]:
    """Start a process. All but the first come from one that has imported everything already, where there is fork."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    context.set_forkserver_preload(PRELOADED_MODULES)
    threads = max(1, inference_threads() // 2)
    ours, theirs = context.Pipe()
    process: BaseProcess = context.Process(target=_main, args=(work, theirs, threads, NICENESS), daemon=True)
    os.environ.setdefault(SAFE_PATH_VARIABLE, "1")
    with theirs:
        process.start()
    return process, ours


def _main(work: Work, connection: Connection, threads: int, niceness: int) -> None:
    """Do the work, and send its result."""
    if hasattr(os, "nice"):
        os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    _limit_threads(threads)
    threading.Thread(target=_end_with_the_server, args=(connection,), daemon=True).start()
    try:
        connection.send(("done", work(reporter=_SendingReporter(connection))))
    except (NewfoundError, OSError) as error:
        connection.send(("refused", str(error)))
    except Exception as error:
        logger.exception("work in the background failed")
        connection.send(("failed", f"{type(error).__name__}; the server's log says more"))


def _limit_threads(threads: int) -> None:
    """Limit the threads of what is imported later, by variables, and of what is there already."""
    from threadpoolctl import threadpool_limits

    os.environ[THREADS_VARIABLE] = os.environ[TOKENIZER_THREADS_VARIABLE] = str(threads)
    threadpool_limits(threads)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(threads)


def _end_with_the_server(connection: Connection) -> None:
    """Wait for the end of the connection: the server sends nothing, and closes it when it ends."""
    try:
        connection.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)


class _SendingReporter:
    """Sends the progress of the work to the server, as the names and arguments of a reporter's methods."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def note(self, message: str) -> None:
        self._connection.send(("note", message))

    def warn(self, message: str) -> None:
        self._connection.send(("warn", message))

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        self._connection.send(("task", title, total))
        yield self

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._connection.send(("advance", steps))
