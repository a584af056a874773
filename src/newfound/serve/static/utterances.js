// Lists of utterances: read in parts, selected one by one, with Shift, or all at once, and moved with one decision.
import { get } from "./api.js";
import { attempt } from "./decisions.js";
import { askAndMake, askAndMove, askAndMoveToNone } from "./dialogs.js";
import { askToDivide, contextOf } from "./dividing.js";
import { button, checkbox, el, fill, lastOf, linkButton, quiet, quietLine } from "./dom.js";
import { askAbout, losses } from "./losses.js";
import { named, sureness } from "./parts.js";
import { address, show } from "./router.js";
import { store } from "./store.js";
import { t } from "./strings.js";

const MILLISECONDS_BEFORE_COUNTING = 150; // what intents lose, after the last change of a selection
const { logsOnly, selections } = store;

/**
 * A title with the number of utterances in a list, which has each text once.
 * @param {UtterancePage} page
 * @param {"intent.utterances" | "none.utterances"} key
 */
export const titleOf = (page, key) => [t(key, { n: page.occurrences }), differentTexts(page)];
/** @param {UtterancePage} page */
export const differentTexts = ({ total, occurrences }) =>
  total < occurrences && [" ", quiet(t("differentTexts", { n: total }))];

// How many utterances have each key, by the key of each text and how often it occurred.
/** @type {<K>(keys: K[], counts: Int32Array) => Map<K, number>} */
export function tally(keys, counts) {
  const sizes = new Map();
  keys.forEach((key, i) => sizes.set(key, (sizes.get(key) ?? 0) + counts[i]));
  return sizes;
}

/**
 * What fetches a part of a list of utterances.
 * @template {keyof typeof logsOnly} P
 * @param {P} path
 * @param {Omit<Gets[P]["query"], "start" | "logs_only">} query
 * @returns {(start?: number) => Promise<Gets[P]["answer"]>}
 */
export const utterancesAt = (path, query) => (start) =>
  get(path, /** @type {any} */ ({ ...query, logs_only: logsOnly[path] || undefined, start }));

/**
 * The numbers of the selected utterances; they stay while other views are shown.
 * @param {string} view
 * @param {string} of What the view shows: another one has another selection.
 */
export function selectionIn(view, of = "") {
  const kept = selections.get(view);
  const selection = kept?.of === of ? kept : { of, ids: /** @type {Set<number>} */ (new Set()) };
  selections.set(view, selection);
  return selection.ids;
}

/** @param {UtterancePage} page The first ones. @param {ListOptions} options @returns {Child[]} */
export function utteranceList(page, options) {
  const { selection, fetchPage, from, withIntent = true, empty = t("nothingHere") } = options;
  if (page.ids.length === page.total) {
    const present = new Set(page.ids);
    for (const id of selection) if (!present.has(id)) selection.delete(id); // it was moved meanwhile
  }
  /** @type {Utterance[]} */
  const shown = [];
  /** @type {HTMLInputElement[]} */
  const boxes = [];
  let anchor = 0; // from which Shift selects
  const bar = selectionBar(options, () => shown, clear);
  const all = el("input", { type: "checkbox", id: "select-all" });
  const list = el("ul", { class: "plain utterances", onkeydown: moveFocus });
  const more = button(t("showMore"), () => attempt(async () => append(await fetchPage(shown.length))));

  /** @param {Awaited<ReturnType<ListOptions["fetchPage"]>>} next */
  function append(next) {
    for (const u of next.utterances) {
      const box = el("input", { type: "checkbox", "aria-label": t("select.quoted", { text: u.text }) });
      const at = boxes.push(box) - 1;
      box.addEventListener("click", (event) => choose(at, event.shiftKey));
      shown.push(u);
      const pressText = (/** @type {MouseEvent} */ event) => {
        if (String(getSelection())) return; // it is being copied
        box.checked = !box.checked;
        choose(at, event.shiftKey);
      };
      const fact = u.checked ? t("checked") : u.labelled ? t("labelled") : u.intent !== null && sureness(u.probability);
      const text = [u.text, u.count > 1 && quiet(` ×${u.count}`)];
      const item = el("li", [
        box,
        el("span", { class: "text", dir: "auto", onclick: pressText, onmousedown: keepFromMarking }, text),
        el("span", { class: "facts" }, [withIntent && named(u.intent), " ", quiet(fact)]),
        el("span", { class: "row" }, actionsOn(u, from)),
        contextOf(u),
      ]);
      list.append(item);
    }
    more.hidden = shown.length >= next.total;
    update();
  }
  function choose(/** @type {number} */ at, /** @type {boolean} */ isRange) {
    const isChosen = boxes[at].checked;
    const [first, last] = isRange ? [Math.min(anchor, at), Math.max(anchor, at)] : [at, at];
    for (const u of shown.slice(first, last + 1)) set(u.id, isChosen);
    anchor = at;
    changed();
  }
  const set = (/** @type {number} */ id, /** @type {boolean} */ isChosen) =>
    isChosen ? selection.add(id) : selection.delete(id);
  function clear() {
    selection.clear();
    changed();
  }
  function changed() {
    update();
    options.onChange?.();
  }
  function update() {
    boxes.forEach((box, k) => (box.checked = selection.has(shown[k].id)));
    const chosen = page.ids.filter((id) => selection.has(id)).length;
    all.checked = chosen > 0 && chosen === page.ids.length;
    all.indeterminate = chosen > 0 && !all.checked;
    bar.update();
  }
  /** @param {KeyboardEvent} event */
  function moveFocus(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = boxes.indexOf(/** @type {HTMLInputElement} */ (event.target));
    const next = boxes[at + (step ?? 0)];
    if (at < 0 || !step || !next) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
    if (!event.shiftKey) return;
    for (const k of [at, at + step]) set(shown[k].id, true);
    changed();
  }
  all.addEventListener("change", () => {
    for (const id of page.ids) set(id, all.checked);
    changed();
  });

  const tools = el("div", { class: "row list-tools" }, [
    page.ids.length > 1 && el("label", { class: "control" }, [all, " ", selectAllLabel(page)]),
    options.mayLeaveOut && logsOnlyControl(selection, options.mayLeaveOut),
  ]);
  if (!page.utterances.length) return [tools, quietLine(empty)];
  append(page);
  return [tools, bar.node, list, more];
}

/** What can be done with one utterance of a list. @param {Utterance} u @param {string} [from] */
const actionsOn = ({ id, text }, from) => [
  linkButton(likeAddress(text), t("similar"), { "aria-label": t("similar.quoted", { text }), class: "button small" }),
  button(t("move"), () => askAndMove([text], { ids: [id], from }), {
    "aria-label": t("move.quoted", { text }),
    class: "small",
  }),
  text.includes(" ") &&
    button(t("divide"), () => askToDivide(text), { "aria-label": t("divide.quoted", { text }), class: "small" }),
];
/** Where the utterances are that are most like a text. @param {string} text */
export const likeAddress = (text) => address("search", text.slice(0, 1000), "meaning");

/** @param {UtterancePage} page */
function selectAllLabel({ ids, total }) {
  if (ids.length < total) return t("select.first", { most: ids.length, n: total });
  return t("select.all", { n: total });
}

/** @type {(selection: Set<number>, path: keyof typeof logsOnly) => Child} */
const logsOnlyControl = (selection, path) =>
  checkbox("logs-only", t("logsOnly"), logsOnly[path], (isOn) => {
    logsOnly[path] = isOn;
    selection.clear();
    show();
  });

/** @param {MouseEvent} event */
const keepFromMarking = (event) => event.shiftKey && event.preventDefault(); // Shift selects utterances, not letters

/**
 * What can be done with the selected utterances; hidden while there are none.
 * @param {ListOptions} options
 * @param {() => Utterance[]} shown
 * @param {() => void} clear
 */
function selectionBar({ selection, from, mayLeave, showsLosses }, shown, clear) {
  const node = el("div", { class: "selection", role: "group", "aria-label": t("select.bar"), hidden: true });
  const lost = el("div");
  const countLater = lastOf(MILLISECONDS_BEFORE_COUNTING);
  const after = () => selection.clear();
  const quotes = () =>
    shown()
      .filter((u) => selection.has(u.id))
      .map((u) => u.text);
  const actions = [
    button(t("move…"), () => askAndMove(quotes(), { ids: [...selection], from, after })),
    button(t("newIntent…"), () => askAndMake(quotes(), { ids: [...selection], after })),
    mayLeave && button(t("noIntentButton"), () => askAndMoveToNone(quotes(), { ids: [...selection], after })),
    button(t("clear"), clear, { class: "plain" }),
  ];
  function update() {
    node.hidden = selection.size === 0;
    if (node.hidden) return;
    fill(node, el("strong", t("selected", { count: selection.size })), actions, showsLosses && lost);
    if (showsLosses) countLater(() => fill(lost, losses(askAbout([...selection]))));
  }
  return { node, update };
}
