// What the page knows of the review, and what the reviewer has typed but not sent.
import { api } from "./api.js";
import { byId } from "./dom.js";
import { percent, plural } from "./format.js";
import { intentColour } from "./palette.js";

const author = byId("author"); // null if the token says who the reviewer is
export const known = { state: null, details: new Map(), detailsVersion: null, othersDecidedAt: -Infinity };

export async function refresh() {
  const state = await api("/v1/review/state");
  if (known.state && state.model !== known.state.model) return; // another model: the news lead to a page of its own
  known.state = state;
  const { accepted, new: total, checked, expected_error: error } = known.state.progress;
  byId("progress").hidden = false;
  byId("bar").value = total ? accepted / total : 1;
  byId("progress-text").textContent = `${accepted} of ${plural(total, "new intent")} accepted · ${plural(checked, "utterance")} checked`;
  byId("expected-error").textContent = percent(error);
}

export async function loadDetails() { // examples and proposals, once for each version
  if (known.detailsVersion === known.state.version) return;
  const answer = await api("/v1/review/details");
  known.details = new Map(answer.intents.map((i) => [i.name, i]));
  known.detailsVersion = answer.version;
}

export const intents = () => known.state.intents;
export const intentNamed = (name) => intents().find((i) => i.name === name);
export const isIntent = (name) => Boolean(intentNamed(name));
export const colourOf = (name) => {
  const intent = intentNamed(name);
  return intentColour(intent ? intent.number : 0, !intent || intent.status === "known");
};

export function who() {
  if (!author) return byId("person").textContent;
  const name = author.value.trim();
  if (name) return name;
  author.focus();
  throw new Error("Say who you are first: fill in “Reviewing as”.");
}
export const mine = () => author ? author.value.trim() : byId("person").textContent;
export const mayBe = (name) => mine() === name;

// ---------------------------------------------------------------- drafts: what was typed survives a refusal

const drafts = new Map();

export function draft(key, input) {
  if (drafts.has(key)) input.value = drafts.get(key);
  input.addEventListener("input", () => { if (input.value) drafts.set(key, input.value); else drafts.delete(key); });
  return input;
}
export function forgetDrafts(prefix) {
  for (const key of [...drafts.keys()]) if (key.startsWith(prefix)) drafts.delete(key);
}
export const hasDrafts = () => drafts.size > 0;

if (author) {
  author.value = localStorage.getItem("newfound-author") || "";
  author.addEventListener("change", () => localStorage.setItem("newfound-author", author.value.trim()));
}
