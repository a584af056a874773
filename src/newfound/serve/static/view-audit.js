// The audit: does an utterance belong to its intent? Answers change nothing but the estimate of the accuracy.
import { get, post } from "./api.js";
import { once } from "./decisions.js";
import { bullets, button, el, keyed, quietLine, row, table } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { named } from "./parts.js";
import { show } from "./router.js";
import { state } from "./review.js";
import { store } from "./store.js";
import { rich, t } from "./strings.js";

const { audit } = store;

export async function auditView() {
  const result = audit.latest ?? (await get("/v1/audit"));
  audit.latest = null;
  const open = result.questions.filter((q) => !audit.skipped.has(q.text));
  const question = open.find((q) => q.text === audit.undone) ?? open[0];
  const send = async (/** @type {boolean | null} */ belongs, { text, id } = question) => {
    audit.latest = await post("/v1/audit", { answers: [{ text, id, belongs }], model: state().model });
    audit.undone = belongs === null ? text : undefined;
  };
  const answer = (/** @type {boolean} */ belongs) =>
    once(async () => {
      await send(belongs);
      audit.given.push(question);
      await show();
    });
  const undo = () =>
    once(async () => {
      const last = audit.given.at(-1);
      if (!last) return say(t("audit.nothingToUndo"));
      await send(null, last);
      audit.given.pop();
      await show();
      say(t("audit.undone", { text: last.text }));
    });
  const skip = () =>
    once(async () => {
      audit.skipped.add(question.text);
      await show();
    });
  const card = () =>
    el("div", { class: "card stage" }, [
      el("p", { class: "big", dir: "auto", tabindex: -1 }, question.text),
      el("p", rich("audit.question", { intent: named(question.intent) })),
      bullets(question.examples, { class: "quiet" }),
      row(
        button(keyed("y", t("audit.yes")), () => answer(true), { class: "main" }),
        button(keyed("n", t("audit.no")), () => answer(false)),
        button(keyed("s", t("queue.skip")), skip),
        button(keyed("u", t("undo")), undo, { class: "undo" }),
      ),
    ]);
  return {
    title: t("audit.title"),
    keys: { ...(question && { y: () => answer(true), n: () => answer(false), s: skip }), u: undo },
    asks: question?.text,
    onNews: () => false,
    content: [
      el("h2", t("audit.title")),
      quietLine(t("audit.help")),
      question ? card() : el("p", t("queue.empty")),
      result.accuracy && estimates(result, result.accuracy),
    ],
  };
}

/** @typedef {NonNullable<AuditResult["accuracy"]>} Estimate */
/** @param {Estimate} e */
const interval = (e) => `${percent(e.value)} (${percent(e.low)} – ${percent(e.high)})`;

const estimates = (/** @type {AuditResult} */ result, /** @type {Estimate} */ accuracy) => [
  el("p", [
    t("audit.accuracy", { interval: interval(accuracy), n: result.answered }),
    result.more_questions > 0 && ` ${t("audit.more", { n: result.more_questions })}`,
  ]),
  table(
    [[t("intent")], [t("audit.column")], [t("audit.yes")]],
    result.intents.map((i) => [named(i.name), interval(i.accuracy), `${i.yes} / ${i.answered}`]),
  ),
];
