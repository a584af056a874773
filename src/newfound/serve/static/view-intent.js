// One intent: what it is, what it may be confused with, what people said about it, and all its utterances.
import { get } from "./api.js";
import { accept, decide, merger, nextIntentButton, undo } from "./decisions.js";
import { ask, askIntent, conclude } from "./dialogs.js";
import { bullets, button, byId, el, fold, keyed, linkButton, quiet, quietLine, row } from "./dom.js";
import { percent } from "./format.js";
import { say } from "./messages.js";
import { moment, dot, intentLink, tag, term } from "./parts.js";
import { linePlot } from "./plot.js";
import { address, go } from "./router.js";
import { draft, forgetDrafts, hasDrafts, intentNamed, isIntent, limits, wrongIn } from "./review.js";
import { breakable, rich, t } from "./strings.js";
import { selectionIn, titleOf, utteranceList, utterancesAt } from "./utterances.js";
import { listAddress, order } from "./view-intents.js";

const INTENT = /** @type {const} */ ("/v1/review/intent");
const MAX_QUOTES = 3;
const MAX_UTTERANCES_OF_A_PART = 5;

/** @param {string} name */
export async function intentView(name) {
  if (!isIntent(name)) return goneView(name);
  const selection = selectionIn("intent", name);
  const fetchPage = utterancesAt(INTENT, { name });
  const i = await fetchPage();
  const all = order();
  const at = all.indexOf(name);
  const [previous, next] = at >= 0 ? [all[at - 1], all[at + 1]] : [undefined, all[0]];
  const steps = (/** @type {Child} */ between) =>
    el("div", { class: "row between" }, [
      el("a", { href: listAddress() }, t("intent.all")),
      el("span", { class: "row" }, [
        previous && stepLink(t("intent.previous"), previous, "k"),
        between,
        next && stepLink(t("intent.next"), next, "j"),
      ]),
    ]);
  const options = {
    selection,
    fetchPage,
    withIntent: false,
    from: name,
    mayLeave: true,
    mayLeaveOut: i.labelled > 0 ? INTENT : undefined,
  };
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
      el("h2", [dot(name), " ", breakable(name), " ", tag(i.status)]),
      summary(i),
      i.volume && volume(i.volume),
      actions(i, next, nextToDecide(all, at)),
      el("div", { class: "columns" }, [texts(t("intent.central"), i.exemplars), texts(t("intent.border"), i.border)]),
      comments(i),
      i.merges.length > 0 && [el("h3", t("intent.near")), i.merges.map((near) => nearIntent(i, near))],
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

/** What became of an intent that is not there any more, and what can be done. @param {string} name */
async function goneView(name) {
  const { entries } = await get("/v1/review/log");
  const about = (/** @type {Entry} */ e) => !e.undone_at && Object.values(e.arguments).flat().includes(name);
  const last = entries.filter(about).at(-1);
  const bringBack = () => undo(last?.id);
  return {
    title: name,
    content: el("section", { class: "card stage" }, [
      el("h2", t("gone.title", { name })),
      el("p", last ? t("gone.who", { who: last.author, what: last.words }) : t("gone.unknown")),
      last && quietLine(moment(last.at)),
      row(
        last && button(t("gone.bringBack", { name }), bringBack, { class: "main" }),
        nextIntentButton(),
        linkButton("#intents", t("intent.all")),
      ),
    ]),
  };
}

const stepLink = (/** @type {string} */ label, /** @type {string} */ target, /** @type {string} */ key) =>
  linkButton(address("intent", target), label, { title: t("intent.stepTo", { name: target, key }) });

/** @param {IntentPage} i */
const summary = (i) =>
  el("p", { class: "meta" }, [
    [t("utterances", { n: i.size }), " · "],
    [t("wrong.about", { n: wrongIn(i) }), " ", term("wrong"), " · "],
    quiet(i.keywords.join(", ")),
  ]);

/** @param {NonNullable<IntentPage["volume"]>} some */
const volume = ({ counts, first_week: since, trend, partial }) =>
  el("p", { class: "meta" }, [
    linePlot(counts, t("volume.since", { since }), partial),
    [" ", t("volume.since", { since }), " · ", t(`trend.${trend ?? "none"}`)],
  ]);

/** @param {IntentPage} i @param {string} [next] @param {string} [onward] Address of the next intent to decide about. */
function actions(i, next, onward) {
  const { name } = i;
  const isNew = i.status !== "known";
  const quotes = i.exemplars.slice(0, MAX_QUOTES);
  const rename = () =>
    ask({
      title: t("intent.renameTitle"),
      label: t("intent.newName"),
      value: name,
      quotes,
      ok: t("intent.rename"),
      submit: (to) => {
        const said = t("said.renamed", { name: to });
        if (to !== name) return conclude([[{ rename: { intent: name, to } }], said, address("intent", to)]);
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
      submit: (into) => conclude(merger(name, into)),
    });
  const reject = () =>
    decide([{ reject: { intent: name } }], t("said.rejected", { name }), next ? address("intent", next) : "#intents");
  return el("div", { class: "row actions" }, [
    i.status === "new" && button(keyed("a", t("accept")), () => accept(name, onward), { class: "main" }),
    button(t("intent.rename"), rename),
    isNew && button(t("mergeInto…"), merge),
    isNew && button(t("intent.reject"), reject),
    el("a", { href: address("map", name) }, t("intent.onMap")),
  ]);
}

const texts = (/** @type {string} */ title, /** @type {string[]} */ some) =>
  some.length > 0 && el("div", { class: "card" }, [el("h3", title), bullets(some)]);

function nearIntent(/** @type {IntentPage} */ { name, status }, /** @type {IntentPage["merges"][number]} */ near) {
  const isNew = status !== "known";
  const link = [dot(near.name), " ", intentLink(near.name), " ", tag(near.status)];
  const sentence = rich(isNew ? "intent.maybeSame" : "intent.overlaps", { link, share: percent(near.overlap) });
  const pair = (/** @type {[string, string]} */ [a, b]) => [
    t("quoted", { text: a }),
    quiet(` ${t("intent.nextTo")} `),
    t("quoted", { text: b }),
  ];
  return el("div", { class: "card" }, [
    el("p", sentence),
    bullets(near.evidence.map(pair)),
    row(
      linkButton(address("pair", name, near.name), t("sideBySide")),
      isNew && button(t("mergeInto", { name: near.name }), () => decide(...merger(name, near.name)), { class: "wrap" }),
    ),
  ]);
}

function split(/** @type {string} */ name, /** @type {NonNullable<IntentPage["split"]>} */ { separation, parts }) {
  const inputs = parts.map((part, k) => {
    const label = t("intent.partName", { text: part.utterances[0] });
    const maxlength = limits().max_name_length;
    const input = el("input", { value: part.name, maxlength, id: `part-${k}`, "aria-label": label });
    return draft(`split/${name}/${k}`, input);
  });
  const apply = async () => {
    const names = inputs.map((input) => input.value.trim());
    const [one, other] = names;
    if (!one || !other || one === other) return say(t("intent.needsTwoNames"), { bad: true });
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

/** @param {IntentPage} i */
function comments({ name, comments: some }) {
  const label = { placeholder: t("comment.placeholder"), "aria-label": t("comment.label") };
  const size = { rows: 2, maxlength: limits().max_comment_length };
  const input = draft(`comment/${name}`, el("textarea", { id: "comment", ...size, ...label }));
  const add = async () => {
    const text = input.value.trim();
    if (!text || !(await decide([{ comment: { intent: name, text } }], t("said.commented")))) return;
    forgetDrafts(`comment/${name}`);
    for (const field of [input, byId("comment")]) if (field) field.value = ""; // the view may have been drawn again
  };
  const comment = (/** @type {IntentPage["comments"][number]} */ c) =>
    el("div", { class: "comment" }, [
      quietLine(el("strong", c.author), " ", moment(c.at)),
      el("p", { class: "lines" }, String(c.arguments.text)),
    ]);
  const content = [some.map(comment), row(input, button(t("comment.add"), add))];
  const title = some.length ? t("comment.summary", { count: some.length }) : t("comment.none");
  return fold(title, content, some.length > 0, undefined, { class: "card comments" });
}
