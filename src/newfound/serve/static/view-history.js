// Who decided what and when, in words; any decision can be undone.
import { api } from "./api.js";
import { undo } from "./decisions.js";
import { button, el } from "./dom.js";
import { ago } from "./parts.js";
import { mayBe } from "./store.js";

export async function historyView() {
  const { entries, total } = await api("/v1/review/log");
  if (!entries.length) return { title: "History", content: [el("h2", {}, "History"), el("p", { class: "quiet" }, "No decision yet.")] };
  const row = (e) => el("tr", { class: e.undone_by ? "undone" : "", "data-kind": e.kind }, el("td", { class: "time" }, ago(e.at)), el("td", {}, el("strong", {}, mayBe(e.author) ? "You" : e.author)),
    el("td", { class: "words" }, e.words),
    el("td", { class: "action" }, e.undone_by ? el("span", { class: "quiet" }, `undone by ${mayBe(e.undone_by) ? "you" : e.undone_by}, `, ago(e.undone_at))
      : button("Undo", () => undo(e.id), { "aria-label": `Undo: ${e.author} ${e.words}` })));
  const latest = entries.toReversed();
  return { title: "History", content: [el("h2", {}, "History"), el("p", { class: "quiet" }, "Any step can be undone, unless a later one builds on it. “Undo” at the top takes back your own last step: all that was decided together."),
    el("table", { class: "history" }, el("thead", {}, el("tr", {}, ["When", "Who", "What", ""].map((t) => el("th", {}, t || el("span", { class: "hidden" }, "Undo"))))), el("tbody", {}, latest.map(row))),
    total > latest.length && el("p", { class: "quiet" }, `The latest ${latest.length} of ${total} are shown; “newfound review log” lists all.`)] };
}
