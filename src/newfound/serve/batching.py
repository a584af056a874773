"""Answers texts that arrive while the model is busy in one batch, which takes little longer than one text."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Answer = TypeVar("Answer")
Item = tuple[int, int, str, asyncio.Future[Answer]]  # the turn of a text, a number that no other has, its answer
MAX_CHARACTERS_IN_A_BATCH = 8_000
MIN_COUNTED_CHARACTERS = 63  # of a text, so that a batch has at most 126 texts
MAX_COUNTED_CHARACTERS = 1_000  # the encoder cuts longer texts, so they take no more time
MAX_WAITING_TEXTS = 1_024


class QueueFull(Exception):
    """Too many texts are waiting."""


class Batcher(Generic[Answer]):
    """Collects texts into batches and gives them to the model, which runs in threads of its own.

    A batch is never delayed to make it larger: the first text goes to the model immediately, and the next batch holds
    what arrived meanwhile. The n-th text of a request has its turn after n others, so that a large request does not
    hold up those that arrive after it.
    """

    def __init__(
        self,
        answer: Callable[[list[str]], list[Answer]],
        *,
        at_once: int = 1,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        """Take the model, which returns one answer for each text.

        It may be given `at_once` batches at the same time, and `on_batch` is called with the number of texts in each.
        """
        self._answer, self._at_once, self._on_batch = answer, at_once, on_batch
        self._items: list[Item[Answer]] = []  # a heap
        self._order = itertools.count()
        self._n_taken = 0
        self._changed = asyncio.Event()
        self._is_closing = False
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="model")
        self._loops: list[asyncio.Task[None]] = []
        self.waiting = 0  # texts that are not answered yet

    def start(self) -> None:
        """Begin to answer; an event loop must be running."""
        self._loops = [asyncio.create_task(self._work()) for _ in range(self._at_once)]

    async def stop(self) -> None:
        """Refuse further requests and finish those that were accepted."""
        self._is_closing = True
        self._changed.set()
        await asyncio.gather(*self._loops)
        self._threads.shutdown()

    async def ask(self, texts: Sequence[str]) -> list[Answer]:
        """Return one answer for each text, or raise `QueueFull` if too many wait or the server is shutting down."""
        if self._is_closing or self.waiting + len(texts) > MAX_WAITING_TEXTS:
            raise QueueFull
        self.waiting += len(texts)
        answers: list[asyncio.Future[Answer]] = [asyncio.get_running_loop().create_future() for _ in texts]
        for position, (text, answer) in enumerate(zip(texts, answers, strict=True)):
            heapq.heappush(self._items, (self._n_taken + position, next(self._order), text, answer))
        self._changed.set()
        try:
            return await asyncio.gather(*answers)
        finally:
            for future in answers:
                future.cancel()  # if another text of the request has failed, or the client has left
            self.waiting -= len(texts)

    async def _work(self) -> None:
        while self._items or not self._is_closing:
            if batch := self._take():
                await self._answer_batch(batch)
            else:
                self._changed.clear()
                await self._changed.wait()

    def _take(self) -> list[Item[Answer]]:
        """Return the next batch: the texts whose turn it is, as far as they fit."""
        batch: list[Item[Answer]] = []
        room = MAX_CHARACTERS_IN_A_BATCH
        while self._items and (size := _count_characters(self._items[0][2])) <= room:
            item = heapq.heappop(self._items)
            self._n_taken += 1
            if not item[3].done():
                batch.append(item)
                room -= size
        return batch

    async def _answer_batch(self, batch: list[Item[Answer]]) -> None:
        """Answer a batch. If it fails, answer each text alone, so that a bad text fails only its own request."""
        self._on_batch(len(batch))
        try:
            texts = [text for _, _, text, _ in batch]
            answers = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, texts)
        except Exception as error:
            if len(batch) > 1:
                for item in batch:
                    await self._answer_batch([item])
            elif not batch[0][3].done():
                batch[0][3].set_exception(error)
            return
        for (*_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)


def _count_characters(text: str) -> int:
    return min(max(len(text), MIN_COUNTED_CHARACTERS), MAX_COUNTED_CHARACTERS)
