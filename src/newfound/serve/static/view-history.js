// Who decided what and when, in words; any decision can be undone, except what a model was trained on.
import { get } from "./api.js";
import { undo } from "./decisions.js";
import { button, el, quiet, quietLine, section, table, tableRow } from "./dom.js";
import { moment } from "./parts.js";
import { mayBe, state } from "./review.js";
import { rich, t } from "./strings.js";

export async function historyView() {
  const { entries, total, earlier } = await get("/v1/review/log");
  const content = entries.length
    ? [quietLine(t("history.help")), decisionTable(entries, undoButton), shownOf(entries.length, total)]
    : quietLine(earlier.length ? t("history.noneSince", { name: state().name }) : t("history.none"));
  const results = [...earlier.slice(1).map((training) => training.model), state().name];
  const before = earlier.map((training, k) => earlierDecisions(training, results[k])).reverse();
  return { title: t("history.title"), content: [el("h2", t("history.title")), content, before] };
}

/** @type {Column[]} */
const COLUMNS = [[t("history.when"), "time"], [t("history.who")], [t("history.what"), "words"], [t("undo"), "action"]];

/** @param {Entry[]} entries @param {(entry: Entry) => Child} [action] Of a decision that is not undone. */
function decisionTable(entries, action) {
  const line = (/** @type {Entry} */ e) => {
    const author = el("strong", nameOf(e.author));
    const cells = [
      moment(e.at),
      author,
      e.words,
      e.undone_by === null ? action?.(e) : undone(e.undone_by, e.undone_at),
    ];
    return tableRow(COLUMNS, cells, { class: e.undone_by ? "undone" : "" });
  };
  return table(COLUMNS, entries.toReversed().map(line), { class: "history" });
}

/** @param {string} author */
const nameOf = (author) => (mayBe(author) ? t("history.you") : author);

const shownOf = (/** @type {number} */ shown, /** @type {number} */ total) =>
  total > shown && quietLine(t("history.latest", { shown, total }));

/**
 * What was decided before a training.
 * @param {Log["earlier"][number]} training
 * @param {string} result Name of the model that was trained.
 */
function earlierDecisions({ model, at, author, total, entries }, result) {
  const facts = { model: el("strong", model), when: moment(at) };
  const help = author
    ? rich("history.beforeHelp", { who: el("strong", nameOf(author)), ...facts })
    : rich("history.beforeHelpUnknown", facts);
  const decided = entries.length > 0 && decisionTable(entries);
  return section(t("history.before", { name: result }), [quietLine(help), decided, shownOf(entries.length, total)]);
}

function undone(/** @type {string} */ who, /** @type {string | null} */ at) {
  const when = moment(at ?? "");
  return quiet(mayBe(who) ? rich("history.undoneByYou", { when }) : rich("history.undoneBy", { who, when }));
}

/** @param {Entry} e */
const undoButton = (e) =>
  button(t("undo"), () => undo(e.id), { "aria-label": t("history.undo", { who: e.author, what: e.words }) });
