// Decisions about several intents at once.
import { decide, record, settle } from "./decisions.js";
import { ask, askIntent, confirm } from "./dialogs.js";
import { bullets, button, byId, el, fill, quiet } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { intentNamed, intents, known } from "./store.js";
import { t } from "./strings.js";

const DEFAULT_MIN_PERCENT = "90"; // of "accept all above"

/**
 * What can be done with the selected intents.
 * @param {Set<string>} selection Their names.
 * @param {() => void} redraw
 */
export function bulkBar(selection, redraw) {
  const some = [...selection];
  if (!some.length) return null;
  const fresh = some.filter((name) => intentNamed(name)?.status === "new");
  const acceptAll = async () => {
    const decisions = fresh.map((intent) => ({ accept: { intent } }));
    if (!(await decide(decisions, t("said.acceptedSeveral", { n: fresh.length })))) return;
    selection.clear();
    redraw();
  };
  const clear = () => {
    selection.clear();
    redraw();
  };
  return el("div", { class: "selection" }, [
    el("strong", t("selected", { count: some.length })),
    fresh.length > 0 && button(t("accept"), acceptAll),
    button(t("merge…"), () => mergeSeveral(some, selection)),
    button(t("reject…"), () => rejectSeveral(some, selection)),
    button(t("clear"), clear, { class: "plain" }),
  ]);
}

/**
 * @param {string[]} some
 * @param {Set<string>} selection
 */
function rejectSeveral(some, selection) {
  confirm({
    title: t("bulk.rejectTitle", { n: some.length }),
    quotes: some,
    ok: t("intent.reject"),
    note: t("bulk.rejectNote"),
    submit: async () => {
      const entries = await record(some.map((intent) => ({ reject: { intent } })));
      selection.clear();
      await settle(t("said.rejectedSeveral", { n: some.length }), entries);
    },
  });
}

/**
 * @param {string[]} some
 * @param {Set<string>} selection
 */
function mergeSeveral(some, selection) {
  askIntent({
    title: t("bulk.mergeTitle", { n: some.length }),
    label: t("bulk.intoWhich"),
    quotes: some,
    mayCreate: false,
    value: some[0],
    submit: async (into) => {
      const others = some.filter((name) => name !== into);
      if (!others.length) {
        say(t("bulk.selectAnother"), { bad: true });
        return false;
      }
      const entries = await record([{ merge: { intents: others, into } }]);
      selection.clear();
      return settle(t("said.mergedSeveral", { n: others.length, into }), entries);
    },
  });
}

/** Accept all new intents whose certainty is at least a number that is asked for. */
export function acceptAbove() {
  const above = (/** @type {string} */ typed) => {
    const limit = Number(typed.replace(/%/, "").replace(",", ".")) / 100;
    return Number.isFinite(limit)
      ? intents().filter((i) => i.status === "new" && i.certainty !== null && i.certainty >= limit)
      : [];
  };
  const line = (/** @type {Intent} */ i) => {
    const [example] = known.details.get(i.name)?.examples ?? [];
    const facts = ` ${percent(i.certainty)} · ${t("utterances", { n: i.size })}`;
    return [el("strong", i.name), facts, quiet(example ? ` · ${t("quoted", { text: example })}` : "")];
  };
  ask({
    title: t("above.title"),
    label: t("above.label"),
    value: DEFAULT_MIN_PERCENT,
    ok: t("above.ok"),
    onInput: (typed) => {
      const some = above(typed);
      const list = bullets(some.map(line), { class: "examples" });
      fill(byId("ask-choices"), el("p", t("above.count", { n: some.length })), list);
    },
    submit: async (typed) => {
      const some = above(typed);
      if (!some.length) throw new Error(t("above.none"));
      const entries = await record(some.map((i) => ({ accept: { intent: i.name } })));
      await settle(t("said.acceptedSeveral", { n: some.length }), entries);
    },
  });
}
