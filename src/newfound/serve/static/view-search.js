// The search, by words or by meaning. It stays while its hits are handled one after the other.
import { byId, el, lastOf, quiet } from "./dom.js";
import { named } from "./parts.js";
import { address, go, show } from "./router.js";
import { intents } from "./review.js";
import { t } from "./strings.js";
import { differentTexts, likeAddress, selectionIn, utteranceList, utterancesAt } from "./utterances.js";

const MAX_NAMES_SHOWN = 10;
const SEARCH = /** @type {const} */ ("/v1/review/search");
const input = byId("search");
const searchSoon = lastOf(200); // milliseconds after a key

input.addEventListener("input", () => searchSoon(search));
byId("search-form").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());

function search() {
  const words = input.value.trim();
  const isShown = location.hash.startsWith("#search/");
  if (isShown && words) {
    history.replaceState(null, "", address("search", words));
    show();
  } else if (words) go(address("search", words));
  else if (isShown) go("#intents");
}

/** @param {string} words @param {string} [how] */
export async function searchView(words, how) {
  const isByMeaning = how === "meaning";
  if (document.activeElement !== input) input.value = words;
  const selection = selectionIn("search", `${how} ${words}`);
  const fetchPage = utterancesAt(SEARCH, { q: words, by_meaning: isByMeaning || undefined });
  const page = await fetchPage();
  const parts = words.toLowerCase().split(/\s+/);
  const matching = intents().filter((i) => parts.every((w) => i.name.toLowerCase().includes(w)));
  return {
    title: t("quoted", { text: words }),
    onNews: () => !selection.size,
    content: [
      isByMeaning
        ? el("h2", t("search.like", { words }))
        : el("h2", [t("search.hits", { n: page.occurrences, words }), differentTexts(page)]),
      el("p", [
        isByMeaning
          ? el("a", { href: address("search", words) }, t("search.byWords"))
          : el("a", { href: likeAddress(words) }, t("search.byMeaning")),
      ]),
      matching.length > 0 &&
        el("p", [quiet(t("search.intents")), " ", matching.slice(0, MAX_NAMES_SHOWN).map((i) => [named(i.name), " "])]),
      utteranceList(page, { selection, fetchPage, mayLeave: true, mayLeaveOut: SEARCH }),
    ],
  };
}
