// Decisions about several intents at once.
import { decide } from "./decisions.js";
import { ask, askIntent, conclude, confirm } from "./dialogs.js";
import { bullets, button, byId, el, fill, quiet } from "./dom.js";
import { errorOf, intentNamed, intents, known, wrongIn } from "./review.js";
import { t } from "./strings.js";

const DEFAULT_MAX_WRONG = "10"; // of 100, in "accept all sure ones"

/**
 * What can be done with the selected intents.
 * @param {Set<string>} selection Their names.
 * @param {() => void} redraw
 */
export function bulkBar(selection, redraw) {
  const some = [...selection];
  if (!some.length) return null;
  const after = () => selection.clear();
  const fresh = some.filter((name) => intentNamed(name)?.status === "new");
  const clear = () => {
    selection.clear();
    redraw();
  };
  const acceptAll = async () => (await decide(...acceptances(fresh))) && clear();
  return el("div", { class: "selection" }, [
    el("strong", t("selected", { count: some.length })),
    fresh.length > 0 && button(t("accept"), acceptAll),
    button(t("merge…"), () => mergeSeveral(some, after)),
    button(t("reject…"), () => rejectSeveral(some, after)),
    button(t("clear"), clear, { class: "plain" }),
  ]);
}

/** @param {string[]} names @returns {Step} */
const acceptances = (names) => [
  names.map((intent) => ({ accept: { intent } })),
  t("said.acceptedSeveral", { n: names.length }),
];

function rejectSeveral(/** @type {string[]} */ some, /** @type {() => void} */ after) {
  const rejections = some.map((intent) => ({ reject: { intent } }));
  confirm({
    title: t("bulk.rejectTitle", { n: some.length }),
    quotes: some,
    ok: t("intent.reject"),
    note: t("bulk.rejectNote"),
    submit: () => conclude([rejections, t("said.rejectedSeveral", { n: some.length })], after),
  });
}

function mergeSeveral(/** @type {string[]} */ some, /** @type {() => void} */ after) {
  askIntent({
    title: t("bulk.mergeTitle", { n: some.length }),
    label: t("bulk.intoWhich"),
    quotes: some,
    mayCreate: false,
    value: some[0],
    submit: (into) => {
      const others = some.filter((name) => name !== into);
      if (!others.length) throw new Error(t("bulk.selectAnother"));
      const said = t("said.mergedSeveral", { n: others.length, into });
      return conclude([[{ merge: { intents: others, into } }], said], after);
    },
  });
}

/** Accept all new intents of which at most so many of 100 utterances are probably wrong. */
export function acceptAbove() {
  const above = (/** @type {string} */ typed) => {
    const limit = Number(typed.replace(/%/, "").replace(",", ".")) / 100;
    return Number.isFinite(limit) ? intents().filter((i) => i.status === "new" && errorOf(i) <= limit) : [];
  };
  const line = (/** @type {Intent} */ i) => {
    const [example] = known.details.get(i.name)?.examples ?? [];
    const facts = ` ${t("wrong.of", { wrong: wrongIn(i), n: i.size })}`;
    return [el("strong", i.name), facts, quiet(example ? ` · ${t("quoted", { text: example })}` : "")];
  };
  ask({
    title: t("above.title"),
    label: t("above.label"),
    value: DEFAULT_MAX_WRONG,
    ok: t("above.ok"),
    onInput: (typed) => {
      const some = above(typed);
      const list = bullets(some.map(line), { class: "examples" });
      fill(byId("ask-choices"), el("p", t("above.count", { n: some.length })), list);
    },
    submit: (typed) => {
      const some = above(typed).map((i) => i.name);
      if (!some.length) throw new Error(t("above.none"));
      return conclude(acceptances(some));
    },
  });
}
