"""Requests that arrive while the model is busy are answered together: one pass over many texts costs little more."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Answer = TypeVar("Answer")
MAX_COST_OF_A_TEXT = 1_000  # characters; what is longer is cut by the encoder and costs no more


class QueueFull(Exception):
    """More is waiting than will be answered in good time."""


@dataclass(slots=True, eq=False)
class _Request(Generic[Answer]):
    texts: Sequence[str]
    done: asyncio.Future[list[Answer]]
    taken: int = 0  # texts that were given to the model
    answers: list[Answer] = field(default_factory=list)

    @property
    def left(self) -> Sequence[str]:
        return self.texts[self.taken :]


@dataclass(slots=True)
class _Piece(Generic[Answer]):
    """Some texts of a request, in their order."""

    request: _Request[Answer]
    texts: Sequence[str]


class Batcher(Generic[Answer]):
    """Feeds the model, which runs in a thread of its own, with what has arrived meanwhile.

    Nothing is ever waited for: the first text is answered at once, and batches grow as the load does. A request that
    is larger than a batch is divided, and takes turns with the others.
    """

    def __init__(
        self,
        answer: Callable[[list[str]], list[Answer]],
        *,
        texts_at_once: int = 128,
        characters_at_once: int = 8_000,
        most_waiting: int = 1_024,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        """Take the model and the limits.

        Args:
            answer: Gives one answer a text.
            texts_at_once: Texts in a batch, at most.
            characters_at_once: Characters in a batch, at most; a text counts no more than `MAX_COST_OF_A_TEXT`.
            most_waiting: Texts in the queue, of all requests, at most.
            on_batch: Told the size of every batch.
        """
        self._answer, self._on_batch = answer, on_batch
        self._texts_at_once, self._characters_at_once = texts_at_once, characters_at_once
        self._most_waiting = most_waiting
        self._queue: deque[_Request[Answer]] = deque()
        self._n_waiting = 0
        self._arrived = asyncio.Event()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._loop: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Texts that nobody works on yet."""
        return self._n_waiting

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
        """Return one answer a text, once the model has got to them."""
        if self._closing or self._n_waiting + len(texts) > self._most_waiting:
            raise QueueFull
        request = _Request[Answer](texts, asyncio.get_running_loop().create_future())
        self._queue.append(request)
        self._n_waiting += len(texts)
        self._arrived.set()
        answers: list[Answer] = await request.done
        return answers

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            pieces = self._take()
            if not pieces:
                if self._closing:
                    return
                self._arrived.clear()
                continue
            await self._answer_pieces(pieces)

    async def _answer_pieces(self, pieces: list[_Piece[Answer]]) -> None:
        """Answer a batch; if it fails, each request alone, so that a bad text fails no other request."""
        texts = [text for piece in pieces for text in piece.texts]
        self._on_batch(len(texts))
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, texts)
        except Exception as error:
            if len(pieces) > 1:
                for piece in pieces:
                    await self._answer_pieces([piece])
            elif not pieces[0].request.done.done():
                pieces[0].request.done.set_exception(error)
            return
        position = 0
        for piece in pieces:
            request = piece.request
            request.answers += answers[position : position + len(piece.texts)]
            position += len(piece.texts)
            if len(request.answers) == len(request.texts) and not request.done.done():  # its client may have gone
                request.done.set_result(request.answers)

    def _take(self) -> list[_Piece[Answer]]:
        """The next batch: whole requests in order, and parts of those that no batch can hold."""
        pieces: list[_Piece[Answer]] = []
        texts, characters = self._texts_at_once, self._characters_at_once  # room that is left
        while self._queue and texts > 0:
            request = self._queue[0]
            if request.done.done():  # its client has gone, or a part of it failed
                self._queue.popleft()
                self._n_waiting -= len(request.left)
                continue
            count = _fitting(request.left, texts, characters)
            if count < len(request.left):
                if pieces and _fitting(request.left, self._texts_at_once, self._characters_at_once) == len(
                    request.left
                ):
                    break  # it fits into the next batch as a whole
                if len(self._queue) > 1:  # leave room for the others
                    count = min(count, _fitting(request.left, self._texts_at_once // 2, self._characters_at_once // 2))
                if not pieces:
                    count = max(count, 1)
            if not count:
                break
            piece = _Piece(request, request.left[:count])
            request.taken += count
            self._n_waiting -= count
            self._queue.popleft()
            if request.left:
                self._queue.append(request)  # its next part comes after what waits
            pieces.append(piece)
            texts -= count
            characters -= sum(map(_cost, piece.texts))
            if request.left and len(self._queue) == 1:
                break  # nobody else waits
        return pieces


def _cost(text: str) -> int:
    return min(len(text), MAX_COST_OF_A_TEXT)


def _fitting(texts: Sequence[str], most: int, characters: int) -> int:
    """How many of the first texts fit."""
    for count, text in enumerate(texts):
        characters -= _cost(text)
        if count >= most or characters < 0:
            return count
    return len(texts)
