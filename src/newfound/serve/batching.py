"""Requests that arrive while the model is busy are answered together: one pass over many texts costs little more."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class QueueFull(Exception):
    """More is waiting than will be answered in good time."""


@dataclass(slots=True)
class _Waiting(Generic[Answer]):
    texts: Sequence[str]
    done: asyncio.Future[list[Answer]]


class Batcher(Generic[Answer]):
    """Feeds `answer`, which runs in a thread of its own, with what has arrived meanwhile.

    Nothing is ever waited for: the first text is answered at once, and batches grow as the load does.
    """

    def __init__(
        self,
        answer: Callable[[list[str]], list[Answer]],
        *,
        texts_at_once: int = 128,
        most_waiting: int = 1_024,
        seen: Callable[[int], None] = lambda size: None,
    ) -> None:
        """`answer` gives one answer a text; `seen` is told the size of every batch."""
        self._answer, self._seen = answer, seen
        self._at_once, self._most = texts_at_once, most_waiting
        self._waiting: deque[_Waiting[Answer]] = deque()
        self._texts = 0
        self._arrived = asyncio.Event()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._loop: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Texts that nobody works on yet."""
        return self._texts

    def start(self) -> None:
        self._loop = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Refuse what comes, finish what was accepted."""
        self._closing = True
        self._arrived.set()
        if self._loop is not None:
            await self._loop
        self._thread.shutdown()

    async def ask(self, texts: Sequence[str]) -> list[Answer]:
        if self._closing or self._texts + len(texts) > self._most:
            raise QueueFull
        waiting = _Waiting(texts, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._texts += len(texts)
        self._arrived.set()
        found: list[Answer] = await waiting.done
        return found

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            batch = self._take()
            if not batch:
                if self._closing:
                    return
                self._arrived.clear()
                continue
            texts = [text for waiting in batch for text in waiting.texts]
            self._seen(len(texts))
            try:
                answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, texts)
            except Exception as error:
                for waiting in batch:
                    if not waiting.done.done():
                        waiting.done.set_exception(error)
                continue
            position = 0
            for waiting in batch:
                if not waiting.done.done():  # its client may have gone
                    waiting.done.set_result(answers[position : position + len(waiting.texts)])
                position += len(waiting.texts)

    def _take(self) -> list[_Waiting[Answer]]:
        """Whole requests, in order, up to the size of a batch; at least one if any waits."""
        batch: list[_Waiting[Answer]] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0].texts) <= self._at_once):
            waiting = self._waiting.popleft()
            self._texts -= len(waiting.texts)
            if waiting.done.done():
                continue
            batch.append(waiting)
            size += len(waiting.texts)
        return batch
