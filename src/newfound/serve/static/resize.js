// Coarser and finer: a slider over the number of new intents, with a preview of what is merged or split.
import { api, problem } from "./api.js";
import { once, recordAt, settle } from "./decisions.js";
import { button, el, fill, quiet } from "./dom.js";
import { count, plural } from "./format.js";
import { dot } from "./parts.js";
import { known } from "./store.js";

const MILLISECONDS_BEFORE_ASKING = 150; // while the slider moves
const MAX_CHANGES_SHOWN = 8;
let wanted = null; // the number that was chosen; it stays when the view is drawn again
let previews = new Map(), previewsOf = null; // of one version, by number

async function preview(n) {
  const version = `${known.state.model} ${known.state.version}`;
  if (previewsOf !== version) { previews = new Map(); previewsOf = version; }
  if (!previews.has(n)) previews.set(n, await api("/v1/review/resize" + (n === null ? "" : `?to=${n}`)));
  return previews.get(n);
}

export function resizeCard() {
  const present = known.state.progress.new;
  if (present < 2) return null;
  const slider = el("input", { id: "resize", type: "range", min: 1, max: present, value: present, step: 1, disabled: true, "aria-label": "Number of new intents" });
  const number = el("output", { for: "resize", class: "chosen" });
  const estimate = el("p", { class: "quiet" }), changes = el("div", { id: "resize-preview" });
  const step = (by) => () => { slider.value = Number(slider.value) + by; moved(); };
  const coarser = button("Coarser", step(-1), { id: "coarser", disabled: true, title: "One new intent fewer" });
  const finer = button("Finer", step(1), { id: "finer", disabled: true, title: "One new intent more" });
  let timer = null;

  function label() {
    const n = Number(slider.value), more = n - present;
    const words = more ? `${plural(n, "new intent")}, ${Math.abs(more)} ${more > 0 ? "more" : "fewer"} than now` : `${plural(n, "new intent")} now`;
    number.textContent = words;
    slider.setAttribute("aria-valuetext", words);
    coarser.disabled = slider.disabled || n <= Number(slider.min);
    finer.disabled = slider.disabled || n >= Number(slider.max);
  }
  function moved() {
    const n = Number(slider.value);
    wanted = n === present ? null : n;
    label();
    clearTimeout(timer);
    for (const b of changes.querySelectorAll("button")) b.disabled = true; // they are about another number
    if (wanted === null) fill(changes); else timer = setTimeout(draw, MILLISECONDS_BEFORE_ASKING);
  }
  async function draw() {
    const n = wanted;
    if (n === null) return;
    try {
      const found = await preview(n);
      if (n === wanted && slider.isConnected) fill(changes, shown(found));
    } catch (error) {
      if (n === wanted) fill(changes, el("p", { class: "bad", role: "alert" }, problem(error)));
    }
  }
  function shown(found) {
    const apply = () => once(async () => {
      const entries = await recordAt("/v1/review/resize", { to: found.n_new, version: found.version });
      wanted = null;
      await settle(`${plural(found.n_new, "new intent")} now: ${summary(found)}.`, entries);
    });
    const rows = found.changes.map(changeRow), rest = rows.slice(MAX_CHANGES_SHOWN);
    const leave = () => { slider.value = present; moved(); slider.focus(); };
    return [el("p", {}, `${sentence(summary(found))}. Accepted and known intents are neither merged nor split, and nothing is trained.`),
      el("div", { class: "row" }, button("Apply", apply, { id: "apply-resize", class: "main" }), button("Leave it as it is", leave, { class: "plain" })),
      el("ul", { class: "plain changes" }, rows.slice(0, MAX_CHANGES_SHOWN)),
      rest.length > 0 && el("details", {}, el("summary", {}, `${rest.length} more`), el("ul", { class: "plain changes" }, rest))];
  }

  slider.addEventListener("input", moved);
  label();
  preview(null).then((found) => {
    slider.min = found.fewest;
    slider.max = found.most;
    slider.disabled = found.fewest === found.most;
    if (wanted !== null) wanted = Math.max(found.fewest, Math.min(found.most, wanted));
    slider.value = wanted ?? present;
    fill(estimate, estimated(found));
    moved();
  }, (error) => fill(estimate, problem(error)));
  return el("section", { class: "card resize", "aria-label": "Coarser or finer" },
    el("div", { class: "scale" }, coarser, slider, finer, number), estimate, changes);
}

function estimated({ estimate }) {
  const remedy = "Too fine or too coarse? Move the slider to see what would be merged or split.";
  if (!estimate) return remedy;
  const { n_new: n, low, high, is_unsure: unsure } = estimate;
  return [`Estimated: about ${n}, between ${low} and ${high} in nine of ten cases. `, unsure && [el("span", { class: "badge warn" }, "unsure"), " "], remedy];
}

function summary(found) {
  const merges = found.changes.filter((c) => c.kind === "merge"), splits = found.changes.filter((c) => c.kind === "split");
  const merged = merges.reduce((sum, c) => sum + c.before.length, 0), parts = splits.reduce((sum, c) => sum + c.after.length, 0);
  return merges.length ? `${plural(merged, "intent")} are merged into ${merges.length}` : `${plural(splits.length, "intent is", "intents are")} split into ${parts}`;
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

function changeRow({ kind, before, after }) {
  const isMerge = kind === "merge", [many, one] = isMerge ? [before, after[0]] : [after, before[0]];
  const part = (p) => el("li", {}, el("strong", {}, p.name), quiet(` ${count(p.size)}`), el("ul", { class: "examples" }, p.utterances.map((t) => el("li", {}, t))));
  return el("li", { "data-kind": kind }, el("div", { class: "headline" }, isMerge ? "Merge into " : "Split ", dot(one.name), one.name, quiet(count(one.size))), el("ul", { class: "parts" }, many.map(part)));
}
