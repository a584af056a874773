// What texts are classified as, and why: one text or several, one per line.
import { api } from "./api.js";
import { attempt } from "./decisions.js";
import { button, el, fill, quiet } from "./dom.js";
import { percent, plural } from "./format.js";
import { meter, named } from "./parts.js";
import { draft } from "./store.js";

const MAX_TEXTS = 256;

export async function tryView() {
  const input = draft("try", el("textarea", { id: "try-text", rows: 4, maxlength: 100_000, placeholder: "One sentence, or several: one per line" }));
  const answer = el("div", { "aria-live": "polite" });
  const classify = () => attempt(async () => {
    const texts = input.value.split("\n").map((t) => t.trim()).filter(Boolean);
    if (!texts.length) return;
    if (texts.length === 1) { fill(answer, reasons(await api("/v1/review/explain", { text: texts[0] }))); return; }
    if (texts.length > MAX_TEXTS) throw new Error(`At most ${MAX_TEXTS} sentences at a time.`);
    const { predictions } = await api("/v1/predict", { texts });
    fill(answer, table(texts, predictions));
  });
  input.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); classify(); } });
  const form = el("form", { onsubmit: (event) => { event.preventDefault(); classify(); } },
    el("label", { for: "try-text" }, "What users may type"), input,
    el("div", { class: "row" }, el("button", { type: "submit", class: "main" }, "Classify"), quiet(el("kbd", {}, "Ctrl"), " ", el("kbd", {}, "Enter"))));
  return { title: "Try it", onNews: () => false, onShown: () => input.focus(), content: [el("h2", {}, "Try it"), form, answer] };
}

const reasons = (e) => [
  el("p", { class: "big", id: "tried" }, named(e.intent), " ", quiet(percent(e.probability))),
  e.outlier > 0.95 && el("p", { class: "bad" }, `It is unlike all intents (outlier score ${e.outlier.toFixed(2)}).`),
  el("div", { class: "columns" },
    el("div", { class: "card" }, el("h3", {}, "Nearest intents"), el("ul", { class: "plain" }, e.intents.map(([name, p]) => el("li", { class: "row between" }, el("span", {}, named(name)), meter(p, "probability"))))),
    el("div", { class: "card" }, el("h3", {}, "Nearest utterances"), el("ul", { class: "plain" }, e.utterances.map((u) => el("li", {}, u.text, " ", named(u.intent), quiet(` similarity ${u.similarity}`)))))),
];

function table(texts, predictions) {
  const rows = predictions.flatMap((p, k) => {
    const why = el("td", { colspan: 4 }), detail = el("tr", { hidden: true }, why);
    const open = button("Why?", () => attempt(async () => {
      detail.hidden = !detail.hidden;
      if (!detail.hidden) fill(why, reasons(await api("/v1/review/explain", { text: texts[k] })));
    }), { "aria-label": `Why “${texts[k]}”?`, class: "small" });
    return [el("tr", {}, el("td", {}, texts[k]), el("td", {}, named(p.intent)), el("td", { class: "wide" }, meter(p.probability, "probability"), p.outlier > 0.95 && el("span", { class: "badge warn" }, "unlike all")), el("td", { class: "action" }, open)), detail];
  });
  return [el("h3", {}, plural(texts.length, "sentence")), el("table", { id: "tried-all" }, el("thead", {}, el("tr", {}, el("th", {}, "Sentence"), el("th", {}, "Intent"), el("th", { class: "wide" }, "Probability"), el("th", {}, el("span", { class: "hidden" }, "Why")))), el("tbody", {}, rows))];
}
