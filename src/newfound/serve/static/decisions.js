// Decisions: recorded one after the other, undone, and what happens if one is refused.
import { api, problem } from "./api.js";
import { byId } from "./dom.js";
import { say } from "./messages.js";
import { current, go, show } from "./router.js";
import { known, refresh, who } from "./store.js";

let busy = false; // whether a decision is under way
let handlingKeys = false;
const waitingKeys = []; // keys that were pressed while a decision was under way, in their order

export const move = (texts, to, create) => ({ move: create ? { texts, to, create: true } : { texts, to } });
export const isBusy = () => busy || handlingKeys;
export const dropKeys = () => { waitingKeys.length = 0; };

export async function attempt(action) {
  try {
    await action();
  } catch (error) {
    dropKeys(); // they were meant for what came after a success
    if (error.status === 409) {
      await catchUp();
      say(`Not done: ${error.message} This page now shows the latest state.`, { bad: true });
    } else say(problem(error), { bad: true });
  }
}

async function catchUp() {
  try {
    await refresh();
    await show();
  } catch { /* the next request says what is wrong */ }
}

export async function once(action) { // a second click does not repeat a decision that is under way
  if (busy) return;
  busy = true;
  try {
    await attempt(action);
  } finally {
    busy = false;
  }
  handleKeys();
}

export async function handleKeys(key) { // one after the other, each for what is then shown
  if (key !== undefined) waitingKeys.push({ key, early: isBusy() });
  if (handlingKeys || busy) return;
  handlingKeys = true;
  try {
    while (waitingKeys.length) {
      const next = waitingKeys.shift();
      if (next.early && current.onlySeen?.has(next.key)) dropKeys(); // nobody does this without having seen it
      else await current.keys?.[next.key]?.();
    }
  } finally {
    handlingKeys = false;
  }
}

// A decision is judged by what its reviewer saw: in the view, or when a dialog was opened. News that arrive meanwhile, and
// that a view with a selection or a draft does not show yet, must not hide a conflict.
let seenByDialog = null;
const latest = () => ({ version: known.state.version, model: known.state.model });
const seenNow = () => seenByDialog ?? current.seen ?? latest();
export const keepSeen = () => { seenByDialog = current.seen ?? latest(); };
export const forgetSeen = () => { seenByDialog = null; };
function haveSeenLatest() {
  current.seen = latest();
  if (seenByDialog) seenByDialog = latest();
}

// Record decisions, or throw. `decide` and the dialogs use it.
export const record = (decisions) => recordAt("/v1/review/decisions", { decisions });
export async function recordAt(path, body) {
  try {
    const answer = await api(path, { author: who(), ...seenNow(), ...body });
    await refresh();
    return answer.entries;
  } catch (error) {
    if (error.status === 409) { // so that the next attempt is about what there is now
      await refresh();
      haveSeenLatest();
    }
    throw error;
  }
}

export async function settle(message, entries, next) {
  const leaves = next !== undefined && location.hash !== next;
  if (leaves) go(next); else await show();
  say(message, { undo: () => undo(entries.at(-1).id, true), forNextView: leaves });
  byId("view").focus({ preventScroll: true });
}

export async function decide(decisions, message, next) {
  let isDone = false;
  await once(async () => {
    const entries = await record(decisions);
    isDone = true;
    await settle(message, entries, next);
  });
  return isDone;
}

// Without an id: one's own last step. A step is all that was recorded together.
export async function undo(id = null, step = false) {
  await once(async () => {
    const { version, model } = known.state;
    const { undone, entries } = await api("/v1/review/undo", { author: who(), version, model, id, step });
    await refresh();
    await show();
    say(entries.length > 1 ? `Undone: ${entries.length} decisions.` : `Undone: ${undone.author} ${undone.words}.`);
  });
}
