// The search over all utterances. It stays while its hits are handled one after the other.
import { api } from "./api.js";
import { decide } from "./decisions.js";
import { askAndMake, askAndMove } from "./dialogs.js";
import { byId, el, quiet } from "./dom.js";
import { plural } from "./format.js";
import { named, utteranceList } from "./parts.js";
import { address, go, show } from "./router.js";
import { intents } from "./store.js";

const input = byId("search");
let selection = new Set(), selectionOf = "", timer = null;

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const words = input.value.trim();
    const target = words ? address("search", words) : "#intents";
    if (location.hash.startsWith("#search/") && words) { history.replaceState(null, "", target); show(); } else if (words || location.hash.startsWith("#search/")) go(target);
  }, 200);
});
byId("search-form").addEventListener("submit", (event) => event.preventDefault());

export async function searchView(words) {
  if (document.activeElement !== input) input.value = words;
  if (selectionOf !== words) { selection = new Set(); selectionOf = words; }
  const answer = await api("/v1/review/search?q=" + encodeURIComponent(words));
  const parts = words.toLowerCase().split(/\s+/);
  const matching = intents().filter((i) => parts.every((w) => i.name.toLowerCase().includes(w)));
  const clear = { after: () => selection.clear() };
  return {
    title: `“${words}”`,
    onNews: () => !selection.size,
    content: [el("h2", {}, `${plural(answer.total, "utterance")} with “${words}”`),
      matching.length > 0 && el("p", {}, quiet("Intents of that name: "), matching.slice(0, 10).map((i) => [named(i.name), " "])),
      answer.total > answer.utterances.length && el("p", { class: "quiet" }, `The first ${answer.utterances.length} are shown.`),
      utteranceList(answer.utterances, { selection, onMove: (t) => askAndMove(t, clear), onMake: (t) => askAndMake(t, clear),
        onNone: async (t) => { if (await decide([{ move: { texts: t, to: null } }], `${plural(t.length, "utterance")} of no intent now.`)) selection.clear(); } })],
  };
}
