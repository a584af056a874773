// One intent: what it is, what it may be confused with, what people said about it, and all its utterances.
import { api } from "./api.js";
import { accept, attempt, decide, nextIntentButton, record, settle, undo } from "./decisions.js";
import { ask, askIntent } from "./dialogs.js";
import { bullets, button, byId, el, kbd, quiet, quietLine, row } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { ago, dot, intentLink, meter, tag, term } from "./parts.js";
import { linePlot } from "./plot.js";
import { address, go } from "./router.js";
import { draft, forgetDrafts, hasDrafts, intentNamed, isIntent, limits } from "./store.js";
import { rich, t } from "./strings.js";
import { titleOf, utteranceList, whichUtterances } from "./utterances.js";
import { order } from "./view-intents.js";

const MAX_QUOTES = 3;
const MAX_UTTERANCES_OF_A_PART = 5;
/** @type {Set<number>} */
let selection = new Set(); // numbers of utterances
/** @type {string | null} */
let selectionOf = null;

/** @param {string} name */
export async function intentView(name) {
  if (selectionOf !== name) selection = new Set();
  selectionOf = name;
  const path = "/v1/review/intent?name=" + encodeURIComponent(name) + whichUtterances();
  if (!isIntent(name)) return goneView(name);
  /** @type {IntentPage} */
  const i = await api(path);
  const all = order();
  const at = all.indexOf(name);
  const [previous, next] = at >= 0 ? [all[at - 1], all[at + 1]] : [undefined, all[0]];
  const steps = (/** @type {Child} */ between) =>
    el("div", { class: "row between" }, [
      el("a", { href: "#intents" }, t("intent.all")),
      el("span", { class: "row" }, [
        previous && stepLink(t("intent.previous"), previous, "k"),
        between,
        next && stepLink(t("intent.next"), next, "j"),
      ]),
    ]);
  const fetchPage = (/** @type {number} */ start) => api(`${path}&start=${start}`);
  const options = { selection, fetchPage, withIntent: false, from: name, mayLeave: true, hasLabelled: i.labelled > 0 };
  const utterances = utteranceList(i, options);
  return {
    title: name,
    keys: {
      j: () => next && go(address("intent", next)),
      k: () => previous && go(address("intent", previous)),
      ...(i.status === "new" && { a: () => accept(name, nextToDecide(all, at)) }),
    },
    onNews: () => !hasDrafts() && !selection.size, // what was typed or selected stays
    content: [
      steps(at >= 0 && quiet(t("intent.position", { at: at + 1, count: all.length }))),
      el("h2", [dot(name), " ", name, " ", tag(i.status)]),
      summary(i),
      i.volume && volume(i.volume),
      actions(name, i, next, nextToDecide(all, at)),
      el("div", { class: "columns" }, [texts(t("intent.central"), i.exemplars), texts(t("intent.border"), i.border)]),
      comments(name, i.comments, i.n_comments),
      i.merges.length > 0 && [el("h3", t("intent.near")), i.merges.map((near) => nearIntent(name, i, near))],
      i.split && [el("h3", t("intent.split")), split(name, i.split)],
      el("h3", titleOf(i, "intent.utterances")),
      utterances,
      steps(null),
    ],
  };
}

/**
 * The address of the next intent that nobody has decided about; undefined if there is none.
 * @param {string[]} all
 * @param {number} at
 */
function nextToDecide(all, at) {
  const next = [...all.slice(at + 1), ...all.slice(0, Math.max(0, at))].find((n) => intentNamed(n)?.status === "new");
  return next === undefined ? undefined : address("intent", next);
}

/**
 * What became of an intent that is not there any more, and what can be done.
 * @param {string} name
 */
async function goneView(name) {
  /** @type {{ entries: Entry[] }} */
  const { entries } = await api("/v1/review/log");
  const about = (/** @type {Entry} */ e) => !e.undone_at && Object.values(e.arguments).flat().includes(name);
  const last = entries.filter(about).at(-1);
  const bringBack = () => undo(last?.id);
  return {
    title: name,
    content: el("section", { class: "card stage" }, [
      el("h2", t("gone.title", { name })),
      el(
        "p",
        last ? [t("gone.who", { who: last.author, what: last.words }), " ", quiet(ago(last.at))] : t("gone.unknown"),
      ),
      row(
        last && button(t("gone.bringBack", { name }), bringBack, { class: "main" }),
        nextIntentButton(),
        el("a", { class: "button", href: "#intents" }, t("intent.all")),
      ),
    ]),
  };
}

/**
 * @param {string} label
 * @param {string} target
 * @param {string} key
 */
const stepLink = (label, target, key) =>
  el(
    "a",
    { href: address("intent", target), class: "button", title: t("intent.stepTo", { name: target, key }) },
    label,
  );

/** @param {IntentPage} i */
const summary = (i) =>
  el("p", { class: "meta" }, [
    [t("utterances", { n: i.size }), " · "],
    [term("certainty"), " ", meter(i.certainty, t("term.certainty")), " · "],
    quiet(i.keywords.join(", ")),
  ]);

/** @param {NonNullable<IntentPage["volume"]>} some */
const volume = ({ counts, first_week: since, trend }) =>
  el("p", { class: "meta" }, [
    linePlot(counts, t("volume.since", { since })),
    [" ", t("volume.since", { since }), " · ", t(`trend.${trend ?? "none"}`)],
  ]);

/**
 * @param {string} name
 * @param {string} into
 */
const mergeInto = async (name, into) =>
  settle(
    t("said.mergedInto", { name: into }),
    await record([{ merge: { intents: [name], into } }]),
    address("intent", into),
  );

/**
 * @param {string} name
 * @param {IntentPage} i
 * @param {string} [next]
 * @param {string} [onward] Address of the next intent to decide about.
 */
function actions(name, i, next, onward) {
  const isNew = i.status !== "known";
  const quotes = i.exemplars.slice(0, MAX_QUOTES);
  const rename = () =>
    ask({
      title: t("intent.renameTitle"),
      label: t("intent.newName"),
      value: name,
      quotes,
      ok: t("intent.rename"),
      submit: async (to) => {
        if (to === name) return;
        const entries = await record([{ rename: { intent: name, to } }]);
        await settle(t("said.renamed", { name: to }), entries, address("intent", to));
      },
    });
  const merge = () =>
    askIntent({
      title: t("intent.mergeTitle", { name }),
      label: t("intent.intoWhich"),
      quotes,
      except: [name],
      mayCreate: false,
      value: i.merges.length ? i.merges[0].name : "",
      submit: (into) => mergeInto(name, into),
    });
  const reject = () =>
    decide([{ reject: { intent: name } }], t("said.rejected", { name }), next ? address("intent", next) : "#intents");
  return el("div", { class: "row actions" }, [
    i.status === "new" && button([kbd("a"), " ", t("accept")], () => accept(name, onward), { class: "main" }),
    button(t("intent.rename"), rename),
    isNew && button(t("mergeInto…"), merge),
    isNew && button(t("intent.reject"), reject),
    el("a", { href: address("map", name) }, t("intent.onMap")),
  ]);
}

/**
 * @param {string} title
 * @param {string[]} some
 */
const texts = (title, some) => some.length > 0 && el("div", { class: "card" }, [el("h3", title), bullets(some)]);

/**
 * @param {string} name
 * @param {IntentPage} i
 * @param {IntentPage["merges"][number]} near
 */
function nearIntent(name, i, near) {
  const isNew = i.status !== "known";
  const link = [dot(near.name), " ", intentLink(near.name), " ", tag(near.status)];
  const sentence = rich(isNew ? "intent.maybeSame" : "intent.overlaps", { link, share: percent(near.overlap) });
  const pair = (/** @type {[string, string]} */ [a, b]) => [
    t("quoted", { text: a }),
    quiet(` ${t("intent.nextTo")} `),
    t("quoted", { text: b }),
  ];
  const merge = () => attempt(() => mergeInto(name, near.name));
  return el("div", { class: "card" }, [
    el("p", sentence),
    bullets(near.evidence.map(pair)),
    row(
      el("a", { href: address("pair", name, near.name), class: "button" }, t("sideBySide")),
      isNew && button(t("mergeInto", { name: near.name }), merge, { class: "wrap" }),
    ),
  ]);
}

/**
 * @param {string} name
 * @param {NonNullable<IntentPage["split"]>} proposal
 */
function split(name, { separation, parts }) {
  const inputs = parts.map((part, k) => {
    const label = t("intent.partName", { text: part.utterances[0] });
    const maxlength = limits().max_name_length;
    const input = el("input", { value: part.name, maxlength, id: `part-${k}`, "aria-label": label });
    return draft(`split/${name}/${k}`, input);
  });
  const apply = async () => {
    const names = inputs.map((input) => input.value.trim());
    const [one, other] = names;
    if (!one || !other || one === other) {
      say(t("intent.needsTwoNames"), { bad: true });
      return;
    }
    const into = Object.fromEntries(parts.map((part, k) => [names[k], part.utterances]));
    if (await decide([{ split: { intent: name, into } }], t("said.split", { one, other }), "#intents")) {
      forgetDrafts(`split/${name}/`);
    }
  };
  const isClear = separation >= limits().min_separation;
  const column = (/** @type {Part} */ part, /** @type {number} */ k) =>
    el("div", [
      row(inputs[k], quiet(t("utterances", { n: part.size }))),
      bullets(part.utterances.slice(0, MAX_UTTERANCES_OF_A_PART)),
    ]);
  return el("section", { class: "card", "aria-label": t("intent.split") }, [
    el("p", t(isClear ? "intent.clearParts" : "intent.unclearParts")),
    el("div", { class: "columns" }, parts.map(column)),
    button(t("intent.splitLikeThis"), apply),
  ]);
}

/**
 * @param {string} name
 * @param {IntentPage["comments"]} some
 * @param {number} total
 */
function comments(name, some, total) {
  const input = draft(
    `comment/${name}`,
    el("textarea", {
      id: "comment",
      rows: 2,
      maxlength: limits().max_comment_length,
      placeholder: t("comment.placeholder"),
      "aria-label": t("comment.label"),
    }),
  );
  const add = async () => {
    const text = input.value.trim();
    if (!text || !(await decide([{ comment: { intent: name, text } }], t("said.commented")))) return;
    forgetDrafts(`comment/${name}`);
    for (const field of [input, byId("comment")]) if (field) field.value = ""; // the view may have been drawn again
  };
  const comment = (/** @type {IntentPage["comments"][number]} */ c) =>
    el("div", { class: "comment" }, [
      quietLine(el("strong", c.author), " ", ago(c.at)),
      el("p", { class: "lines" }, c.text),
    ]);
  return el("details", { class: "card comments", open: some.length > 0 }, [
    el("summary", total ? t("comment.summary", { count: total }) : t("comment.none")),
    total > some.length && quietLine(t("comment.latest", { shown: some.length, total })),
    some.map(comment),
    row(input, button(t("comment.add"), add)),
  ]);
}
