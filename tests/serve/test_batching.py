from __future__ import annotations

import asyncio
import threading

import pytest
from starlette.exceptions import HTTPException

from newfound.serve import batching
from newfound.serve.batching import Batcher
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
        first = asyncio.create_task(batcher.ask(["a"]))
        await until_async(begun.is_set)
        second = asyncio.create_task(batcher.ask(["b", "c", "d"]))
        await until_async(lambda: batcher.waiting == 4)
        with pytest.raises(HTTPException, match="503"):
            await batcher.ask(["e"])
        stopping = asyncio.create_task(batcher.stop())
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="503"):
            await batcher.ask(["f"])
        go.set()
        await stopping
        assert await first == ["a"]
        assert await second == ["b", "c", "d"]

    asyncio.run(scenario())


def test_a_large_request_does_not_block_small_ones(monkeypatch):
    batches_of(monkeypatch, 4)
    monkeypatch.setattr(batching, "MAX_TEXTS_AT_ONCE", 8)
    batches, go = [], threading.Event()

    def answer(texts):
        batches.append(texts)
        go.wait(60)
        return texts

    async def scenario():
        batcher = Batcher(answer)
        large = asyncio.create_task(batcher.ask_all([str(i) for i in range(20)]))
        await until_async(lambda: batches)
        small = asyncio.create_task(batcher.ask(["small"]))
        await until_async(lambda: batcher.waiting == 9)
        go.set()
        await asyncio.gather(large, small)
        await batcher.stop()

    asyncio.run(scenario())
    assert "small" in batches[2], "after the part that waits"
    assert len(batches) == 6


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
