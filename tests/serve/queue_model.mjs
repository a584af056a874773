// The queue of the page without the page: `node queue_model.mjs …/queue-model.js`.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import test from "node:test";

const source = readFileSync(process.argv[2], "utf-8");
const { QueueModel } = await import("data:text/javascript," + encodeURIComponent(source));
const ids = (some) => some.map((u) => u.id);
const item = (id) => ({ id, text: `text ${id}`, intent: "pay", asks_about: null, candidates: [["leak", 0.2]] });
function filled() {
  const queue = new QueueModel();
  queue.take("m", { version: 1, items: [1, 2, 3, 4].map(item) }, () => true);
  return queue;
}

test("an answer that is refused comes after what is read now, and one that is undone comes first", () => {
  const queue = filled();
  assert.equal(queue.show().id, 1);
  const first = queue.waiting[0];
  queue.forget(first);
  assert.equal(queue.show().id, 2);
  queue.bringBack(first, true);
  assert.deepEqual(ids(queue.waiting), [2, 1, 3, 4]);
  const second = queue.waiting[0];
  queue.forget(second);
  queue.bringBack(second);
  assert.equal(queue.show().id, 2);
  assert.deepEqual([queue.round.done, queue.answered.length], [0, 0]);
  queue.skipped.add(2);
  assert.equal(queue.show().id, 1);
});

test("the queue is old when others decide, and not by one's own answers", () => {
  const queue = filled();
  queue.forget(queue.show());
  assert.equal(queue.isOld({ model: "m", version: 1 }), false);
  queue.recorded(2);
  assert.equal(queue.isOld({ model: "m", version: 2 }), false);
  assert.equal(queue.isOld({ model: "m", version: 3 }), true);
  assert.equal(queue.isOld({ model: "m", version: 3 }, true), false, "while an answer is under way");
  assert.equal(queue.isOld({ model: "other", version: 2 }), true);
});

test("what is read stays as it is, and what is under way is not asked again", () => {
  const queue = filled();
  queue.forget(queue.show());
  const read = queue.show();
  const items = [{ ...item(2), candidates: [] }, ...[5, 1, 6].map(item)];
  queue.take("m", { version: 3, items }, () => true, 1);
  assert.deepEqual(ids(queue.waiting), [2, 6, 5]);
  assert.deepEqual([queue.waiting[0].candidates, queue.waiting[0].seen, read.seen], [read.candidates, 3, 1]);
  queue.take("m", { version: 4, items }, (name) => name !== "leak");
  assert.deepEqual(queue.waiting[0].candidates, [], "an intent that it names is gone");
});

test("what changes is in the store: no script has a variable of its own", () => {
  const scripts = readdirSync(dirname(process.argv[2])).filter((name) => name.endsWith(".js"));
  assert.ok(scripts.includes("store.js"));
  const own = scripts.filter((name) =>
    /^(export )?(let|var) /m.test(readFileSync(`${dirname(process.argv[2])}/${name}`, "utf-8")),
  );
  assert.deepEqual(own, []);
});
