// What was rejected, and what belongs to no intent.
import { api } from "./api.js";
import { undo } from "./decisions.js";
import { button, el, quietLine } from "./dom.js";
import { ago } from "./parts.js";
import { rich, t } from "./strings.js";
import { titleOf, utteranceList } from "./utterances.js";

/** @type {Set<number>} */
const selection = new Set();

export async function noneView() {
  /** @type {[UtterancePage, { entries: Entry[] }]} */
  const [page, { entries }] = await Promise.all([api("/v1/review/without-intent"), api("/v1/review/log?kind=reject")]);
  const rejected = entries.filter((e) => e.kind === "reject" && !e.undone_by).toReversed();
  const fetchPage = (/** @type {number} */ start) => api("/v1/review/without-intent?start=" + start);
  return {
    title: t("none.title"),
    onNews: () => !selection.size,
    content: [
      el("h2", t("none.heading")),
      el("h3", t("none.rejected", { count: rejected.length })),
      rejected.length ? el("ul", { class: "plain" }, rejected.map(rejectedItem)) : quietLine(t("none")),
      el("h3", titleOf(page, "none.utterances")),
      utteranceList(page, { selection, fetchPage, withIntent: false, empty: t("none.empty") }),
    ],
  };
}

/** @param {Entry} e */
function rejectedItem(e) {
  const name = e.arguments.intent;
  return el("li", { class: "between row" }, [
    el("span", rich("none.rejectedBy", { name: el("strong", name), who: e.author, when: ago(e.at) })),
    button(t("none.bringBack"), () => undo(e.id), { "aria-label": t("none.bringBackNamed", { name }) }),
  ]);
}
