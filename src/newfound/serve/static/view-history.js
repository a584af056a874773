// Who decided what and when, in words; any decision can be undone.
import { api } from "./api.js";
import { undo } from "./decisions.js";
import { button, el, heading, hiddenHeading, quiet, quietLine, table } from "./dom.js";
import { ago } from "./parts.js";
import { mayBe } from "./store.js";
import { rich, t } from "./strings.js";

export async function historyView() {
  /** @type {{ entries: Entry[], total: number }} */
  const { entries, total } = await api("/v1/review/log");
  const headings = [heading(t("history.when")), heading(t("history.who")), heading(t("history.what"))];
  const rows = entries.toReversed().map(entryRow);
  const content = entries.length
    ? [
        quietLine(t("history.help")),
        table({ class: "history" }, [...headings, hiddenHeading(t("undo"))], rows),
        total > entries.length && quietLine(t("history.latest", { shown: entries.length, total })),
      ]
    : quietLine(t("history.none"));
  return { title: t("history.title"), content: [el("h2", t("history.title")), content] };
}

/** @param {Entry} e */
function entryRow(e) {
  const undone = () =>
    quiet(
      mayBe(e.undone_by ?? "")
        ? rich("history.undoneByYou", { when: ago(e.undone_at) })
        : rich("history.undoneBy", { who: e.undone_by, when: ago(e.undone_at) }),
    );
  const label = t("history.undo", { who: e.author, what: e.words });
  return el("tr", { class: e.undone_by ? "undone" : "" }, [
    el("td", { class: "time" }, ago(e.at)),
    el("td", el("strong", mayBe(e.author) ? t("history.you") : e.author)),
    el("td", { class: "words" }, e.words),
    el(
      "td",
      { class: "action" },
      e.undone_by ? undone() : button(t("undo"), () => undo(e.id), { "aria-label": label }),
    ),
  ]);
}
