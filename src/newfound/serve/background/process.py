"""The server's end of a process that works for it. `child` is the other end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any, Protocol

from newfound.errors import NewfoundError
from newfound.threads import THREADS, inference_threads
from newfound.training.progress import Reporter

LENGTH = struct.Struct(">Q")  # before each message, in bytes
MORE_THREADS = "RAYON_NUM_THREADS"  # of the tokenizers
Tell = Callable[..., None]  # is called with the kind of a report and its values


class Work(Protocol):
    """A function that can be pickled, with all its arguments but the reporter."""

    def __call__(self, *, reporter: Reporter) -> Any: ...


class WorkFailed(Exception):
    """The work ended for a reason that no client can change."""


class WorkProcess:
    """A process that does one piece of work after another.

    It takes at most half of the cores and has a low priority, so that predictions go first, and it can be killed
    at any time. It starts with the first work.
    """

    def __init__(self) -> None:
        self._process: Process | None = None

    async def run(self, work: Work, tell: Tell) -> Any:
        """Do some work and return its result. If this is cancelled, the process is killed.

        Args:
            work: The work.
            tell: Is told the progress.

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
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    async def _exchange(self, message: bytes, tell: Tell) -> Any:
        if self._process is None or self._process.returncode is not None:  # it may have died while it had no work
            self._process = await _started()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(LENGTH.pack(len(message)) + message)
            await process.stdin.drain()
            while True:
                (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
                kind, *values = pickle.loads(await process.stdout.readexactly(length))  # noqa: S301 (our own process)
                if kind == "done":
                    return values[0]
                if kind == "refused":
                    raise NewfoundError(values[0])
                if kind == "failed":
                    raise WorkFailed(values[0])
                tell(kind, *values)
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await process.wait()
            raise WorkFailed(f"its process ended with code {code}; was there enough memory?") from None


async def _started() -> Process:
    threads = str(max(1, inference_threads() // 2))
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the folder in which the server was started is no place for modules
        "-m",
        "newfound.serve.background.child",
        stdin=PIPE,
        stdout=PIPE,
        env={
            **os.environ,
            THREADS: threads,
            MORE_THREADS: threads,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
    )
