// Parts that several views are made of.
import { el, quiet } from "./dom.js";
import { percent } from "./format.js";
import { CERTAINTY } from "./palette.js";
import { address } from "./router.js";
import { colourOf } from "./review.js";
import { store } from "./store.js";
import { breakable, t } from "./strings.js";

export const SURE = /** @type {const} */ (["sure.unlikely", "sure.not", "sure.fairly", "sure.sure"]); // as in CERTAINTY

/** A word that explains itself on hover, focus or touch. @param {"sure" | "wrong"} word */
export function term(word) {
  const id = `term-${++store.shown.terms}`;
  return el("span", { class: "term" }, [
    el("button", { type: "button", class: "word", "aria-describedby": id }, t(`term.${word}`)),
    el("span", { class: "tip", role: "tooltip", id }, t(`meaning.${word}`)),
  ]);
}
/** How sure the model is, in a word; the probability is its title. @param {number} probability */
export const sureness = (probability) =>
  el("span", { class: "sure", title: t("sure.share", { share: percent(probability) }) }, sureWord(probability));
/** @param {number} probability */
export const sureWord = (probability) => t(SURE[CERTAINTY.findIndex(([limit]) => probability < limit)]);

/** @param {Status} status */
export const tag = (status) => el("span", { class: `tag ${status}` }, t(`status.${status}`));
/** @param {Child[]} children */
export const warning = (...children) => el("span", { class: "badge warn" }, children);
/**
 * How well known intents are classified, on labels that were held out; with what to do if they suffer.
 * @param {KnownCheck | null} check
 */
export const knownCheck = (check) =>
  check &&
  el("p", { class: check.falls ? "bad" : "quiet" }, [
    t("knownCheck.figures", {
      ...{ n: check.labels, now: percent(check.now), plain: percent(check.plain) },
      ...{ gained: check.gained, lost: check.lost },
    }),
    check.seen_before && ` ${t("knownCheck.seen")}`,
    check.falls && ` ${t("knownCheck.advice")}`,
  ]);
/** @param {string} name */
export const intentLink = (name) => el("a", { href: address("intent", name), class: "name" }, breakable(name));

/** @param {string} colour */
export function spot(colour) {
  const node = el("span", { class: "dot", "aria-hidden": "true" });
  node.style.background = colour;
  return node;
}
/** @param {string} name */
export const dot = (name) => spot(colourOf(name));
/** @param {string | null} name @returns {Child} */
export const named = (name) => (name === null ? quiet(t("noIntent")) : [dot(name), " ", intentLink(name)]);

// A bar for a share of the logs, beside the largest one.
/** @type {(share: number, largest: number, isKnown: boolean, title: string) => HTMLElement} */
export const shareBar = (share, largest, isKnown, title) =>
  el("span", { class: "share", title }, [
    bar(isKnown ? "bar known" : "bar", share / (largest || 1)),
    el("span", { class: "value" }, percent(share)),
  ]);

/** @param {string} kind @param {number} length Between 0 and 1. */
export function bar(kind, length) {
  const node = el("span", { class: kind });
  node.style.width = `${100 * length}%`;
  return node;
}

/** When something happened, by the clock of the reader. @param {string} at */
export function moment(at) {
  if (Number.isNaN(Date.parse(at))) return el("span", at);
  const words = new Date(at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  return el("time", { datetime: at, title: t("time.exact", { time: at.slice(0, 19).replace("T", " ") }) }, words);
}

/**
 * A list to choose one value from, with its label.
 * @template {string} V
 * @param {string} id
 * @param {string} label
 * @param {Record<V, string>} options Their texts.
 * @param {V} value
 * @param {(value: V) => void} onChange
 */
export function selectControl(id, label, options, value, onChange) {
  const entries = /** @type {[V, string][]} */ (Object.entries(options));
  const select = el(
    "select",
    { id },
    entries.map(([key, text]) => el("option", { value: key, selected: key === value }, text)),
  );
  select.addEventListener("change", () => onChange(/** @type {V} */ (select.value)));
  return el("label", { class: "control" }, [label, " ", select]);
}
