// What was rejected, and what belongs to no intent.
import { api } from "./api.js";
import { attempt, undo } from "./decisions.js";
import { askAndMake, askAndMove } from "./dialogs.js";
import { button, el } from "./dom.js";
import { plural } from "./format.js";
import { ago, utteranceList } from "./parts.js";

const selection = new Set();

export async function noneView() {
  const [page, { entries }] = await Promise.all([api("/v1/review/without-intent"), api("/v1/review/log?kind=reject")]);
  const rejected = entries.filter((e) => e.kind === "reject" && !e.undone_by).toReversed();
  const clear = { after: () => selection.clear() };
  const rows = (some) => [utteranceList(some, { withIntent: false, selection, onMove: (t) => askAndMove(t, clear), onMake: (t) => askAndMake(t, clear), empty: "Every utterance belongs to an intent." })].flat();
  const list = el("div", {}, rows(page.utterances));
  let shown = page.utterances.length;
  const more = shown < page.total && button("Show more", () => attempt(async () => {
    const next = await api("/v1/review/without-intent?start=" + shown);
    shown += next.utterances.length;
    list.append(...rows(next.utterances));
    if (shown >= next.total) more.remove();
  }));
  return { title: "No intent", onNews: () => !selection.size, content: [el("h2", {}, "Rejected, and of no intent"),
    el("h3", {}, `Rejected intents (${rejected.length})`),
    rejected.length ? el("ul", { class: "plain" }, rejected.map((e) => el("li", { class: "between row" }, el("span", {}, el("strong", {}, e.arguments.intent), ` · ${e.author}, `, ago(e.at)),
      button("Bring back", () => undo(e.id), { "aria-label": `Bring back ${e.arguments.intent}` })))) : el("p", { class: "quiet" }, "None."),
    el("h3", {}, `${plural(page.total, "utterance")} of no intent`), list, more] };
}
