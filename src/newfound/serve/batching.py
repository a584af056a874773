"""Answers texts that arrive while the model is busy in one batch, which takes little longer than one text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException

Answer = TypeVar("Answer")
Item = tuple[str, asyncio.Future[Answer]]  # a text and its answer
MAX_CHARACTERS_IN_A_BATCH = 8_000  # and the last text
MIN_COUNTED_CHARACTERS = 63  # of a text, so that a batch has at most 127 texts
MAX_COUNTED_CHARACTERS = 1_000  # the encoder cuts longer texts, so they take no more time
MAX_WAITING_TEXTS = 1_024
MAX_TEXTS_AT_ONCE = MAX_WAITING_TEXTS // 4  # of one request


class Batcher(Generic[Answer]):
    """Collects texts into batches and gives them to the model, which runs in threads of its own.

    A batch is never delayed to make it larger: the first text goes to the model immediately, and the next batch holds
    what arrived meanwhile. Of a large request only a part waits at a time (`ask_all`), so that it does not hold up
    those that arrive after it.
    """

    def __init__(self, answer: Callable[[list[str]], list[Answer]], *, at_once: int = 1) -> None:
        """Begin to answer; an event loop must be running.

        `answer` is the model, which returns one answer for each text. It may be given `at_once` batches at the same
        time.
        """
        self._answer = answer
        self._queue = asyncio.Queue[Item[Answer]]()
        self._is_closing = False
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="model")
        self._loops = [asyncio.create_task(self._work()) for _ in range(at_once)]
        self.waiting = 0  # texts that are not answered yet

    async def stop(self) -> None:
        """Refuse further requests and finish those that were accepted."""
        self._is_closing = True
        await self._queue.join()
        for loop in self._loops:
            loop.cancel()
        self._threads.shutdown()

    async def ask(self, texts: Sequence[str]) -> list[Answer]:
        """Return one answer for each text; 503 if too many wait or the server is shutting down."""
        if self._is_closing or self.waiting + len(texts) > MAX_WAITING_TEXTS:
            raise HTTPException(503, "too many texts are waiting; try again in a moment", {"retry-after": "1"})
        self.waiting += len(texts)
        answers: list[asyncio.Future[Answer]] = [asyncio.get_running_loop().create_future() for _ in texts]
        for item in zip(texts, answers, strict=True):
            self._queue.put_nowait(item)
        try:
            return await asyncio.gather(*answers)
        finally:
            for future in answers:
                future.cancel()  # if another text of the request has failed, or the client has left
            self.waiting -= len(texts)

    async def ask_all(self, texts: Sequence[str]) -> list[Answer]:
        """Return one answer for each of many texts, of which only so many wait at a time as leave room for others."""
        answers: list[Answer] = []
        for start in range(0, len(texts), MAX_TEXTS_AT_ONCE):
            answers += await self.ask(texts[start : start + MAX_TEXTS_AT_ONCE])
        return answers

    async def _work(self) -> None:
        """Answer one batch after the other: the texts that wait, as far as they fit."""
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self._queue.get()]
            room = MAX_CHARACTERS_IN_A_BATCH - _count_characters(batch[0][0])
            while room > 0 and not self._queue.empty():
                batch.append(self._queue.get_nowait())
                room -= _count_characters(batch[-1][0])
            wanted = [(text, future) for text, future in batch if not future.done()]
            texts = [text for text, _ in wanted]
            try:
                answers = await loop.run_in_executor(self._threads, self._answer, texts) if texts else []
            except Exception as error:
                for _, future in wanted:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, future), answer in zip(wanted, answers, strict=True):
                    if not future.done():
                        future.set_result(answer)
            for _ in batch:
                self._queue.task_done()


def _count_characters(text: str) -> int:
    return min(max(len(text), MIN_COUNTED_CHARACTERS), MAX_COUNTED_CHARACTERS)
