// Who decided what and when, in words; any decision can be undone, except what a model was trained on.
import { api } from "./api.js";
import { undo } from "./decisions.js";
import { button, el, heading, hiddenHeading, quiet, quietLine, table } from "./dom.js";
import { ago } from "./parts.js";
import { mayBe, state } from "./store.js";
import { rich, t } from "./strings.js";

export async function historyView() {
  /** @type {{ entries: Entry[], total: number, earlier: EarlierTraining[] }} */
  const { entries, total, earlier } = await api("/v1/review/log");
  const content = entries.length
    ? [quietLine(t("history.help")), decisionTable(entries, entryRow), shownOf(entries.length, total)]
    : quietLine(earlier.length ? t("history.noneSince", { name: state().name }) : t("history.none"));
  const results = [...earlier.slice(1).map((training) => training.model), state().name];
  const before = earlier.map((training, k) => earlierDecisions(training, results[k])).reverse();
  return { title: t("history.title"), content: [el("h2", t("history.title")), content, before] };
}

/**
 * @param {Entry[]} entries
 * @param {(entry: Entry) => HTMLElement} makeRow
 */
function decisionTable(entries, makeRow) {
  const headings = [heading(t("history.when")), heading(t("history.who")), heading(t("history.what"))];
  return table({ class: "history" }, [...headings, hiddenHeading(t("undo"))], entries.toReversed().map(makeRow));
}

/**
 * @param {number} shown
 * @param {number} total
 */
const shownOf = (shown, total) => total > shown && quietLine(t("history.latest", { shown, total }));

/**
 * What was decided before a training.
 * @param {EarlierTraining} training
 * @param {string} result Name of the model that was trained.
 */
function earlierDecisions({ model, at, author, total, entries }, result) {
  const facts = { model: el("strong", model), when: ago(at) };
  const help = author
    ? rich("history.beforeHelp", { who: el("strong", mayBe(author) ? t("history.you") : author), ...facts })
    : rich("history.beforeHelpUnknown", facts);
  return el("section", { "aria-label": t("history.before", { name: result }) }, [
    el("h3", t("history.before", { name: result })),
    quietLine(help),
    entries.length > 0 && decisionTable(entries, earlierRow),
    shownOf(entries.length, total),
  ]);
}

/** @param {Entry} e */
const undone = (e) =>
  e.undone_by !== null &&
  quiet(
    mayBe(e.undone_by)
      ? rich("history.undoneByYou", { when: ago(e.undone_at) })
      : rich("history.undoneBy", { who: e.undone_by, when: ago(e.undone_at) }),
  );

/** @param {Entry} e */
const earlierRow = (e) => decisionRow(e, undone(e));

/** @param {Entry} e */
function entryRow(e) {
  const label = t("history.undo", { who: e.author, what: e.words });
  return decisionRow(e, undone(e) || button(t("undo"), () => undo(e.id), { "aria-label": label }));
}

/**
 * @param {Entry} e
 * @param {Child} action
 */
const decisionRow = (e, action) =>
  el("tr", { class: e.undone_by ? "undone" : "" }, [
    el("td", { class: "time" }, ago(e.at)),
    el("td", el("strong", mayBe(e.author) ? t("history.you") : e.author)),
    el("td", { class: "words" }, e.words),
    el("td", { class: "action" }, action),
  ]);
