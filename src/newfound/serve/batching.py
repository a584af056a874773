"""Answers requests that arrive while the model is busy in one batch, which takes little longer than one text."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Answer = TypeVar("Answer")
MAX_COUNTED_CHARACTERS = 1_000  # of a text; the encoder cuts longer texts, so they take no more time


class QueueFull(Exception):
    """Too many texts are waiting."""


@dataclass(slots=True, eq=False)
class _Request(Generic[Answer]):
    texts: Sequence[str]
    done: asyncio.Future[list[Answer]]
    n_taken: int = 0  # texts that were given to the model
    answers: dict[int, Answer] = field(default_factory=dict)  # by the position of the text

    @property
    def remaining(self) -> Sequence[str]:
        return self.texts[self.n_taken :]


@dataclass(slots=True)
class _Piece(Generic[Answer]):
    """Some texts of a request, in their order."""

    request: _Request[Answer]
    start: int
    texts: Sequence[str]


class Batcher(Generic[Answer]):
    """Collects texts into batches and gives them to the model, which runs in threads of its own.

    A batch is never delayed to make it larger: the first text goes to the model immediately, and the next batch holds
    all that arrived meanwhile. A request that is larger than a batch is divided, and takes turns with the others. Where
    several batches may be computed at once, the model has work while the answers of an earlier batch are sent.
    """

    def __init__(
        self,
        answer: Callable[[list[str]], list[Answer]],
        *,
        max_texts: int = 128,
        max_characters: int = 8_000,
        max_waiting: int = 1_024,
        at_once: int = 1,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        """Take the model, which returns one answer for each text, and the limits of a batch and of the queue.

        Of each text at most `MAX_COUNTED_CHARACTERS` are counted. The model may be given `at_once` batches at the same
        time, and `on_batch` is called with the number of texts in each.
        """
        self._answer, self._on_batch = answer, on_batch
        self._max_texts, self._max_characters, self._max_waiting = max_texts, max_characters, max_waiting
        self._queue: deque[_Request[Answer]] = deque()
        self._n_waiting = 0
        self._has_texts = asyncio.Event()
        self._is_closing = False
        self._at_once = at_once
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="model")
        self._loops: list[asyncio.Task[None]] = []

    @property
    def waiting(self) -> int:
        """The number of texts that were not given to the model yet."""
        return self._n_waiting

    def start(self) -> None:
        """Begin to answer; an event loop must be running."""
        self._loops = [asyncio.create_task(self._work()) for _ in range(self._at_once)]

    async def stop(self) -> None:
        """Refuse further requests and finish those that were accepted."""
        self._is_closing = True
        self._has_texts.set()
        await asyncio.gather(*self._loops)
        self._threads.shutdown()

    async def ask(self, texts: Sequence[str]) -> list[Answer]:
        """Return one answer for each text, or raise `QueueFull` if too many wait or the server is shutting down."""
        if self._is_closing or self._n_waiting + len(texts) > self._max_waiting:
            raise QueueFull
        request = _Request[Answer](texts, asyncio.get_running_loop().create_future())
        self._queue.append(request)
        self._n_waiting += len(texts)
        self._has_texts.set()
        answers: list[Answer] = await request.done
        return answers

    async def _work(self) -> None:
        while True:
            await self._has_texts.wait()
            pieces = self._take()
            if not pieces:
                if self._is_closing:
                    return
                self._has_texts.clear()
                continue
            await self._answer_pieces(pieces)

    async def _answer_pieces(self, pieces: list[_Piece[Answer]]) -> None:
        """Answer a batch. If it fails, answer each request alone, so that a bad text fails only its own request."""
        texts = [text for piece in pieces for text in piece.texts]
        self._on_batch(len(texts))
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, texts)
        except Exception as error:
            if len(pieces) > 1:
                for piece in pieces:
                    await self._answer_pieces([piece])
            elif not pieces[0].request.done.done():
                pieces[0].request.done.set_exception(error)
            return
        position = 0
        for piece in pieces:
            request, end = piece.request, position + len(piece.texts)
            request.answers.update(enumerate(answers[position:end], start=piece.start))
            position = end
            is_complete = len(request.answers) == len(request.texts)
            if is_complete and not request.done.done():  # it is done if its client has disconnected
                request.done.set_result([request.answers[i] for i in range(len(request.texts))])

    def _take(self) -> list[_Piece[Answer]]:
        """Return the next batch: whole requests in order, and parts of requests that are larger than a batch."""
        pieces: list[_Piece[Answer]] = []
        texts, characters = self._max_texts, self._max_characters  # that still fit
        while self._queue and texts > 0:
            request = self._queue[0]
            if request.done.done():  # its client has disconnected, or a part of it failed
                self._queue.popleft()
                self._n_waiting -= len(request.remaining)
                continue
            count = _count_fitting(request.remaining, texts, characters)
            if count < len(request.remaining):
                if pieces and _count_fitting(request.remaining, self._max_texts, self._max_characters) == len(
                    request.remaining
                ):
                    break  # it fits into the next batch as a whole
                if len(self._queue) > 1:  # leave room for the others
                    count = min(
                        count, _count_fitting(request.remaining, self._max_texts // 2, self._max_characters // 2)
                    )
                if not pieces:
                    count = max(count, 1)
            if not count:
                break
            piece = _Piece(request, request.n_taken, request.remaining[:count])
            request.n_taken += count
            self._n_waiting -= count
            self._queue.popleft()
            if request.remaining:
                self._queue.append(request)  # its next part comes after the other requests
            pieces.append(piece)
            texts -= count
            characters -= sum(map(_counted_characters, piece.texts))
            if request.remaining and len(self._queue) == 1:
                break  # no other request waits
        return pieces


def _counted_characters(text: str) -> int:
    return min(len(text), MAX_COUNTED_CHARACTERS)


def _count_fitting(texts: Sequence[str], max_texts: int, characters: int) -> int:
    """Return how many of the first texts fit into a batch."""
    for count, text in enumerate(texts):
        characters -= _counted_characters(text)
        if count >= max_texts or characters < 0:
            return count
    return len(texts)
