// The queue: the utterances that should be checked first, one at a time, by keyboard.
import { api } from "./api.js";
import { decide, move, once, undo } from "./decisions.js";
import { askAndMake, askAndMove } from "./dialogs.js";
import { button, el, quiet } from "./dom.js";
import { percent, plural } from "./format.js";
import { named, term } from "./parts.js";
import { show } from "./router.js";
import { known, mine } from "./store.js";

const MILLISECONDS_OTHERS_COUNT = 5 * 60_000;
let errorAtStart = null;
const skipped = new Set();
export const QUEUE_KEYS = new Set("amnrsu123456789");
const MERGING_KEYS = new Set("123456789");

// While somebody else decides as well, two people begin at different places of the queue.
function ownPlace() {
  if (performance.now() - known.othersDecidedAt > MILLISECONDS_OTHERS_COUNT) return 0;
  return [...mine()].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)) % 997, 7) % 8;
}

export async function queueView() {
  const answer = await api("/v1/review/queue?most=200");
  errorAtStart ??= answer.expected_error;
  const items = answer.items.filter((u) => !skipped.has(u.id));
  const head = el("p", { class: "quiet" }, "First come utterances that stand for others and on which clusterings disagree, then the least certain ones. The ", term("expected error"), ` of the logs is ${percent(answer.expected_error)}`,
    answer.expected_error < errorAtStart && `; it was ${percent(errorAtStart)} when you began`, ".");
  if (!items.length) {
    return { title: "Queue", keys: { u: () => undo() }, content: [el("h2", {}, "Review queue"), head, el("p", {}, answer.items.length ? "You skipped all that is left." : "Nothing is left to check."),
      answer.items.length > 0 && button("Start over", () => { skipped.clear(); show(); })] };
  }
  const u = items[ownPlace() % items.length];
  const to = (name, create) => decide([move([u.text], name, create)], `“${u.text}” is ${name}.`);
  const same = (name) => decide([{ merge: { intents: [u.asks_about], into: name } }], `Merged ${u.asks_about} into ${name}.`);
  const choose = u.asks_about === null ? to : same;
  const accept = () => (u.intent === null ? reject() : to(u.intent));
  const reject = () => decide([move([u.text], null)], "It belongs to no intent.");
  const other = () => askAndMove([u.text], { except: u.intent === null ? [] : [u.intent] });
  const fresh = () => askAndMake([u.text]);
  const skip = () => once(async () => { skipped.add(u.id); await show(); });
  const keys = { a: accept, m: other, n: fresh, r: reject, s: skip, u: () => undo() };
  u.candidates.forEach(([name], k) => { keys[String(k + 1)] = () => choose(name); });
  const key = (letter, label, action, main) => button([el("kbd", {}, letter), " ", label], action, { class: main ? "main wrap" : "wrap" });
  const version = known.state.version;
  return {
    title: "Queue", keys, waitingKeys: QUEUE_KEYS, onlySeen: u.asks_about === null ? undefined : MERGING_KEYS,
    // The utterance under the reviewer's eyes is exchanged only if somebody else has decided about it.
    onNews: async () => known.state.version !== version && !(await api("/v1/review/queue?most=200")).items.some((item) => item.id === u.id),
    content: [el("h2", {}, "Review queue"), head,
      el("div", { class: "card stage" }, el("p", { class: "big" }, u.text),
        el("p", {}, "Assigned to ", named(u.intent), quiet(` · probability ${percent(u.probability)} · `), term("agreement"), quiet(` ${percent(u.agreement)}`)),
        el("div", { class: "row" }, key("a", "Accept", accept, true), key("m", "Move …", other), key("n", "New intent …", fresh), key("r", "No intent", reject), key("s", "Skip", skip)),
        el("p", { class: "quiet" }, u.asks_about === null ? "Or is it one of these?" : `It is the most typical utterance of ${u.asks_about}. Is that intent the same as one of these? Then they are merged; otherwise accept.`),
        el("div", { class: "row" }, u.candidates.map(([name, p], k) => key(String(k + 1), u.asks_about === null ? `${name} (${percent(p)})` : `Merge into ${name}`, () => choose(name)))),
        u.asks_about === null && u.stands_for > 1 && el("p", { class: "quiet" }, `If you move it, ${plural(u.stands_for - 1, "similar utterance follows", "similar utterances follow")} at the next refit.`)),
      el("p", { class: "quiet" }, el("kbd", {}, "u"), ` undoes your last decision. ${plural(items.length, "utterance waits", "utterances wait")}${answer.items.length === 200 ? " at least" : ""}.`)],
  };
}
