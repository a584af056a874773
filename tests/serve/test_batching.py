from __future__ import annotations

import asyncio
import threading

import pytest

from newfound.serve.batching import Batcher, QueueFull


def test_what_arrives_while_the_model_is_busy_is_answered_together():
    sizes, go = [], threading.Event()

    def answer(texts):
        sizes.append(len(texts))
        go.wait(5)
        return [text.upper() for text in texts]

    async def scenario():
        batcher = Batcher(answer, texts_at_once=8)
        batcher.start()
        first = asyncio.create_task(batcher.ask(["a"]))
        await asyncio.sleep(0.05)
        rest = [asyncio.create_task(batcher.ask([f"b{i}", f"c{i}"])) for i in range(5)]
        await asyncio.sleep(0.05)
        assert batcher.waiting == 10
        go.set()
        assert await first == ["A"]
        assert [await task for task in rest] == [[f"B{i}", f"C{i}"] for i in range(5)], "everyone gets their own"
        await batcher.stop()

    asyncio.run(scenario())
    assert sizes == [1, 8, 2]


def test_a_full_queue_refuses_and_stopping_finishes_what_was_accepted():
    go = threading.Event()

    def answer(texts):
        go.wait(5)
        return list(texts)

    async def scenario():
        batcher = Batcher(answer, most_waiting=3)
        batcher.start()
        first = asyncio.create_task(batcher.ask(["a"]))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(batcher.ask(["b", "c", "d"]))
        await asyncio.sleep(0.01)
        with pytest.raises(QueueFull):
            await batcher.ask(["e"])
        stopping = asyncio.create_task(batcher.stop())
        await asyncio.sleep(0.01)
        with pytest.raises(QueueFull):
            await batcher.ask(["f"])
        go.set()
        await stopping
        assert await first == ["a"]
        assert await second == ["b", "c", "d"]

    asyncio.run(scenario())


def test_an_error_reaches_its_batch_alone_and_a_client_that_left_is_skipped():
    def answer(texts):
        if "bad" in texts:
            raise ValueError("bad")
        return list(texts)

    async def scenario():
        batcher = Batcher(answer)
        batcher.start()
        with pytest.raises(ValueError, match="bad"):
            await batcher.ask(["bad"])
        gone = asyncio.create_task(batcher.ask(["x"]))
        await asyncio.sleep(0)
        gone.cancel()
        assert await batcher.ask(["good"]) == ["good"]
        await batcher.stop()

    asyncio.run(scenario())
