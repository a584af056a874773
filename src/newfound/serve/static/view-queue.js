// The queue: the utterances that should be checked first, one at a time, by keyboard. The next one is shown at once;
// the answer is sent meanwhile, one after the other, and an answer that is refused brings its utterance back.
import { api } from "./api.js";
import { attempt, decide, isSending, move, once, recordAt, sendLater, undo, whenSent } from "./decisions.js";
import { askAndMake, askAndMove } from "./dialogs.js";
import { bullets, button, el, kbd, quietLine, row } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { dot, term } from "./parts.js";
import { show } from "./router.js";
import { askName, intentNamed, known, limits, loadDetails, mine, state } from "./store.js";
import { rich, t } from "./strings.js";

/** @typedef {{ version: number, items: QueueItem[], expected_error: number }} Queue */
/** @typedef {QueueItem & { seen: number }} Question `seen` is the version that it was fetched at. */

const MILLISECONDS_OTHERS_COUNT = 5 * 60_000;
const PLACES_TO_BEGIN = 8;
const QUEUE_KEYS = new Set("amnrsu123456789");
const MERGING_KEYS = new Set("123456789");
const ANSWERS_IN_A_ROUND = 40;
const ANSWERS_BEFORE_ASKING_AGAIN = 8; // later questions depend on earlier answers
const EXAMPLES_OF_A_CANDIDATE = 2;
/** @type {Question[]} */
let waiting = []; // what was fetched and is not answered yet
let fetched = { model: "", version: -1, answered: 0 }; // the version counts one's own answers since
const round = { done: 0, of: 0, errorAtStart: /** @type {number | null} */ (null) };
/** @type {Set<number>} */
const skipped = new Set();
/** @type {Question[]} */
const answered = []; // so that what is undone comes back
/** @type {Set<number>} */
const underWay = new Set(); // answered, and perhaps not known to the server when it made the queue

// While somebody else decides as well, two people begin at different places of the queue.
function ownPlace() {
  if (performance.now() - known.othersDecidedAt > MILLISECONDS_OTHERS_COUNT) return 0;
  return [...mine()].reduce((sum, letter) => (31 * sum + (letter.codePointAt(0) ?? 0)) % 997, 7) % PLACES_TO_BEGIN;
}

/**
 * Fetch the queue. What is under the reviewer's eyes stays there if it is still to be answered.
 * @param {number} [shown]
 */
async function fetchQueue(shown) {
  if (!isSending()) underWay.clear();
  const { model } = state();
  /** @type {Queue} */
  const { version, items } = await api(`/v1/review/queue?most=${limits().max_queue}`);
  const place = ownPlace();
  const ordered = [...items.slice(place), ...items.slice(0, place)].filter((u) => !underWay.has(u.id));
  const first = ordered.filter((u) => u.id === shown);
  waiting = [...first, ...ordered.filter((u) => u.id !== shown)].map((u) => ({ ...u, seen: version }));
  fetched = { model, version, answered: 0 };
}

const next = () => waiting.find((u) => !skipped.has(u.id));

/** Whether somebody, in another view or elsewhere, has decided since the queue was fetched, or it is used up. */
function isOld() {
  if (fetched.model !== state().model) return true;
  return !isSending() && (state().version > fetched.version || (!next() && fetched.answered > 0));
}

/** @type {number | undefined} */
let shownId;

export async function queueView() {
  if (isOld()) await fetchQueue(shownId);
  const u = next();
  shownId = u?.id;
  if (u?.candidates.some(([name]) => !known.details.has(name))) await loadDetails();
  const { expected_error: error } = state().progress;
  round.errorAtStart ??= error;
  if (!u) return emptyQueue(waiting.length > 0);
  if (round.done >= round.of) Object.assign(round, { done: 0, of: Math.min(ANSWERS_IN_A_ROUND, waiting.length) });
  const { answers, others } = actionsFor(u);
  const keys = [...answers, ...others].map(({ letter, act }) => [letter, act]);
  return {
    title: t("queue.title"),
    keys: { ...Object.fromEntries(keys), u: () => takeBack() },
    waitingKeys: QUEUE_KEYS,
    onlySeen: u.asks_about === null ? undefined : MERGING_KEYS,
    // The utterance under the reviewer's eyes is exchanged only if somebody else has decided about it.
    onNews: async () => {
      if (isSending()) return false;
      await fetchQueue(u.id);
      return next()?.id !== u.id;
    },
    content: [
      head(error),
      el("div", { class: "card stage" }, [
        el("p", { class: "big" }, u.text),
        quietLine(u.asks_about === null ? t("queue.which") : t("queue.isSame", { name: u.asks_about })),
        el(
          "ul",
          { class: "answers" },
          answers.map((answer) => el("li", answerButton(answer))),
        ),
        row(others.map(actionButton), actionButton({ letter: "u", label: t("undo"), act: () => takeBack() })),
        u.asks_about === null && u.stands_for > 1 && quietLine(t("queue.follow", { n: u.stands_for - 1 })),
      ]),
    ],
  };
}

/** @typedef {{ letter: string, label: string, act: () => unknown }} Action */
/** @typedef {Action & { name: string | null, share: number | null, isAssigned: boolean }} Answer */

/**
 * What can be said of an utterance: the intents it may belong to, the most probable first, and what else can be done.
 * @param {Question} u
 * @returns {{ answers: Answer[], others: Action[] }}
 */
function actionsFor(u) {
  const to = (/** @type {string | null} */ name) =>
    answer(u, name, name === null ? t("said.noIntent") : t("said.isIntent", { text: u.text, name }));
  const mergeInto = (/** @type {string} */ into) =>
    leave(u, () =>
      decide([{ merge: { intents: [u.asks_about], into } }], t("said.mergedNamed", { name: u.asks_about ?? "", into })),
    );
  const skip = () =>
    once(async () => {
      skipped.add(u.id);
      await show();
    });
  const { intent, asks_about: about } = u;
  const keep = () =>
    about === null ? t("queue.keep", { name: intent ?? t("noIntent") }) : t("queue.own", { name: about });
  const offered = u.candidates.filter(([name]) => name !== intent && name !== about).toSorted((a, b) => b[1] - a[1]);
  /** @type {Answer} */
  const assigned = {
    letter: "a",
    label: keep(),
    name: intent,
    share: about === null ? u.probability : null,
    isAssigned: true,
    act: () => to(intent),
  };
  const candidates = offered.map(([name, share], k) => ({
    letter: String(k + 1),
    label: about === null ? name : t("mergeInto", { name }),
    name,
    share: about === null ? share : null,
    isAssigned: false,
    act: () => (about === null ? to(name) : mergeInto(name)),
  }));
  const moved = { except: intent === null ? [] : [intent], after: () => forget(u) };
  const others = [
    { letter: "m", label: t("queue.other"), act: () => askAndMove([u.text], moved) },
    { letter: "n", label: t("newIntent…"), act: () => askAndMake([u.text], { after: () => forget(u) }) },
    ...(intent === null ? [] : [{ letter: "r", label: t("noIntentButton"), act: () => to(null) }]),
    { letter: "s", label: t("queue.skip"), act: skip },
  ];
  return { answers: [assigned, ...candidates], others };
}

/** @param {Question} u */
function forget(u) {
  answered.push(u);
  underWay.add(u.id);
  waiting = waiting.filter((item) => item.id !== u.id);
  round.done += 1;
  fetched.answered += 1;
}

/** @param {Question} u */
function bringBack(u) {
  answered.splice(answered.indexOf(u), 1);
  underWay.delete(u.id);
  waiting = [u, ...waiting.filter((item) => item.id !== u.id)];
  shownId = u.id;
  round.done = Math.max(0, round.done - 1);
}

/**
 * Show the next utterance at once, and send the answer meanwhile.
 * @param {Question} u
 * @param {string | null} to
 * @param {string} message
 * @returns {Promise<unknown>}
 */
async function answer(u, to, message) {
  if (!waiting.some((item) => item.id === u.id)) return; // a second click on the same answer
  if (!mine() && !(await askName())) return;
  forget(u);
  sendLater(() => send(u, to, message), afterSending);
  await show();
}

/**
 * @param {Question} u
 * @param {string | null} to
 * @param {string} message
 */
async function send(u, to, message) {
  let isRecorded = false;
  await attempt(async () => {
    // It is judged by what the reviewer saw: others may have decided about it since it was fetched.
    const entries = await recordAt("/v1/review/decisions", { decisions: [move([u.text], to)], version: u.seen });
    isRecorded = true;
    if (state().version === fetched.version + 1) fetched.version += 1;
    if (isShown()) say(message, { undo: () => takeBack(entries.at(-1)?.id, true) });
  });
  if (!isRecorded) bringBack(u);
}

async function afterSending() {
  if (isSending() || !isShown()) return;
  if (fetched.answered >= ANSWERS_BEFORE_ASKING_AGAIN) await fetchQueue(shownId);
  await show();
}

const isShown = () => location.hash === "#queue";

/**
 * Wait for a decision that changes other questions, too; they are fetched anew when the view is drawn.
 * @param {Question} u
 * @param {() => Promise<boolean>} decideIt
 */
async function leave(u, decideIt) {
  await whenSent();
  if (await decideIt()) forget(u);
}

/**
 * @param {number | null} [id]
 * @param {boolean} [step]
 */
const takeBack = (id = null, step = false) =>
  undo(id, step, (entries) => {
    const texts = new Set(entries.flatMap((e) => e.arguments.texts ?? []));
    for (const u of answered.filter((item) => texts.has(item.text))) bringBack(u);
  });

/** @param {Answer} answer */
function answerButton({ letter, label, name, share, isAssigned, act }) {
  const intent = name === null ? undefined : intentNamed(name);
  const examples = name === null ? [] : (known.details.get(name)?.examples ?? []).slice(0, EXAMPLES_OF_A_CANDIDATE);
  return button(
    [
      kbd(letter),
      el("span", { class: "label" }, [
        name !== null && [dot(name), " "],
        label,
        isAssigned && el("small", t("queue.assigned")),
      ]),
      bullets(examples, { class: "examples" }),
      el("span", { class: "facts" }, [
        share !== null && el("strong", percent(share)),
        intent && t("queue.traffic", { share: percent(intent.share) }),
      ]),
    ],
    act,
    { class: isAssigned ? "answer assigned" : "answer" },
  );
}

/** @param {Action} action */
const actionButton = ({ letter, label, act }) => button([kbd(letter), " ", label], act, { class: "wrap" });

/** @param {number} error */
function head(error) {
  const { done, of, errorAtStart: before } = round;
  const values = { term: term("expectedError"), error: percent(error) };
  const fell = before !== null && percent(before) !== percent(error);
  return [
    el("div", { class: "stage-head" }, [
      el("h2", t("queue.heading")),
      el("progress", { max: of || 1, value: done, "aria-label": t("queue.done", { done, of }) }),
      el("span", t("queue.done", { done, of })),
      el("span", fell ? rich("queue.errorFell", { ...values, before: percent(before) }) : rich("queue.error", values)),
    ]),
  ];
}

/** @param {boolean} hasSkipped */
function emptyQueue(hasSkipped) {
  const startOver = () => {
    skipped.clear();
    show();
  };
  return {
    title: t("queue.title"),
    keys: { u: () => takeBack() },
    content: el("section", { class: "card stage" }, [
      el("h2", t(hasSkipped ? "queue.allSkipped" : "queue.empty")),
      row(
        hasSkipped && button(t("queue.startOver"), startOver, { class: "main" }),
        el("a", { class: "button", href: "#intents" }, t("queue.toIntents")),
        el("a", { class: "button", href: "#export" }, t("overview.export")),
      ),
    ]),
  };
}
