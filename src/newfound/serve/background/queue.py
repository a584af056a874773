"""Requests that read many texts and answer at once: evaluations, checks, estimates and files. They take turns."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from fastapi import Request
from starlette.exceptions import HTTPException

from newfound.serve.background.process import T, run_in_process

logger = logging.getLogger("newfound.serve")
MAX_WAITING = 16  # or under way, of all clients together
MAX_WAITING_PER_CLIENT = 4
RETRY_AFTER = {"retry-after": "5"}
STATUS_CLIENT_HAS_LEFT = 499


class WorkQueue:
    """Does the work of one request after the other, first come, first served."""

    def __init__(self) -> None:
        self._n_waiting_of_client: Counter[str] = Counter()
        self._turn = asyncio.Lock()
        self._stopped = asyncio.Event()

    async def run(self, request: Request, work: Callable[..., T], *, seconds: float | None = None) -> T:
        """Do the work of a request when those before it are answered, or refuse it if too many wait.

        The work ends if the client leaves, if the server stops, or with a `TimeoutError` after so many seconds.
        """
        working = asyncio.create_task(self._run_in_turn(request.scope["state"]["client"], work, seconds))
        others = [asyncio.ensure_future(request.receive()), asyncio.create_task(self._stopped.wait())]
        try:
            await asyncio.wait([working, *others], return_when=asyncio.FIRST_COMPLETED)
            if self._stopped.is_set():
                raise HTTPException(503, "the server is stopping")
            if not working.done():
                raise HTTPException(STATUS_CLIENT_HAS_LEFT, "the client has left")
            return working.result()
        finally:
            for task in (working, *others):
                task.cancel()
            await asyncio.gather(working, *others, return_exceptions=True)

    def stop(self) -> None:
        """End the work under way. Requests that wait are answered with 503."""
        self._stopped.set()

    async def _run_in_turn(self, client: str, work: Callable[..., T], seconds: float | None) -> T:
        if self._n_waiting_of_client[client] >= MAX_WAITING_PER_CLIENT:
            what = "your earlier requests of this kind are not answered yet; wait for them"
            raise HTTPException(429, what, RETRY_AFTER)
        if self._n_waiting_of_client.total() >= MAX_WAITING:
            raise HTTPException(503, "too many requests of this kind are waiting; try again later", RETRY_AFTER)
        self._n_waiting_of_client[client] += 1
        try:
            async with self._turn, asyncio.timeout(seconds):
                return await run_in_process(work, _log_warning)
        finally:
            self._n_waiting_of_client[client] -= 1
            self._n_waiting_of_client += Counter()  # forgets clients that wait for nothing


def _log_warning(kind: str, *values: Any) -> None:
    if kind == "warn":
        logger.warning("%s", values[0])
