// The queue: the utterances that should be checked first, one at a time, by keyboard. The next one is shown at once;
// the answer is sent meanwhile, one after the other, and an answer that is refused brings its utterance back.
import { get } from "./api.js";
import { attempt, isSending, move, once, recordAt, sendLater, undo, whenSent } from "./decisions.js";
import { askAndMake, askAndMove, askName, conclude, confirm } from "./dialogs.js";
import { askToDivide, contextOf } from "./dividing.js";
import { bullets, button, el, kbd, keyed, linkButton, quietLine, row } from "./dom.js";
import { count, percent } from "./format.js";
import { say } from "./messages.js";
import { dot, sureness, term } from "./parts.js";
import { show } from "./router.js";
import { intentNamed, isIntent, known, limits, loadDetails, mine, state } from "./review.js";
import { store } from "./store.js";
import { breakable, rich, t } from "./strings.js";

/** @typedef {import("./queue-model.js").Question} Question */

const MILLISECONDS_OTHERS_COUNT = 5 * 60_000;
const PLACES_TO_BEGIN = 8;
const MERGING_KEY = "j";
const EXAMPLES_OF_A_CANDIDATE = 2;
const ROUND = "newfound-round"; // the goal survives a reload
const { queue } = store;
Object.assign(queue.round, JSON.parse(sessionStorage.getItem(ROUND) ?? "{}"));

// While somebody else decides as well, two people begin at different places of the queue.
function ownPlace() {
  if (performance.now() - known.othersDecidedAt > MILLISECONDS_OTHERS_COUNT) return 0;
  return [...mine()].reduce((sum, letter) => (31 * sum + (letter.codePointAt(0) ?? 0)) % 997, 7) % PLACES_TO_BEGIN;
}

async function fetchQueue() {
  if (!isSending()) queue.underWay.clear();
  const { model } = state();
  const fetched = await get("/v1/review/queue", { most: limits().max_queue, shown: queue.shownId });
  queue.take(model, fetched, isIntent, ownPlace());
}

export async function queueView() {
  if (queue.isOld(state(), isSending())) await fetchQueue();
  const u = queue.show();
  if (u?.candidates.some(([name]) => !known.details.has(name))) await loadDetails();
  const { expected_error: error } = state().progress;
  queue.beginRound(state().model, error);
  sessionStorage.setItem(ROUND, JSON.stringify(queue.round));
  if (!u) return emptyQueue(queue.waiting.length > 0);
  const { answers, others } = actionsFor(u);
  const keys = [...answers, ...others].filter(({ letter }) => letter).map(({ letter, act }) => [letter, act]);
  return {
    title: t("queue.title"),
    keys: { ...Object.fromEntries(keys), u: () => takeBack() },
    asks: [u.id, u.asks_about, ...answers.map(({ name }) => name)].join("\n"),
    // The utterance under the reviewer's eyes is exchanged only if somebody else has decided about it.
    onNews: async () => {
      if (isSending()) return false;
      await fetchQueue();
      return queue.next()?.id !== u.id;
    },
    content: [
      head(error),
      el("div", { class: "card stage" }, [
        el("p", { class: "big", dir: "auto", tabindex: -1 }, u.text),
        contextOf(u),
        u.asks_about === null ? quietLine(t("queue.which")) : isSame(u.asks_about),
        bullets(answers.map(answerButton), { class: "answers" }),
        row(
          others.map(actionButton),
          button(keyed("u", t("undo")), () => takeBack(), { class: "wrap undo" }),
        ),
        u.asks_about === null && u.stands_for > 1 && quietLine(t("queue.follow", { n: u.stands_for - 1 })),
      ]),
    ],
  };
}

/** The question whether a whole intent is the same as another one. @param {string} name */
const isSame = (name) =>
  el("div", { class: "merging" }, [
    el("h3", t("queue.isSameTitle", { name, size: sizeOf(name) })),
    quietLine(t("queue.isSame", { name })),
  ]);
/** @param {string} name */
const sizeOf = (name) => t("utterances", { n: intentNamed(name)?.size ?? 0 });

/** @typedef {{ letter: string | null, label: string, act: () => unknown }} Action */
/** @typedef {Action & { name: string | null, share: number | null, isAssigned: boolean }} Answer */

/**
 * What can be said of an utterance: the intents it may belong to, the most probable first, and what else can be done.
 * @param {Question} u
 * @returns {{ answers: Answer[], others: Action[] }}
 */
function actionsFor(u) {
  const { intent, asks_about: about } = u;
  const ifOpen = (/** @type {() => unknown} */ act) => () =>
    queue.waiting.some(({ id }) => id === u.id) ? act() : undefined;
  const to = (/** @type {string | null} */ name) =>
    ifOpen(() => answer(u, name, name === null ? t("said.noIntent") : t("said.isIntent", { text: u.text, name })));
  const skip = () =>
    once(async () => {
      queue.skipped.add(u.id);
      await show();
    });
  const offered = u.candidates.filter(([name]) => name !== intent && name !== about).toSorted((a, b) => b[1] - a[1]);
  const send = (/** @type {string} */ name, /** @type {boolean} */ create, /** @type {string} */ said) => {
    answer(u, name, said, create);
  };
  const skipping = { letter: "s", label: t("queue.skip"), act: ifOpen(skip) };
  const assigned = { letter: "a", name: intent, isAssigned: true, act: to(intent) };
  if (about !== null) {
    const own = { ...assigned, label: t("queue.own", { name: about }), share: null };
    const merges = offered.map(([name], k) => ({
      letter: k === 0 ? MERGING_KEY : null, // one key merges, and it is not one that labels
      label: t("mergeInto", { name }),
      name,
      share: null,
      isAssigned: false,
      act: ifOpen(() => askAndMerge(u, about, name)),
    }));
    return { answers: [own, ...merges], others: [skipping] };
  }
  const keep = { ...assigned, label: t("queue.keep", { name: intent ?? t("noIntent") }), share: u.probability };
  const candidates = offered.map(([name, share], k) => {
    return { letter: String(k + 1), label: name, name, share, isAssigned: false, act: to(name) };
  });
  const others = [
    {
      letter: "m",
      label: t("queue.other"),
      act: ifOpen(() => askAndMove([u.text], { ids: [u.id], from: intent, send })),
    },
    { letter: "n", label: t("newIntent…"), act: ifOpen(() => askAndMake([u.text], { ids: [u.id], send })) },
    { letter: "w", label: t("divide.title"), act: ifOpen(() => askToDivide(u.text, () => queue.forget(u))) },
    ...(intent === null ? [] : [{ letter: "r", label: t("noIntentButton"), act: to(null) }]),
    skipping,
  ];
  return { answers: [keep, ...candidates], others };
}

/**
 * Merge a whole intent into another one, once the reviewer has said so twice. It changes other questions, too; these
 * are fetched anew when the view is drawn.
 * @param {Question} u
 * @param {string} name
 * @param {string} into
 */
const askAndMerge = (u, name, into) =>
  confirm({
    title: t("mergeNamed", { name, into }),
    note: t("queue.mergeSizes", { name, n: sizeOf(name), into, m: sizeOf(into) }),
    ok: t("mergeInto", { name: into }),
    submit: async () => {
      await whenSent();
      const merge = { merge: { intents: [name], into } };
      await conclude([[merge], t("said.mergedNamed", { name, into })], () => queue.forget(u));
    },
  });

/**
 * Show the next utterance at once, and send the answer meanwhile.
 * @param {Question} u
 * @param {string | null} to
 * @param {string} message
 * @param {boolean} [create]
 */
async function answer(u, to, message, create) {
  if (!mine() && !(await askName())) return;
  queue.forget(u);
  let isRecorded = false;
  const record = async () => {
    // It is judged by what the reviewer saw: others may have decided about it since it was fetched.
    const decisions = [move({ texts: [u.text] }, to, create)];
    const entries = await recordAt("/v1/review/decisions", { decisions, version: u.seen });
    isRecorded = true;
    queue.recorded(state().version);
    if (isShown()) say(message, { undo: () => takeBack(entries.at(-1)?.id, true) });
  };
  const send = async () => {
    await attempt(record);
    if (!isRecorded) queue.bringBack(u, true);
  };
  sendLater(send, afterSending);
  await show();
}

async function afterSending() {
  if (isSending() || !isShown()) return;
  if (queue.mustAskAgain()) await fetchQueue();
  await show();
}

const isShown = () => location.hash === "#queue";

const takeBack = (/** @type {number | null} */ id = null, /** @type {boolean} */ step = false) =>
  undo(id, step, (entries) => {
    const texts = new Set(entries.flatMap((e) => e.arguments.texts ?? e.arguments.text));
    for (const u of queue.answered.filter((item) => texts.has(item.text))) queue.bringBack(u);
  });

/** @param {Answer} answer */
function answerButton({ letter, label, name, share, isAssigned, act }) {
  const intent = name === null ? undefined : intentNamed(name);
  const examples = name === null ? [] : (known.details.get(name)?.examples ?? []).slice(0, EXAMPLES_OF_A_CANDIDATE);
  return button(
    [
      letter === null ? el("span") : kbd(letter),
      el("span", { class: "label" }, [
        name !== null && [dot(name), " "],
        breakable(label),
        isAssigned && el("small", t("queue.assigned")),
      ]),
      bullets(examples, { class: "examples" }),
      el("span", { class: "facts" }, [
        share !== null && el("strong", sureness(share)),
        intent && (share === null ? sizeOf(intent.name) : t("queue.traffic", { share: percent(intent.share) })),
      ]),
    ],
    act,
    { class: isAssigned ? "answer assigned" : "answer" },
  );
}

/** @param {Action} action */
const actionButton = ({ letter, label, act }) => button(keyed(letter ?? "", label), act, { class: "wrap" });

/** @param {number} error */
function head(error) {
  const { done, of, errorAtStart: before } = queue.round;
  const [now, then] = [error, before].map((share) => Math.round(share * state().progress.logs));
  const values = { term: term("wrong"), n: count(now) };
  return el("div", { class: "stage-head" }, [
    el("h2", t("queue.heading")),
    el("progress", { max: of || 1, value: done, "aria-label": t("queue.done", { done, of }) }),
    el("span", t("queue.done", { done, of })),
    el("span", now < then ? rich("queue.errorFell", { ...values, before: count(then) }) : rich("queue.error", values)),
  ]);
}

/** @param {boolean} hasSkipped */
function emptyQueue(hasSkipped) {
  const startOver = () => {
    queue.skipped.clear();
    show();
  };
  return {
    title: t("queue.title"),
    keys: { u: () => takeBack() },
    content: el("section", { class: "card stage" }, [
      el("h2", t(hasSkipped ? "queue.allSkipped" : "queue.empty")),
      row(
        hasSkipped && button(t("queue.startOver"), startOver, { class: "main" }),
        linkButton("#intents", t("queue.toIntents")),
        linkButton("#export", t("export.title")),
      ),
    ]),
  };
}
