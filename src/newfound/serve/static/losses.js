// What moving some utterances would take from each intent.
import { post } from "./api.js";
import { el, fill, quiet } from "./dom.js";
import { dot } from "./parts.js";
import { rich, t } from "./strings.js";

const MAX_INTENTS = 6;

/** Which intents utterances belong to now, and probably. @param {number[]} ids @returns {Promise<Chosen>} */
export function askAbout(ids) {
  const selection = post("/v1/review/selection", { ids });
  selection.catch(() => {}); // whoever needs it says so
  return selection;
}

/** A list that fills itself. @param {Promise<Chosen>} selection */
export function losses(selection) {
  const list = el("ul", { class: "losses", "aria-label": t("losses.title") }, el("li", quiet(t("loading"))));
  selection.then(
    (answer) => fill(list, entries(answer)),
    (error) => fill(list, el("li", { class: "bad" }, error.message)),
  );
  return list;
}

/** @param {Chosen} selection */
function entries({ losses: all, labelled }) {
  const rest = all.slice(MAX_INTENTS);
  const taken = rest.reduce((sum, loss) => sum + loss.taken, 0);
  return [
    all.slice(0, MAX_INTENTS).map((loss) => el("li", sentence(loss))),
    rest.length > 0 && el("li", quiet(t("losses.others", { taken, n: rest.length }))),
    labelled > 0 && el("li", { class: "warned" }, t("losses.labelled", { n: labelled })),
  ];
}

/** @param {Chosen["losses"][number]} loss */
function sentence({ intent, taken, size }) {
  if (intent === null) return t("losses.ofNone", { taken });
  const name = el("span", { class: "name" }, [dot(intent), " ", intent]);
  return taken < size ? rich("losses.some", { taken, size, name }) : rich("losses.all", { n: size, name });
}
