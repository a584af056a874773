// Decisions: recorded one after the other, undone, and what happens if one is refused.
import { post, problem } from "./api.js";
import { askName } from "./dialogs.js";
import { button, byId } from "./dom.js";
import { say } from "./messages.js";
import { address, current, go, show } from "./router.js";
import { NobodyYet, refresh, state, who } from "./review.js";
import { store } from "./store.js";
import { t } from "./strings.js";

/** @typedef {import("./api.js").Refusal} Refusal */

const { sending } = store;

/**
 * @param {{ texts: string[] } | { ids: number[] }} which Utterances, by numbers if there may be thousands.
 * @param {string | null} to
 * @param {boolean} [create]
 * @returns {Decision}
 */
export const move = (which, to, create) => ({ move: { ...which, to, create: create || undefined } });
export const isBusy = () => sending.isBusy;

/**
 * Do something, and say what went wrong. If nobody has said who is reviewing, ask, and then do it.
 * @param {() => unknown} action
 * @returns {Promise<unknown>}
 */
export async function attempt(action) {
  try {
    await action();
  } catch (caught) {
    const error = /** @type {any} */ (caught);
    if (error instanceof NobodyYet) return (await askName()) && attempt(action);
    if (error.status === 409) await explainConflict(error);
    else say(problem(error), { bad: true });
  }
}

/**
 * Say who decided otherwise, and offer to take that back. Other refusals, as of a second job, are only said.
 * @param {Refusal} error
 */
export async function explainConflict({ message, entry }) {
  await catchUp();
  const actions = entry === null ? [] : [button(t("bringBack"), () => undo(entry)), nextIntentButton()];
  say(t("error.conflict", { why: message }), { bad: true, actions });
}

/** A link to the next intent that nobody has decided about. */
export function nextIntentButton() {
  const next = state().intents.find((i) => i.status === "new");
  return next && button(t("nextIntent"), () => go(address("intent", next.name)));
}

async function catchUp() {
  try {
    await refresh();
    await show();
  } catch {
    // the next request says what is wrong
  }
}

// ---------------------------------------------------------------- answers that are sent while the next is shown

export const isSending = () => sending.underWay > 0;
export const whenSent = () => sending.allSent;

/**
 * Send something after what is under way. Nothing that runs in `send` or `after` may wait for `whenSent`.
 * @param {() => Promise<unknown>} send
 * @param {() => Promise<unknown>} after Runs when it is no longer under way.
 */
export function sendLater(send, after) {
  sending.underWay += 1;
  sending.allSent = sending.allSent
    .then(send)
    .finally(() => (sending.underWay -= 1))
    .then(
      () => attempt(after),
      () => {}, // `send` has said what went wrong
    )
    .then(() => {});
}
addEventListener("beforeunload", (event) => isSending() && event.preventDefault());

/** A second click does not repeat a decision that is under way. @param {() => unknown} action */
export async function once(action) {
  if (sending.isBusy) return;
  sending.isBusy = true;
  try {
    await attempt(action);
  } finally {
    sending.isBusy = false;
  }
}

// A decision is judged by what its reviewer saw: in the view, or when a dialog was opened. News that arrive meanwhile,
// and that a view with a selection or a draft does not show yet, must not hide a conflict.
const latest = () => ({ version: state().version, model: state().model });
const seenNow = () => sending.seenByDialog ?? current().seen ?? latest();
export const keepSeen = () => {
  sending.seenByDialog = current().seen ?? latest();
};
export const forgetSeen = () => {
  sending.seenByDialog = null;
};
/** The view shows the latest version. */
export function haveSeenLatest() {
  current().seen = latest();
  if (sending.seenByDialog) sending.seenByDialog = latest();
}

/**
 * Record decisions, or throw.
 * @param {"/v1/review/decisions" | "/v1/review/resize"} path
 * @param {object} body
 * @param {() => void} [onRecorded]
 */
export async function recordAt(path, body, onRecorded) {
  try {
    const answer = await post(path, { author: who(), ...seenNow(), ...body });
    onRecorded?.();
    await refresh();
    return answer.entries;
  } catch (error) {
    // So that the next attempt is about what there is now.
    if (/** @type {any} */ (error).status === 409) {
      await refresh();
      haveSeenLatest();
    }
    throw error;
  }
}

/**
 * Say what was done, with a way to undo it, in the same view or in the next.
 * @param {string} message
 * @param {Entry[]} entries
 * @param {string} [next]
 */
export async function reportDone(message, entries, next) {
  const leaves = next !== undefined && location.hash !== next;
  if (leaves) go(next);
  else await show();
  say(message, { undo: () => undo(entries.at(-1)?.id, true), forNextView: leaves });
  byId("view").focus({ preventScroll: true });
}

/** @param {Step} step @param {() => void} [onRecorded] */
export async function carryOut([decisions, message, next], onRecorded) {
  await reportDone(message, await recordAt("/v1/review/decisions", { decisions }, onRecorded), next);
}

/**
 * The same without a dialog: the page says what went wrong.
 * @param {Step} step
 * @returns {Promise<boolean>} Whether it was recorded.
 */
export async function decide(...step) {
  let isDone = false;
  await once(() => carryOut(step, () => (isDone = true)));
  return isDone;
}

/** @param {string} intent @param {string} [next] Address of the view to go to. */
export const accept = (intent, next) => decide([{ accept: { intent } }], t("said.accepted", { name: intent }), next);

/** @type {(name: string, into: string) => Step} */
export const merger = (name, into) => [
  [{ merge: { intents: [name], into } }],
  t("said.mergedInto", { name: into }),
  address("intent", into),
];

/** Undo one's own last step as the view does it, which may bring something back. */
export const undoHere = () => (current().keys?.u ?? undo)();

/**
 * Undo a decision; without an id, one's own last step. A step is all that was recorded together.
 * @param {number | null} [id]
 * @param {boolean} [step]
 * @param {(entries: Entry[]) => void} [onUndone] Called before the view is drawn again.
 */
export async function undo(id = null, step = false, onUndone = () => {}) {
  await whenSent();
  await once(async () => {
    const answer = await post("/v1/review/undo", { author: who(), ...latest(), id, step });
    await refresh();
    onUndone(answer.entries);
    await show();
    const [undone, ...others] = answer.entries;
    if (others.length > 0) say(t("said.undoneSeveral", { n: answer.entries.length }));
    else say(t("said.undone", { who: undone.author, what: undone.words }));
  });
}
