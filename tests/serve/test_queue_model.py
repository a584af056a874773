"""The queue of the page without the page: `queue-model.js`, run by node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import newfound

MODEL = Path(newfound.__file__).parent / "serve" / "static" / "queue-model.js"
SETUP = """
const { QueueModel } = await import("data:text/javascript," + encodeURIComponent(%s));
const ids = (some) => some.map((u) => u.id);
const item = (id) => ({ id, text: `text ${id}`, intent: "pay", asks_about: null, candidates: [["leak", 0.2]] });
const queue = new QueueModel();
queue.take("m", { version: 1, items: [1, 2, 3, 4].map(item) }, () => true);
"""


def run(script):
    if shutil.which("node") is None:
        pytest.skip("no node here")
    source = SETUP % json.dumps(MODEL.read_text("utf-8")) + script
    done = subprocess.run(["node", "--input-type=module", "-e", source], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_answers_go_on_and_what_is_refused_or_undone_comes_back():
    """An answer that is refused comes after what is read now; one that is undone comes first."""
    script = """
    const steps = [queue.show().id];
    const first = queue.waiting[0];
    queue.forget(first);
    steps.push(queue.show().id);
    queue.bringBack(first, true);
    steps.push(ids(queue.waiting), queue.show().id);
    const second = queue.waiting[0];
    queue.forget(second);
    queue.bringBack(second);
    steps.push(queue.show().id, queue.round.done, queue.answered.length);
    queue.skipped.add(2);
    steps.push(queue.show().id);
    console.log(JSON.stringify(steps));"""
    assert run(script) == [1, 2, [2, 1, 3, 4], 2, 2, 0, 0, 1]


def test_the_queue_is_old_when_others_decide_and_keeps_what_is_read():
    script = """
    queue.show();
    queue.forget(queue.waiting[0]);
    const read = queue.show();
    const steps = [queue.isOld({ model: "m", version: 1 })];
    queue.recorded(2); // one's own answer
    steps.push(queue.isOld({ model: "m", version: 2 }), queue.isOld({ model: "m", version: 3 }));
    steps.push(queue.isOld({ model: "m", version: 3 }, true), queue.isOld({ model: "other", version: 2 }));
    const items = [{ ...item(2), candidates: [] }, ...[5, 1, 6].map(item)];
    queue.take("m", { version: 3, items }, () => true, 1);
    steps.push(ids(queue.waiting), queue.waiting[0].candidates.length, queue.waiting[0].seen, read.seen);
    queue.take("m", { version: 4, items }, (name) => name !== "leak");
    steps.push(queue.waiting[0].candidates.length);
    console.log(JSON.stringify(steps));"""
    # The utterance under way (1) is not asked about again; a place other than the first rotates the rest.
    assert run(script) == [False, False, True, False, True, [2, 6, 5], 1, 3, 1, 0]
