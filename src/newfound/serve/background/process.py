"""The server's end of a process that works for it. `child` is the other end."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any

from newfound.errors import NewfoundError
from newfound.serve.background.child import MESSAGE_LENGTH, main
from newfound.threads import inference_threads

NICENESS = 10  # beside predictions that want all cores, it gets about a tenth of one, so that it comes to its end
SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"  # the folder in which the server was started is no place for modules
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
        self._running: _RunningProcess | None = None

    async def run(self, work: Work, tell: Tell) -> Any:
        """Do some work and return its result. If this is cancelled, the process is killed.

        Args:
            work: What to do; it is pickled and sent to the process.
            tell: Called with each report of progress.

        Raises:
            NewfoundError: The work cannot be done as it was asked for.
            WorkFailed: It failed otherwise.
        """
        message = await asyncio.to_thread(pickle.dumps, work)
        is_usable = False
        try:
            result = await self._exchange(message, tell)
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
        if running is None:
            return
        running.writer.close()
        running.process.kill()
        await asyncio.to_thread(running.process.join)

    async def _exchange(self, message: bytes, tell: Tell) -> Any:
        if self._running is None or not self._running.process.is_alive():  # it may have died while it had no work
            self._running = await _start()
        running = self._running
        try:
            running.writer.write(MESSAGE_LENGTH.pack(len(message)) + message)
            await running.writer.drain()
            while True:
                (length,) = MESSAGE_LENGTH.unpack(await running.reader.readexactly(MESSAGE_LENGTH.size))
                kind, *values = pickle.loads(await running.reader.readexactly(length))  # noqa: S301 (our own process)
                if kind == "done":
                    return values[0]
                if kind == "refused":
                    raise NewfoundError(values[0])
                if kind == "failed":
                    raise WorkFailed(values[0])
                tell(kind, *values)
        except (asyncio.IncompleteReadError, ConnectionError):
            await asyncio.to_thread(running.process.join)
            code = running.process.exitcode
            raise WorkFailed(f"its process ended with code {code}; was there enough memory?") from None


@dataclass(frozen=True, slots=True)
class _RunningProcess:
    """A process and the two directions of its connection."""

    process: BaseProcess
    reader: StreamReader
    writer: StreamWriter


async def _start() -> _RunningProcess:
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.to_thread(_start_process, theirs)
    return _RunningProcess(process, *await asyncio.open_connection(sock=ours))


def _start_process(connection: socket.socket) -> BaseProcess:
    """Start a process; all but the first come from one that has imported everything already, where there is fork."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    context.set_forkserver_preload(PRELOADED_MODULES)
    threads = max(1, inference_threads() // 2)
    process: BaseProcess = context.Process(target=main, args=(connection, threads, NICENESS), daemon=True)
    with _start_lock:
        before = os.environ.get(SAFE_PATH_VARIABLE)
        os.environ[SAFE_PATH_VARIABLE] = "1"
        try:
            process.start()
        finally:
            if before is None:
                with contextlib.suppress(KeyError):
                    del os.environ[SAFE_PATH_VARIABLE]
    return process
