// The audit: does an utterance belong to its intent? Answers change nothing but the estimate of the accuracy.
import { api } from "./api.js";
import { once } from "./decisions.js";
import { bullets, button, el, heading, kbd, quietLine, row, table } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { named } from "./parts.js";
import { show } from "./router.js";
import { state } from "./store.js";
import { rich, t } from "./strings.js";

/** @type {Set<string>} */
const skipped = new Set();
/** @type {AuditResult | null} */
let latest = null; // what the last answer was answered with
/** @type {AuditQuestion[]} */
const given = []; // what was answered on this page, so that it can be undone
/** @type {string | undefined} */
let undone; // the utterance whose answer was undone last: it is asked about again

export async function auditView() {
  const result = latest ?? (await api("/v1/audit"));
  latest = null;
  /** @type {AuditQuestion[]} */
  const open = result.questions.filter((/** @type {AuditQuestion} */ q) => !skipped.has(q.text));
  const question = open.find((q) => q.text === undone) ?? open[0];
  const send = async (/** @type {boolean | null} */ belongs, { text, id } = question) => {
    latest = await api("/v1/audit", { answers: [{ text, id, belongs }], model: state().model });
    undone = belongs === null ? text : undefined;
  };
  const answer = (/** @type {boolean} */ belongs) =>
    once(async () => {
      await send(belongs);
      given.push(question);
      await show();
    });
  const undo = () =>
    once(async () => {
      const last = given.at(-1);
      if (!last) return say(t("audit.nothingToUndo"));
      await send(null, last);
      given.pop();
      await show();
      say(t("audit.undone", { text: last.text }));
    });
  const skip = () =>
    once(async () => {
      skipped.add(question.text);
      await show();
    });
  return {
    title: t("audit.title"),
    keys: { ...(question && { y: () => answer(true), n: () => answer(false), s: skip }), u: undo },
    asks: question?.text,
    onNews: () => false,
    content: [
      el("h2", t("audit.title")),
      quietLine(t("audit.help")),
      question ? card(question, answer, skip, undo) : el("p", t("queue.empty")),
      result.accuracy && estimates(result),
    ],
  };
}

/**
 * @param {AuditQuestion} question
 * @param {(belongs: boolean) => unknown} answer
 * @param {() => unknown} skip
 * @param {() => unknown} undo
 */
const card = (question, answer, skip, undo) =>
  el("div", { class: "card stage" }, [
    el("p", { class: "big" }, question.text),
    el("p", rich("audit.question", { intent: named(question.intent) })),
    bullets(question.examples, { class: "quiet" }),
    row(
      button([kbd("y"), " ", t("audit.yes")], () => answer(true), { class: "main" }),
      button([kbd("n"), " ", t("audit.no")], () => answer(false)),
      button([kbd("s"), " ", t("queue.skip")], skip),
      button([kbd("u"), " ", t("undo")], undo, { class: "undo" }),
    ),
  ]);

/** @param {Estimate} e */
const interval = (e) => `${percent(e.value)} (${percent(e.low)} – ${percent(e.high)})`;

/** @param {AuditResult} result */
const estimates = (result) => [
  el("p", [
    t("audit.accuracy", { interval: interval(result.accuracy), n: result.answered }),
    result.more_questions > 0 && ` ${t("audit.more", { n: result.more_questions })}`,
  ]),
  table(
    {},
    [heading(t("intent")), heading(t("audit.title")), heading(t("audit.yes"))],
    result.intents.map((i) =>
      el("tr", [el("td", named(i.name)), el("td", interval(i.accuracy)), el("td", `${i.yes} / ${i.answered}`)]),
    ),
  ),
];
