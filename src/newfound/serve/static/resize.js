// Coarser and finer: a slider over the number of new intents, a field for it, and a preview of what is merged or split.
import { get, problem, sentence } from "./api.js";
import { once, recordAt, reportDone } from "./decisions.js";
import { bullets, button, el, fill, fold, lastOf, quiet, row } from "./dom.js";
import { count } from "./format.js";
import { dot } from "./parts.js";
import { state } from "./review.js";
import { store } from "./store.js";
import { t } from "./strings.js";

const MILLISECONDS_BEFORE_ASKING = 150; // while the slider moves
const MAX_CHANGES_SHOWN = 8;
// The slider ends where one step is still easy to make; greater numbers are typed, or reached step by step.
const LEAST_END_OF_SLIDER = 30;
const END_OF_SLIDER_TO_PRESENT = 3;
const asked = store.resizing;

/** @param {number | null} n */
async function preview(n) {
  const version = `${state().model} ${state().version}`;
  if (asked.of !== version) asked.previews.clear();
  asked.of = version;
  const made = asked.previews.get(n) ?? (await get("/v1/review/resize", { to: n }));
  asked.previews.set(n, made);
  return made;
}

export function resizeCard() {
  const present = state().progress.new;
  if (present < 1) return null;
  let [fewest, most, chosen] = [present, present, present];
  const range = { min: 1, max: present, value: present, step: 1, disabled: true, "aria-label": t("resize.number") };
  const slider = el("input", { id: "resize", type: "range", ...range });
  const typed = el("input", { id: "resize-number", type: "number", ...range });
  const number = el("output", { for: "resize", class: "chosen" });
  const estimate = el("p", { class: "quiet" });
  const changes = el("div");
  const soon = lastOf(MILLISECONDS_BEFORE_ASKING);

  function label() {
    const n = chosen;
    const difference = Math.abs(n - present);
    const key = n === present ? "resize.now" : n > present ? "resize.moreThanNow" : "resize.fewerThanNow";
    const words = t(key, { n, difference });
    number.textContent = words;
    slider.value = typed.value = String(n);
    slider.setAttribute("aria-valuetext", words);
  }
  /** @param {number} n */
  function choose(n) {
    chosen = Math.max(fewest, Math.min(most, Math.round(n) || present));
    asked.wanted = chosen === present ? null : chosen;
    label();
    for (const b of changes.querySelectorAll("button")) b.disabled = true; // they are about another number
    soon(draw);
  }
  async function draw() {
    const n = asked.wanted;
    if (n === null) return fill(changes);
    try {
      const resizing = await preview(n);
      if (n === asked.wanted && slider.isConnected) fill(changes, shown(resizing, leave));
    } catch (error) {
      if (n === asked.wanted) fill(changes, el("p", { class: "bad", role: "alert" }, problem(error)));
    }
  }
  function leave() {
    choose(present);
    slider.focus();
  }
  /** @param {Resizing} resizing */
  function begin(resizing) {
    ({ fewest, most } = resizing);
    slider.min = typed.min = String(fewest);
    slider.max = String(Math.min(most, Math.max(LEAST_END_OF_SLIDER, END_OF_SLIDER_TO_PRESENT * present)));
    typed.max = String(most);
    slider.disabled = typed.disabled = fewest === most;
    fill(estimate, estimateLine(resizing.estimate));
    choose(asked.wanted ?? present);
  }

  slider.addEventListener("input", () => choose(Number(slider.value)));
  typed.addEventListener("change", () => choose(Number(typed.value)));
  label();
  preview(null).then(begin, (error) => fill(estimate, problem(error)));
  return el("section", { class: "card resize", "aria-label": t("resize.title") }, [
    el("div", { class: "scale" }, [slider, typed, number]),
    estimate,
    changes,
  ]);
}

/** What would be merged or split, with the button that does it. @param {Resizing} resizing @param {() => void} leave */
function shown(resizing, leave) {
  const { n_new: n, version } = resizing;
  const apply = () =>
    once(async () => {
      const entries = await recordAt("/v1/review/resize", { to: n, version });
      asked.wanted = null;
      await reportDone(t("resize.done", { n, summary: summary(resizing) }), entries);
    });
  const rows = resizing.changes.map(changeRow);
  const rest = rows.slice(MAX_CHANGES_SHOWN);
  return [
    el("p", [sentence(summary(resizing)), " ", t("resize.wouldDo")]),
    row(button(t("resize.apply"), apply, { class: "main" }), button(t("resize.leave"), leave, { class: "plain" })),
    el("ul", { class: "plain changes" }, rows.slice(0, MAX_CHANGES_SHOWN)),
    rest.length > 0 &&
      fold(t("resize.rest", { count: rest.length }), el("ul", { class: "plain changes" }, rest), false),
  ];
}

/** @param {Resizing["estimate"]} estimate */
function estimateLine(estimate) {
  if (!estimate) return t("resize.remedy");
  const { n_new: n, low, high } = estimate;
  return `${t("resize.estimate", { count: n, low, high })} ${t("resize.remedy")}`;
}

/** @param {Resizing} resizing */
function summary({ changes }) {
  const of = (/** @type {string} */ kind) => changes.filter((c) => c.kind === kind);
  const [merges, splits] = [of("merge"), of("split")];
  if (!merges.length) {
    return t("resize.split", { n: splits.length, into: splits.reduce((sum, c) => sum + c.after.length, 0) });
  }
  return t("resize.merged", { n: merges.reduce((sum, c) => sum + c.before.length, 0), into: merges.length });
}

/** @param {Resizing["changes"][number]} change */
function changeRow({ kind, before, after }) {
  const [many, one] = kind === "merge" ? [before, after[0]] : [after, before[0]];
  const part = (/** @type {Part} */ p) =>
    el("li", [el("strong", p.name), quiet(` ${count(p.size)}`), bullets(p.utterances, { class: "examples" })]);
  const verb = t(kind === "merge" ? "resize.mergeInto" : "resize.splitUp");
  return el("li", [
    el("div", { class: "headline" }, [`${verb} `, dot(one.name), one.name, quiet(count(one.size))]),
    el("ul", { class: "parts" }, many.map(part)),
  ]);
}
