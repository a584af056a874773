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

/**
 * A bar for a share of the logs, beside the largest one.
 * @param {number} share
 * @param {number} largest
 * @param {boolean} isKnown
 * @param {string} title
 */
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

/** When something happened, in words; the exact time is its title. @param {string} at */
export function ago(at) {
  const seconds = (Date.now() - Date.parse(at)) / 1000;
  if (Number.isNaN(seconds)) return el("span", at);
  const title = t("time.exact", { time: at.slice(0, 19).replace("T", " ") });
  return el("time", { datetime: at, title }, timeInWords(new Date(at), seconds));
}

function timeInWords(/** @type {Date} */ moment, /** @type {number} */ seconds) {
  if (seconds < 60) return t("time.now");
  if (seconds < 3600) return t("time.minutes", { n: Math.floor(seconds / 60) });
  const language = document.documentElement.lang;
  const clock = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(moment).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days === 0) return t("time.today", { clock });
  if (days === 1) return t("time.yesterday", { clock });
  const day = moment.toLocaleDateString(language, { day: "numeric", month: "long", year: "numeric" });
  return t("time.day", { day, clock });
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
