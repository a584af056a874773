// The queue: the utterances that should be checked first, one at a time, by keyboard.
import { api } from "./api.js";
import { decide, move, once, undo } from "./decisions.js";
import { askAndMake, askAndMove } from "./dialogs.js";
import { button, el, kbd, quiet, quietLine, row } from "./dom.js";
import { percent } from "./format.js";
import { named, term } from "./parts.js";
import { show } from "./router.js";
import { known, limits, mine, state } from "./store.js";
import { rich, t } from "./strings.js";

/** @typedef {{ items: QueueItem[], expected_error: number }} Queue */

const MILLISECONDS_OTHERS_COUNT = 5 * 60_000;
const PLACES_TO_BEGIN = 8;
const QUEUE_KEYS = new Set("amnrsu123456789");
const MERGING_KEYS = new Set("123456789");
/** @type {number | null} */
let errorAtStart = null;
const skipped = new Set();

// While somebody else decides as well, two people begin at different places of the queue.
function ownPlace() {
  if (performance.now() - known.othersDecidedAt > MILLISECONDS_OTHERS_COUNT) return 0;
  return [...mine()].reduce((sum, letter) => (31 * sum + (letter.codePointAt(0) ?? 0)) % 997, 7) % PLACES_TO_BEGIN;
}

/** @returns {Promise<Queue>} */
const fetchQueue = () => api(`/v1/review/queue?most=${limits().max_queue}`);

export async function queueView() {
  const { items, expected_error: error } = await fetchQueue();
  errorAtStart ??= error;
  const left = items.filter((u) => !skipped.has(u.id));
  const head = [el("h2", t("queue.heading")), quietLine(introduction(error, errorAtStart))];
  if (!left.length) return emptyQueue(head, items.length > 0);
  const u = left[ownPlace() % left.length];
  const { actions, candidates } = actionsFor(u);
  const { version } = state();
  const waiting = t(items.length === limits().max_queue ? "queue.waitAtLeast" : "queue.wait", { n: left.length });
  const keys = [...actions, ...candidates].map(({ letter, act }) => [letter, act]);
  return {
    title: t("queue.title"),
    keys: { ...Object.fromEntries(keys), u: () => undo() },
    waitingKeys: QUEUE_KEYS,
    onlySeen: u.asks_about === null ? undefined : MERGING_KEYS,
    // The utterance under the reviewer's eyes is exchanged only if somebody else has decided about it.
    onNews: async () => state().version !== version && !(await fetchQueue()).items.some((item) => item.id === u.id),
    content: [
      head,
      el("div", { class: "card stage" }, [
        el("p", { class: "big" }, u.text),
        el("p", assignment(u)),
        row(actions.map(actionButton)),
        quietLine(u.asks_about === null ? t("queue.orOneOf") : t("queue.isSame", { name: u.asks_about })),
        row(candidates.map(actionButton)),
        u.asks_about === null && u.stands_for > 1 && quietLine(t("queue.follow", { n: u.stands_for - 1 })),
      ]),
      quietLine(rich("queue.undo", { key: kbd("u") }), " ", waiting),
    ],
  };
}

/** @typedef {{ letter: string, label: string, act: () => unknown, isMain?: boolean }} Action */

/**
 * What can be done with an utterance, and the intents that it may belong to, each with its key.
 * @param {QueueItem} u
 * @returns {{ actions: Action[], candidates: Action[] }}
 */
function actionsFor(u) {
  const to = (/** @type {string} */ name) => decide([move([u.text], name)], t("said.isIntent", { text: u.text, name }));
  const mergeInto = (/** @type {string} */ into) =>
    decide([{ merge: { intents: [u.asks_about], into } }], t("said.mergedNamed", { name: u.asks_about ?? "", into }));
  const reject = () => decide([move([u.text], null)], t("said.noIntent"));
  const skip = () =>
    once(async () => {
      skipped.add(u.id);
      await show();
    });
  const { intent } = u;
  const actions = [
    { letter: "a", label: t("accept"), act: () => (intent === null ? reject() : to(intent)), isMain: true },
    { letter: "m", label: t("move…"), act: () => askAndMove([u.text], { except: intent === null ? [] : [intent] }) },
    { letter: "n", label: t("newIntent…"), act: () => askAndMake([u.text]) },
    { letter: "r", label: t("noIntentButton"), act: reject },
    { letter: "s", label: t("queue.skip"), act: skip },
  ];
  const candidates = u.candidates.map(([name, share], k) => ({
    letter: String(k + 1),
    label: u.asks_about === null ? `${name} (${percent(share)})` : t("mergeInto", { name }),
    act: () => (u.asks_about === null ? to(name) : mergeInto(name)),
  }));
  return { actions, candidates };
}

/** @param {Action} action */
const actionButton = ({ letter, label, act, isMain }) =>
  button([kbd(letter), " ", label], act, { class: isMain ? "main wrap" : "wrap" });

/** @param {QueueItem} u */
const assignment = (u) => [
  rich("queue.assigned", { intent: named(u.intent) }),
  quiet(` · ${t("queue.probability", { share: percent(u.probability) })} · `),
  term("agreement"),
  quiet(` ${percent(u.agreement)}`),
];

/**
 * @param {number} error
 * @param {number} before
 */
function introduction(error, before) {
  const values = { term: term("expectedError"), error: percent(error) };
  const line =
    error < before ? rich("queue.errorFell", { ...values, before: percent(before) }) : rich("queue.error", values);
  return [t("queue.help"), " ", line];
}

/**
 * @param {Child} head
 * @param {boolean} hasSkipped
 */
function emptyQueue(head, hasSkipped) {
  const startOver = () => {
    skipped.clear();
    show();
  };
  return {
    title: t("queue.title"),
    keys: { u: () => undo() },
    content: [
      head,
      el("p", t(hasSkipped ? "queue.allSkipped" : "queue.empty")),
      hasSkipped && button(t("queue.startOver"), startOver),
    ],
  };
}
