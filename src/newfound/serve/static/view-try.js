// What texts are classified as, and why: one text or several, one per line.
import { post } from "./api.js";
import { attempt } from "./decisions.js";
import { bullets, button, el, fill, kbd, quiet, row, table, tableRow } from "./dom.js";
import { named, sureness, warning } from "./parts.js";
import { draft, limits } from "./review.js";
import { rich, t } from "./strings.js";

const MAX_CHARACTERS = 100_000; // of all texts together

export async function tryView() {
  const attributes = { id: "try-text", rows: 4, maxlength: MAX_CHARACTERS, placeholder: t("try.placeholder") };
  const input = draft("try", el("textarea", attributes));
  const answer = el("div", { "aria-live": "polite" });
  const classify = () => attempt(async () => fill(answer, await classified(input.value)));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    classify();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  });
  const form = el("form", { onsubmit: submit }, [
    el("label", { for: "try-text" }, t("try.label")),
    input,
    row(
      el("button", { type: "submit", class: "main" }, t("try.classify")),
      quiet(kbd(t("key.ctrl")), " ", kbd(t("key.enter"))),
    ),
  ]);
  return {
    title: t("try.title"),
    onNews: () => false,
    onShown: () => input.focus(),
    content: [el("h2", t("try.title")), form, answer],
  };
}

/** @param {string} lines */
async function classified(lines) {
  const texts = lines
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (!texts.length) return null;
  if (texts.length === 1) return explained(texts[0]);
  const most = limits().max_texts_to_classify;
  if (texts.length > most) throw new Error(t("try.tooMany", { most }));
  const { predictions } = await post("/v1/predict", { texts });
  return predictionTable(texts, predictions);
}

/** @param {string} text */
async function explained(text) {
  const answers = [post("/v1/review/explain", { text }), post("/v1/predict", { texts: [text], several: true })];
  const [why, { predictions }] = /** @type {[Explanation, Posts["/v1/predict"]["answer"]]} */ (
    await Promise.all(answers)
  );
  const parts = predictions[0].intents ?? [];
  const said = parts.map((part) => [
    el("q", { dir: "auto" }, [...text].slice(part.start, part.end).join("")),
    [" ", named(part.intent), " ", quiet(sureness(part.probability))],
  ]);
  return [parts.length > 1 && [el("h3", t("try.parts", { n: parts.length })), bullets(said)], reasons(why)];
}

/** @param {Prediction} p */
const isUnlikeAll = (p) => p.outlier > limits().max_typical_outlier;

/** @param {Explanation} e */
function reasons(e) {
  const intents = e.top.map(({ intent, probability }) =>
    el("li", { class: "row between" }, [el("span", named(intent)), sureness(probability)]),
  );
  const utterances = e.utterances.map((u) => [
    u.text,
    " ",
    named(u.intent),
    quiet(` · ${u.labelled_by} · ${t("try.similarity", { value: String(u.similarity) })}`),
  ]);
  const words = e.words.map((w) =>
    rich(w.intent === e.intent ? "try.lessSure" : "try.another", {
      ...{ word: el("strong", w.word), intent: named(w.intent), sure: sureness(w.probability) },
    }),
  );
  return [
    el("p", { class: "big" }, [named(e.intent), " ", e.intent !== null && quiet(sureness(e.probability))]),
    isUnlikeAll(e) && el("p", { class: "bad" }, t(e.intent === null ? "try.noIntent" : "try.unlikeAllIntents")),
    el("div", { class: "columns" }, [
      el("div", { class: "card" }, [el("h3", t("try.nearestIntents")), el("ul", { class: "plain" }, intents)]),
      el("div", { class: "card" }, [el("h3", t("try.nearestUtterances")), bullets(utterances, { class: "plain" })]),
      words.length > 0 &&
        el("div", { class: "card" }, [el("h3", t("try.without")), bullets(words, { class: "plain" })]),
    ]),
  ];
}

/** @type {Column[]} */
const COLUMNS = [[t("try.sentence")], [t("intent")], [t("term.sure")], [t("try.why"), "action"]];

const predictionTable = (/** @type {string[]} */ texts, /** @type {Prediction[]} */ predictions) => [
  el("h3", t("try.sentences", { n: texts.length })),
  table(
    COLUMNS,
    predictions.flatMap((p, k) => predictionRows(texts[k], p)),
  ),
];

function predictionRows(/** @type {string} */ text, /** @type {Prediction} */ p) {
  const why = el("td", { colspan: COLUMNS.length });
  const detail = el("tr", { hidden: true }, why);
  const explain = () =>
    attempt(async () => {
      detail.hidden = !detail.hidden;
      if (!detail.hidden) fill(why, await explained(text));
    });
  const line = tableRow(COLUMNS, [
    text,
    named(p.intent),
    [p.intent !== null && sureness(p.probability), " ", isUnlikeAll(p) && warning(t("try.unlikeAll"))],
    button(t("try.why?"), explain, { "aria-label": t("try.whyText", { text }), class: "small" }),
  ]);
  return [line, detail];
}
