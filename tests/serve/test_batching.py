from __future__ import annotations

import asyncio
import threading

import pytest

from newfound.serve import batching
from newfound.serve.batching import Batcher, QueueFull
from waiting import until_async


def batches_of(monkeypatch, texts):
    """Let a batch hold so many short texts."""
    monkeypatch.setattr(batching, "MAX_CHARACTERS_IN_A_BATCH", texts * batching.MIN_COUNTED_CHARACTERS)


def test_what_arrives_while_the_model_is_busy_is_answered_together(monkeypatch):
    batches_of(monkeypatch, 8)
    sizes, go = [], threading.Event()

    def answer(texts):
        sizes.append(len(texts))
        go.wait(60)
        return [text.upper() for text in texts]

    async def scenario():
        batcher = Batcher(answer)
        batcher.start()
        first = asyncio.create_task(batcher.ask(["a"]))
        await until_async(lambda: sizes)
        rest = [asyncio.create_task(batcher.ask([f"b{i}", f"c{i}"])) for i in range(5)]
        assert await until_async(lambda: batcher.waiting == 11)
        go.set()
        assert await first == ["A"]
        assert [await task for task in rest] == [[f"B{i}", f"C{i}"] for i in range(5)], "everyone gets their own"
        await batcher.stop()

    asyncio.run(scenario())
    assert sizes == [1, 8, 2]


def test_a_full_queue_refuses_and_stopping_finishes_what_was_accepted(monkeypatch):
    monkeypatch.setattr(batching, "MAX_WAITING_TEXTS", 4)
    begun, go = threading.Event(), threading.Event()

    def answer(texts):
        begun.set()
        go.wait(60)
        return list(texts)

    async def scenario():
        batcher = Batcher(answer)
        batcher.start()
        first = asyncio.create_task(batcher.ask(["a"]))
        await until_async(begun.is_set)
        second = asyncio.create_task(batcher.ask(["b", "c", "d"]))
        await until_async(lambda: batcher.waiting == 4)
        with pytest.raises(QueueFull):
            await batcher.ask(["e"])
        stopping = asyncio.create_task(batcher.stop())
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await batcher.ask(["f"])
        go.set()
        await stopping
        assert await first == ["a"]
        assert await second == ["b", "c", "d"]

    asyncio.run(scenario())


def test_a_bad_text_fails_its_own_request_alone():
    begun, go = threading.Event(), threading.Event()

    def answer(texts):
        begun.set()
        go.wait(60)
        if "bad" in texts:
            raise ValueError("bad")
        return list(texts)

    async def scenario():
        batcher = Batcher(answer)
        batcher.start()
        first = asyncio.create_task(batcher.ask(["first"]))
        await until_async(begun.is_set)
        rest = [asyncio.create_task(batcher.ask([text, "x"])) for text in ("a", "bad", "b", "c", "left")]
        await until_async(lambda: batcher.waiting == 11)
        rest.pop().cancel()  # a client that has left is skipped
        go.set()
        assert await first == ["first"]
        found = await asyncio.gather(*rest, return_exceptions=True)
        assert [type(f).__name__ for f in found] == ["list", "ValueError", "list", "list"]
        assert batcher.waiting == 0
        await batcher.stop()

    asyncio.run(scenario())


def test_two_batches_at_once_keep_the_answers_of_a_divided_request_in_order(monkeypatch):
    batches_of(monkeypatch, 4)
    release = {"first": threading.Event(), "rest": threading.Event()}
    batches = []

    def answer(texts):
        batches.append(texts)
        release["first" if "0" in texts else "rest"].wait(60)
        return [text + "!" for text in texts]

    async def scenario():
        batcher = Batcher(answer, at_once=2)
        batcher.start()
        large = asyncio.create_task(batcher.ask([str(i) for i in range(8)]))
        await until_async(lambda: len(batches) == 2)
        release["rest"].set()  # the later part is answered first
        small = await batcher.ask(["a"])
        assert small == ["a!"], "a batch is answered while another one is computed"
        assert not large.done()
        release["first"].set()
        assert await large == [f"{i}!" for i in range(8)]
        await batcher.stop()

    asyncio.run(scenario())
