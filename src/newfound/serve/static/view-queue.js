// The queue: the utterances that should be checked first, one at a time, by keyboard. The next one is shown at once;
// the answer is sent meanwhile, one after the other, and an answer that is refused brings its utterance back.
import { api } from "./api.js";
import { attempt, decide, move, once, record, undo } from "./decisions.js";
import { askAndMake, askAndMove } from "./dialogs.js";
import { bullets, button, el, kbd, quietLine, row } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { dot, term } from "./parts.js";
import { current, show } from "./router.js";
import { intentNamed, known, limits, loadDetails, mine, state, who } from "./store.js";
import { rich, t } from "./strings.js";

/** @typedef {{ version: number, items: QueueItem[], expected_error: number }} Queue */

const MILLISECONDS_OTHERS_COUNT = 5 * 60_000;
const PLACES_TO_BEGIN = 8;
const QUEUE_KEYS = new Set("amnrsu123456789");
const MERGING_KEYS = new Set("123456789");
const ANSWERS_IN_A_ROUND = 40;
const ANSWERS_BEFORE_ASKING_AGAIN = 8; // later questions depend on earlier answers
const EXAMPLES_OF_A_CANDIDATE = 2;
/** @type {QueueItem[] | null} */
let waiting = null; // what was fetched and is not answered yet
let fetchedFor = ""; // the model that it belongs to
let answeredSinceFetch = 0;
let sent = Promise.resolve();
let sending = 0;
const round = { done: 0, of: 0, errorAtStart: /** @type {number | null} */ (null) };
const skipped = new Set();
/** @type {QueueItem[]} */
const answered = []; // in their order, so that what is undone comes back

export const isSending = () => sending > 0;

// While somebody else decides as well, two people begin at different places of the queue.
function ownPlace() {
  if (performance.now() - known.othersDecidedAt > MILLISECONDS_OTHERS_COUNT) return 0;
  return [...mine()].reduce((sum, letter) => (31 * sum + (letter.codePointAt(0) ?? 0)) % 997, 7) % PLACES_TO_BEGIN;
}

async function fetchQueue() {
  /** @type {Queue} */
  const { items } = await api(`/v1/review/queue?most=${limits().max_queue}`);
  const place = ownPlace();
  waiting = [...items.slice(place), ...items.slice(0, place)];
  fetchedFor = state().model;
  answeredSinceFetch = 0;
}

/**
 * Fetch the queue anew while the reviewer reads. What is under the reviewer's eyes stays there.
 * @param {QueueItem | undefined} shown
 */
async function fetchAgain(shown) {
  await fetchQueue();
  const stays = waiting?.find((u) => u.id === shown?.id);
  if (waiting && stays) waiting = [stays, ...waiting.filter((u) => u !== stays)];
}

const next = () => waiting?.find((u) => !skipped.has(u.id));

export async function queueView() {
  if (!waiting || fetchedFor !== state().model) await fetchQueue();
  if (!next() && answeredSinceFetch) {
    await sent;
    await fetchQueue();
  }
  const u = next();
  if (u?.candidates.some(([name]) => !known.details.has(name))) await loadDetails();
  const { expected_error: error } = state().progress;
  round.errorAtStart ??= error;
  if (!u) return emptyQueue(Boolean(waiting?.length));
  if (round.done >= round.of) Object.assign(round, { done: 0, of: Math.min(ANSWERS_IN_A_ROUND, waiting?.length ?? 0) });
  const { answers, others } = actionsFor(u);
  const keys = [...answers, ...others].map(({ letter, act }) => [letter, act]);
  return {
    title: t("queue.title"),
    keys: { ...Object.fromEntries(keys), u: takeBack },
    waitingKeys: QUEUE_KEYS,
    onlySeen: u.asks_about === null ? undefined : MERGING_KEYS,
    // The utterance under the reviewer's eyes is exchanged only if somebody else has decided about it.
    onNews: async () => {
      if (isSending()) return false;
      await fetchAgain(u);
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
        row(others.map(actionButton), actionButton({ letter: "u", label: t("undo"), act: takeBack })),
        u.asks_about === null && u.stands_for > 1 && quietLine(t("queue.follow", { n: u.stands_for - 1 })),
      ]),
    ],
  };
}

/** @typedef {{ letter: string, label: string, act: () => unknown }} Action */
/** @typedef {Action & { name: string | null, share: number | null, isAssigned: boolean }} Answer */

/**
 * What can be said of an utterance: the intents it may belong to, the most probable first, and what else can be done.
 * @param {QueueItem} u
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

/** @param {QueueItem} u */
function forget(u) {
  answered.push(u);
  waiting = waiting?.filter((item) => item !== u) ?? null;
  round.done += 1;
  answeredSinceFetch += 1;
}

/**
 * Show the next utterance at once, and send the answer meanwhile.
 * @param {QueueItem} u
 * @param {string | null} to
 * @param {string} message
 * @returns {Promise<unknown>}
 */
async function answer(u, to, message) {
  if (!waiting?.includes(u)) return; // a second click on the same answer
  try {
    who();
  } catch {
    return attempt(() => (who(), answer(u, to, message))); // asks who is reviewing, then does it
  }
  forget(u);
  sending += 1;
  sent = sent.then(() => send(u, to, message)).finally(() => (sending -= 1));
  await show();
}

/**
 * @param {QueueItem} u
 * @param {string | null} to
 * @param {string} message
 */
async function send(u, to, message) {
  let isRecorded = false;
  await attempt(async () => {
    const entries = await record([move([u.text], to)]);
    isRecorded = true;
    if (isShown()) say(message, { undo: () => takeBack(entries.at(-1)?.id, true) });
  });
  if (!isRecorded) {
    waiting = [u, ...(waiting ?? [])];
    round.done -= 1;
  }
  if (!isShown()) return;
  if (sending === 1 && answeredSinceFetch >= ANSWERS_BEFORE_ASKING_AGAIN) await fetchAgain(next());
  if (sending === 1 || !isRecorded) await show();
}

const isShown = () => location.hash === "#queue" && current.title === t("queue.title");

/**
 * Wait for a decision that changes other questions, too, and fetch these anew.
 * @param {QueueItem} u
 * @param {() => Promise<boolean>} decideIt
 */
async function leave(u, decideIt) {
  await sent;
  if (!(await decideIt())) return;
  forget(u);
  await fetchQueue();
  await show();
}

/**
 * @param {number | null} [id]
 * @param {boolean} [step]
 */
async function takeBack(id = null, step = false) {
  await sent;
  const back = answered.pop();
  if (back) waiting = [back, ...(waiting ?? [])];
  round.done = Math.max(0, round.done - 1);
  await undo(id, step);
  await fetchAgain(back);
  await show();
}

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
