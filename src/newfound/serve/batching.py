"""Answers requests that arrive while the model is busy in one batch, which takes little longer than one text."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Answer = TypeVar("Answer")
Part = tuple[Sequence[str], asyncio.Future[list[Answer]]]  # texts of one request, and their answers
MAX_CHARACTERS_IN_A_BATCH = 8_000
MIN_COUNTED_CHARACTERS = 63  # of a text, so that a batch has at most 126 texts
MAX_COUNTED_CHARACTERS = 1_000  # the encoder cuts longer texts, so they take no more time
MAX_WAITING_TEXTS = 1_024


class QueueFull(Exception):
    """Too many texts are waiting."""


class Batcher(Generic[Answer]):
    """Collects texts into batches and gives them to the model, which runs in threads of its own.

    A batch is never delayed to make it larger: the first text goes to the model immediately, and the next batch holds
    what arrived meanwhile. Of a request that is larger than a batch, only as many parts as the model computes at once
    are in the queue, so that it takes turns with the others.
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
        self._parts: deque[Part[Answer]] = deque()
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
        answers: list[Answer] = []
        parts = list(_divide(texts))
        try:
            for start in range(0, len(parts), self._at_once):
                for part in await asyncio.gather(*map(self._enqueue, parts[start : start + self._at_once])):
                    answers += part
            return answers
        finally:
            self.waiting -= len(texts)
            self._changed.set()

    def _enqueue(self, texts: Sequence[str]) -> asyncio.Future[list[Answer]]:
        answers: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._parts.append((texts, answers))
        self._changed.set()
        return answers

    async def _work(self) -> None:
        while self.waiting or self._parts or not self._is_closing:
            if batch := self._take():
                await self._answer_batch(batch)
            else:
                self._changed.clear()
                await self._changed.wait()

    def _take(self) -> list[Part[Answer]]:
        """Return the next batch: all parts that wait, as far as they fit."""
        batch: list[Part[Answer]] = []
        room = MAX_CHARACTERS_IN_A_BATCH
        while self._parts and (size := _count_characters(self._parts[0][0])) <= room:
            texts, answers = self._parts.popleft()
            if not answers.done():  # otherwise the client has disconnected
                batch.append((texts, answers))
                room -= size
        return batch

    async def _answer_batch(self, batch: list[Part[Answer]]) -> None:
        """Answer a batch. If it fails, answer each part alone, so that a bad text fails only its own request."""
        texts = [text for part, _ in batch for text in part]
        self._on_batch(len(texts))
        try:
            answers = iter(await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, texts))
        except Exception as error:
            if len(batch) > 1:
                for one in batch:
                    await self._answer_batch([one])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        for part, future in batch:
            own = [next(answers) for _ in part]
            if not future.done():
                future.set_result(own)


def _divide(texts: Sequence[str]) -> Iterator[list[str]]:
    """Divide the texts of a request into parts of which each fits into a batch."""
    part: list[str] = []
    room = MAX_CHARACTERS_IN_A_BATCH
    for text in texts:
        size = _count_characters([text])
        if size > room:
            yield part
            part, room = [], MAX_CHARACTERS_IN_A_BATCH
        part.append(text)
        room -= size
    yield part


def _count_characters(texts: Sequence[str]) -> int:
    return sum(min(max(len(text), MIN_COUNTED_CHARACTERS), MAX_COUNTED_CHARACTERS) for text in texts)
