"""Requests that read many texts and answer at once: evaluations, checks and estimates. They take turns."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from newfound.serve.background.process import Work, WorkProcess

logger = logging.getLogger("newfound.serve")
SECONDS_TO_KEEP_A_PROCESS = 300  # that has nothing to do; the next work need not wait for a new one
RETRY_AFTER_SECONDS = "5"
STATUS_CLIENT_HAS_LEFT = 499
TOO_MANY_RESPONSE: dict[int | str, dict[str, Any]] = {
    429: {"description": "The client has too many such requests waiting"},
    503: {"description": "Too many such requests are waiting"},
}


class WorkQueue:
    """Gives requests their turn, first come, first served, and runs their work in one process."""

    def __init__(self, *, max_waiting: int, max_waiting_per_client: int) -> None:
        self._max_waiting, self._max_waiting_per_client = max_waiting, max_waiting_per_client
        self._n_waiting_of_client: Counter[str] = Counter()
        self._turn = asyncio.Lock()
        self._process = WorkProcess()
        self._idle: asyncio.TimerHandle | None = None
        self.stopped = asyncio.Event()

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait until all earlier requests are answered, or refuse it if too many wait."""
        headers = {"retry-after": RETRY_AFTER_SECONDS}
        if self._n_waiting_of_client[client] >= self._max_waiting_per_client:
            raise HTTPException(429, "your earlier requests of this kind are not answered yet; wait for them", headers)
        if self._n_waiting_of_client.total() >= self._max_waiting:
            raise HTTPException(503, "too many requests of this kind are waiting; try again later", headers)
        self._n_waiting_of_client[client] += 1
        try:
            async with self._turn:
                yield
        finally:
            self._n_waiting_of_client[client] -= 1
            self._n_waiting_of_client += Counter()  # forgets clients that wait for nothing

    async def run(self, work: Work) -> Any:
        """Do the work of the request whose turn it is."""
        if self._idle is not None:
            self._idle.cancel()
        try:
            return await self._process.run(work, _tell)
        finally:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(SECONDS_TO_KEEP_A_PROCESS, lambda: loop.create_task(self._end_idle_process()))

    async def stop(self) -> None:
        """End the work under way. Requests that wait are answered with 503."""
        self.stopped.set()
        if self._idle is not None:
            self._idle.cancel()
        await self._process.stop()

    async def _end_idle_process(self) -> None:
        if not self._turn.locked():
            await self._process.stop()


def _tell(kind: str, *values: Any) -> None:
    if kind == "warn":
        logger.warning("%s", values[0])


def queued_route(queue: WorkQueue) -> type[APIRoute]:
    """Return the class of routes whose requests take turns. Not even the body of a request is parsed before its turn.

    If the client leaves, its work ends.
    """

    class QueuedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handle_in_turn(request: Request) -> Response:
                async with queue.turn(request.scope["state"]["client"]):
                    return await handle(request)

            async def handle_unless_left(request: Request) -> Response:
                await request.body()  # so that the next message is that the client has left
                answering = asyncio.create_task(handle_in_turn(request))
                others = [asyncio.ensure_future(request.receive()), asyncio.create_task(queue.stopped.wait())]
                try:
                    await asyncio.wait([answering, *others], return_when=asyncio.FIRST_COMPLETED)
                    if queue.stopped.is_set():
                        raise HTTPException(503, "the server is stopping")
                    return answering.result() if answering.done() else Response(status_code=STATUS_CLIENT_HAS_LEFT)
                finally:
                    for task in (answering, *others):
                        task.cancel()
                    await asyncio.gather(answering, *others, return_exceptions=True)

            return handle_unless_left

    return QueuedRoute
