// Parts that several views are made of.
import { button, el, fill, quiet } from "./dom.js";
import { percent } from "./format.js";
import { address } from "./router.js";
import { colourOf } from "./store.js";

const TERMS = {
  certainty: "The mean probability that the model gives to the intent’s utterances from the logs. Low means that many of them might belong elsewhere. It is the model’s own estimate.",
  "expected error": "The share of the logs whose intent is probably wrong, by the model’s own probabilities. What a person checked counts as right, so it falls as you review.",
  separation: "How clearly an intent falls into two parts: the silhouette coefficient, from −1 to 1. Above 0.2 they are clearly apart; near 0 they run into each other.",
  agreement: "The share of an utterance’s ten most similar utterances that have the same intent.",
};
let terms = 0;

export function term(word, shown = word) { // a word that explains itself on hover, focus or touch
  const id = `term-${++terms}`;
  return el("span", { class: "term" }, el("button", { type: "button", class: "word", "aria-describedby": id }, shown), el("span", { class: "tip", role: "tooltip", id }, TERMS[word]));
}

export const tag = (status) => el("span", { class: `tag ${status}` }, status);
export const intentLink = (name) => el("a", { href: address("intent", name), class: "name" }, name);
export function dot(name) {
  const node = el("span", { class: "dot", "aria-hidden": "true" });
  node.style.background = colourOf(name);
  return node;
}
export const named = (name) => name === null ? quiet("no intent") : [dot(name), " ", intentLink(name)];

export function meter(share, label) { // a bar and its number
  const inner = el("span", { class: share < 0.7 ? "low" : share < 0.85 ? "mid" : "high" });
  inner.style.width = `${Math.round(100 * share)}%`;
  return el("span", { class: "meter", title: label }, el("span", { class: "track", "aria-hidden": "true" }, inner), el("span", { class: "value" }, percent(share)));
}

export function ago(at) { // when, in words; the exact time is its title
  const moment = new Date(at), seconds = (Date.now() - moment) / 1000;
  if (Number.isNaN(seconds)) return el("span", {}, at);
  const clock = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  const words = seconds < 60 ? "just now" : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago`
    : days === 0 ? `today at ${clock}` : days === 1 ? `yesterday at ${clock}`
      : `${moment.toLocaleDateString([], { day: "numeric", month: "long", year: "numeric" })} at ${clock}`;
  return el("time", { datetime: at, title: `${at.slice(0, 19).replace("T", " ")} UTC` }, words);
}

// A list of utterances that can be moved one by one or together.
export function utteranceList(items, { withIntent = true, selection = new Set(), onMove, onMake = null, onNone = null, empty = "Nothing here." }) {
  const bar = el("div", { class: "selection", hidden: true });
  const texts = () => items.filter((u) => selection.has(u.text)).map((u) => u.text);
  function update() {
    const n = texts().length;
    bar.hidden = n === 0;
    if (n) fill(bar, el("strong", {}, `${n} selected`), button("Move …", () => onMove(texts())), onMake && button("New intent …", () => onMake(texts())),
      onNone && button("No intent", () => onNone(texts())), button("Clear", () => { selection.clear(); for (const b of list.querySelectorAll("input")) b.checked = false; update(); }, { class: "plain" }));
  }
  const row = (u) => {
    const box = el("input", { type: "checkbox", "aria-label": `Select “${u.text}”`, onchange: () => { if (box.checked) selection.add(u.text); else selection.delete(u.text); update(); } });
    box.checked = selection.has(u.text);
    return el("li", {}, box, el("span", { class: "text" }, u.text, u.count > 1 && quiet(` ×${u.count}`)),
      el("span", { class: "facts" }, withIntent && named(u.intent), " ", quiet(u.checked ? "checked" : u.labelled ? "labelled" : percent(u.probability))),
      button("Move", () => onMove([u.text]), { "aria-label": `Move “${u.text}”`, class: "small" }));
  };
  const list = el("ul", { class: "plain utterances" }, items.map(row));
  update();
  return items.length ? [bar, list] : el("p", { class: "quiet" }, empty);
}
