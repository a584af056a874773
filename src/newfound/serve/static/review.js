// The review as the server knows it, who is reviewing, and what the reviewer has typed but not sent.
import { get } from "./api.js";
import { byId } from "./dom.js";
import { intentColour } from "./palette.js";
import { store } from "./store.js";
import { t } from "./strings.js";

const author = byId("author"); // null if the token says who the reviewer is
export const known = store.review;

/** The state of the review, for code that runs once it is loaded. */
export const state = () => /** @type {State} */ (known.state);

export async function refresh() {
  const latest = await get("/v1/review/state");
  if (known.state && latest.model !== known.state.model) return; // another model: the news lead to a page of its own
  known.state = latest;
  known.doubtful = worstFifth(latest.intents);
  const { accepted, new: n, checked, logs, expected_error: error } = latest.progress;
  byId("progress").hidden = false;
  byId("bar").value = n ? accepted / n : 1;
  byId("progress-text").textContent =
    `${t("progress.accepted", { accepted, n })} · ${t("progress.checked", { n: checked })}`;
  byId("expected-error").textContent = t("wrong.about", { n: Math.round(error * logs) });
}

/** @param {Intent[]} all */
function worstFifth(all) {
  const some = all.filter((i) => i.status !== "known" && i.size > 0).sort((a, b) => errorOf(b) - errorOf(a));
  return new Set(some.slice(0, Math.round(some.length / 5)).map((i) => i.name));
}
/** @param {Pick<Intent, "expected_error">} i */
export const errorOf = (i) => i.expected_error ?? 1;
/**
 * How many utterances of an intent are probably wrong.
 * @param {Pick<Intent, "expected_error" | "size" | "labelled">} i
 */
export const wrongIn = (i) => Math.round(errorOf(i) * (i.size - i.labelled));

// Examples and proposals, once for each version.
export async function loadDetails() {
  if (known.detailsVersion === state().version) return;
  const answer = await get("/v1/review/details");
  known.details = new Map(answer.intents.map((i) => [i.name, i]));
  known.detailsVersion = answer.version;
}

export const limits = () => state().limits;
export const intents = () => state().intents;
/** @param {string} name */
export const intentNamed = (name) => intents().find((i) => i.name === name);
/** @param {string} name */
export const isIntent = (name) => Boolean(intentNamed(name));
/** @param {string} name */
export const colourOf = (name) => {
  const intent = intentNamed(name);
  return intentColour(intent ? intent.colour : 0, !intent || intent.status === "known");
};

/** Nobody has said who is reviewing. Whoever catches it asks, and does again what was asked for (`askName`). */
export class NobodyYet extends Error {}

export function who() {
  const name = mine();
  if (name) return name;
  throw new NobodyYet();
}

/** @param {string} name */
export function setName(name) {
  author.value = name;
  localStorage.setItem("newfound-author", name);
}
/** @returns {string} */
export const mine = () => (author ? author.value.trim() : byId("person").textContent);
/** @param {string} name */
export const mayBe = (name) => mine() === name;

// ---------------------------------------------------------------- drafts: what was typed survives a refusal

const { drafts } = store;

/** @type {<T extends HTMLInputElement | HTMLTextAreaElement>(key: string, input: T) => T} */
export function draft(key, input) {
  if (drafts.has(key)) input.value = drafts.get(key) ?? "";
  input.addEventListener("input", () => (input.value ? drafts.set(key, input.value) : drafts.delete(key)));
  return input;
}
/** @param {string} prefix */
export function forgetDrafts(prefix) {
  for (const key of [...drafts.keys()]) if (key.startsWith(prefix)) drafts.delete(key);
}
export const hasDrafts = () => drafts.size > 0;

if (author) {
  author.value = localStorage.getItem("newfound-author") || "";
  author.addEventListener("change", () => setName(mine()));
}
