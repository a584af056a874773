// Pairs of intents that are mixed up, and two intents side by side with one key to move an utterance to the other.
import { api } from "./api.js";
import { decide, move, undo } from "./decisions.js";
import { button, el, quiet } from "./dom.js";
import { percent, plural } from "./format.js";
import { dot, intentLink, named, tag } from "./parts.js";
import { address, show } from "./router.js";
import { intentNamed } from "./store.js";

export async function pairsView() {
  const { pairs } = await api("/v1/review/pairs");
  const row = (p) => el("tr", {}, el("td", {}, named(p.first)), el("td", {}, named(p.second)), el("td", { class: "number" }, String(p.expected)),
    el("td", { class: "action" }, el("a", { class: "button", href: address("pair", p.first, p.second) }, "Side by side")));
  return { title: "Mixed-up pairs", content: [el("h2", {}, "Mixed-up pairs"),
    el("p", { class: "quiet" }, "By the model’s own probabilities, so many utterances of one intent belong to the other. What a person has checked does not count."),
    pairs.length ? el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Intent"), el("th", {}, "Intent"), el("th", { class: "number" }, "Expected"), el("th", {}, el("span", { class: "hidden" }, "Look")))), el("tbody", {}, pairs.map(row)))
      : el("p", {}, "No two intents are mixed up.")] };
}

const cursor = { pair: "", side: 0, at: 0 };
export const PAIR_KEYS = new Set("amxu");

export async function pairView(first, second) {
  const answer = await api(`/v1/review/pair?first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`);
  const sides = [answer.first, answer.second], names = [first, second];
  const pair = `${first}/${second}`;
  if (cursor.pair !== pair) Object.assign(cursor, { pair, side: 0, at: 0 });
  if (!sides[cursor.side].length && sides[1 - cursor.side].length) cursor.side = 1 - cursor.side;
  cursor.at = Math.max(0, Math.min(cursor.at, sides[cursor.side].length - 1));
  const marked = () => sides[cursor.side][cursor.at];
  const put = (u, to) => decide([move([u.text], to)], `“${u.text}” is ${to}.`);
  const rows = [[], []];
  function mark() {
    rows.forEach((side, s) => side.forEach((node, k) => node.classList.toggle("marked", s === cursor.side && k === cursor.at)));
    rows[cursor.side][cursor.at]?.scrollIntoView({ block: "nearest" });
  }
  const step = (by) => () => { cursor.at = Math.max(0, Math.min(sides[cursor.side].length - 1, cursor.at + by)); mark(); };
  const turn = (side) => () => { if (sides[side].length) { cursor.side = side; cursor.at = Math.min(cursor.at, sides[side].length - 1); mark(); } };
  const over = () => marked() && put(marked(), names[1 - cursor.side]);
  const stay = () => marked() && put(marked(), names[cursor.side]);
  const column = (side) => {
    const i = intentNamed(names[side]), other = names[1 - side];
    rows[side] = sides[side].map((u, k) => el("li", { onclick: () => { cursor.side = side; cursor.at = k; mark(); } },
      el("span", { class: "text" }, u.text), el("span", { class: "facts quiet" }, `${percent(u.probability)} here, ${percent(u.other)} there`),
      button(side ? "←" : "→", () => put(u, other), { "aria-label": `Move “${u.text}” to ${other}`, class: "small" })));
    return el("section", { class: "card side-by-side", "aria-label": names[side] }, el("h3", {}, dot(names[side]), " ", intentLink(names[side]), " ", i && tag(i.status), " ", i && quiet(plural(i.size, "utterance"))),
      rows[side].length ? el("ul", { class: "plain utterances" }, rows[side]) : el("p", { class: "quiet" }, "All are checked."));
  };
  const canMerge = (name) => intentNamed(name) && intentNamed(name).status !== "known";
  const merge = (one, into) => canMerge(one) && button(`Merge ${one} into ${into}`, () => decide([{ merge: { intents: [one], into } }], `Merged into ${into}.`, address("intent", into)));
  const columns = el("div", { class: "columns" }, column(0), column(1));
  return {
    title: `${first} and ${second}`, waitingKeys: PAIR_KEYS,
    keys: { m: over, x: over, a: stay, u: () => undo(), ArrowDown: step(1), ArrowUp: step(-1), ArrowLeft: turn(0), ArrowRight: turn(1) },
    onNews: async () => { await show(); return false; },
    onShown: mark,
    content: [el("p", {}, el("a", { href: "#pairs" }, "← All mixed-up pairs")), el("h2", {}, "Side by side"),
      el("p", { class: "quiet" }, el("kbd", {}, "m"), " moves the marked utterance to the other intent, ", el("kbd", {}, "a"), " says that it is right, ", el("kbd", {}, "↓"), " ", el("kbd", {}, "↑"), " ", el("kbd", {}, "←"), " ", el("kbd", {}, "→"), " choose another, ", el("kbd", {}, "u"), " undoes. Those closest to the other intent come first."),
      el("div", { class: "row" }, merge(first, second), merge(second, first)), columns, (queueMicrotask(mark), null)],
  };
}
