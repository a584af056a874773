// What moving some utterances would take from each intent.
import { post } from "./api.js";
import { el, fill, quiet } from "./dom.js";
import { dot } from "./parts.js";
import { rich, t } from "./strings.js";

const MAX_INTENTS = 6;

/**
 * A list that fills itself.
 * @param {number[]} ids Numbers of the utterances.
 */
export function losses(ids) {
  const list = el("ul", { class: "losses", "aria-label": t("losses.title") }, el("li", quiet(t("loading"))));
  post("/v1/review/selection", { ids }).then(
    (answer) => fill(list, entries(answer)),
    (error) => fill(list, el("li", { class: "bad" }, error.message)),
  );
  return list;
}

/** @param {Posts["/v1/review/selection"]["answer"]} selection */
function entries({ losses: all, labelled }) {
  const rest = all.slice(MAX_INTENTS);
  const taken = rest.reduce((sum, loss) => sum + loss.taken, 0);
  return [
    all.slice(0, MAX_INTENTS).map((loss) => el("li", sentence(loss))),
    rest.length > 0 && el("li", quiet(t("losses.others", { taken, n: rest.length }))),
    labelled > 0 && el("li", { class: "warned" }, t("losses.labelled", { n: labelled })),
  ];
}

/** @param {Posts["/v1/review/selection"]["answer"]["losses"][number]} loss */
function sentence({ intent, taken, size }) {
  if (intent === null) return t("losses.ofNone", { taken });
  const name = el("span", { class: "name" }, [dot(intent), " ", intent]);
  return taken < size ? rich("losses.some", { taken, size, name }) : rich("losses.all", { n: size, name });
}
