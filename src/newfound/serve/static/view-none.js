// What was rejected, and what belongs to no intent.
import { get } from "./api.js";
import { undo } from "./decisions.js";
import { button, el, quietLine } from "./dom.js";
import { moment } from "./parts.js";
import { rich, t } from "./strings.js";
import { selectionIn, titleOf, utteranceList, utterancesAt } from "./utterances.js";

export async function noneView() {
  const selection = selectionIn("none");
  const fetchPage = utterancesAt("/v1/review/without-intent", {});
  const [page, { entries }] = await Promise.all([fetchPage(), get("/v1/review/log", { kind: "reject" })]);
  const rejected = entries.filter((e) => !e.undone_by).toReversed();
  return {
    title: t("noIntentButton"),
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
  const name = String(e.arguments.intent);
  return el("li", { class: "between row" }, [
    el("span", rich("none.rejectedBy", { name: el("strong", name), who: e.author, when: moment(e.at) })),
    button(t("bringBack"), () => undo(e.id), { "aria-label": t("none.bringBackNamed", { name }) }),
  ]);
}
