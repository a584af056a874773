// The list of intents: what needs attention, sorted and filtered, several handled at once, by mouse or keys.
import { acceptAbove, bulkBar } from "./bulk.js";
import { accept } from "./decisions.js";
import { bullets, button, byId, el, fill, fold, kbd, quiet, quietLine, table, tableRow } from "./dom.js";
import { dot, intentLink, selectControl, shareBar, tag, term } from "./parts.js";
import { resizeCard } from "./resize.js";
import { address, go } from "./router.js";
import { errorOf, intentNamed, intents, known, loadDetails, state, wrongIn } from "./review.js";
import { LIST, store } from "./store.js";
import { rich, t } from "./strings.js";

const MILLISECONDS_TO_WAIT_FOR_DETAILS = 1500;
const EXAMPLES_IN_A_LINE = 2;

const { list } = store;
const { chosen, selection, unfolded } = list;

/** The address of the list, with what is chosen if that is not the default. @param {Partial<typeof LIST>} some */
export function listAddress(some = chosen) {
  const given = Object.entries(some).filter(([key, value]) => value !== LIST[/** @type {"show"} */ (key)]);
  return given.length ? `#intents/${new URLSearchParams(given)}` : "#intents";
}

/** @param {Intent} i */
const details = (i) => known.details.get(i.name);
/** @param {Intent} i */
const isDoubtful = (i) => known.doubtful.has(i.name);
/** @param {Intent} i */
const isFlagged = (i) => i.status === "new" && Boolean(details(i)?.merge || details(i)?.separation || isDoubtful(i));
/** @param {Intent} i */
const rank = (i) => (i.status === "new" ? (isFlagged(i) ? 0 : 1) : 2);

/** @type {Record<SortBy, (a: Intent, b: Intent) => number>} */
const SORTS = {
  attention: (a, b) => rank(a) - rank(b) || errorOf(b) - errorOf(a),
  size: (a, b) => b.size - a.size,
  wrong: (a, b) => wrongIn(b) - wrongIn(a),
  name: (a, b) => a.name.localeCompare(b.name),
  group: (a, b) => Number(!a.path) - Number(!b.path) || groupOf(a).localeCompare(groupOf(b)) || b.size - a.size,
};
/** @param {Intent} i */
const groupOf = (i) => i.path ?? t("intents.noGroup");
/** @type {Record<Shown, (i: Intent) => boolean>} */
export const SHOWS = {
  all: () => true,
  attention: isFlagged,
  same: (i) => i.status === "new" && Boolean(details(i)?.merge),
  two: (i) => i.status === "new" && Boolean(details(i)?.separation),
  doubtful: (i) => i.status === "new" && isDoubtful(i),
  new: (i) => i.status === "new",
  accepted: (i) => i.status === "accepted",
};

// The intents that the list shows, in its order: new ones, then known ones.
function listed() {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (/** @type {Intent} */ i) =>
    words.every((w) => [i.name, ...(details(i)?.keywords ?? [])].some((text) => text.toLowerCase().includes(w)));
  const all = intents().filter(has).sort(SORTS[chosen.sort]);
  return [all.filter((i) => i.status !== "known" && SHOWS[chosen.show](i)), all.filter((i) => i.status === "known")];
}
export const order = () =>
  listed()
    .flat()
    .map((i) => i.name);

/** @param {string} [filters] As in `listAddress`. */
export async function intentsView(filters) {
  const { words = "", ...keys } = Object.fromEntries(new URLSearchParams(filters));
  Object.assign(
    chosen,
    LIST,
    { words },
    keys.show in SHOWS && { show: keys.show },
    keys.sort in SORTS && { sort: keys.sort },
  );
  await Promise.race([loadDetails(), new Promise((resolve) => setTimeout(resolve, MILLISECONDS_TO_WAIT_FOR_DETAILS))]);
  for (const name of selection) if ((intentNamed(name)?.status ?? "known") === "known") selection.delete(name);
  const tables = el("div");
  const redraw = () => {
    const [fresh, old] = listed();
    fill(
      tables,
      bulkBar(selection, redraw),
      el("div", { class: "new-intents" }, newIntents(fresh, redraw)),
      knownIntents(old),
      away(),
    );
  };
  redraw();
  if (known.detailsVersion !== state().version) {
    loadDetails().then(
      () => tables.isConnected && redraw(),
      () => {}, // the next request says what is wrong
    );
  }
  const visible = () => /** @type {NodeListOf<HTMLElement>} */ (byId("view").querySelectorAll("tr[data-name]"));
  const markedRow = () => [...visible()].find((row) => row.dataset.name === list.marked);
  function mark(/** @type {number} */ step) {
    const rows = [...visible()].filter((row) => row.checkVisibility());
    const from = rows.findIndex((row) => row.dataset.name === list.marked);
    const to = rows[from < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, from + step))];
    list.marked = to?.dataset.name ?? null;
    to?.focus();
  }
  const isMarked = () => markedRow() !== undefined && markedRow() === document.activeElement;
  const acceptMarked = async () => {
    const at = markedRow()?.dataset.name;
    if (!isMarked()) return mark(0); // nobody decides about what is not outlined
    if (!at || intentNamed(at)?.status !== "new" || !known.details.has(at)) return;
    const rows = [...visible()].map((row) => row.dataset.name ?? "");
    const after = rows.slice(rows.indexOf(at) + 1).find((name) => intentNamed(name)?.status === "new");
    if (await accept(at)) list.marked = after ?? null;
    queueMicrotask(() => mark(0));
  };
  return {
    title: t("intents.title"),
    keys: {
      ArrowDown: () => mark(1),
      ArrowUp: () => mark(-1),
      Enter: () => (isMarked() ? go(address("intent", list.marked ?? "")) : mark(0)),
      a: acceptMarked,
    },
    content: [head(), tools(redraw), tables],
  };
}

function head() {
  const { accepted, new: n } = state().progress;
  return el("div", { class: "row between" }, [
    el("h2", t("intents.title")),
    quiet(t("progress.accepted", { accepted, n }), el("span", { class: "keys" }, [" · ", keyHelp()])),
  ]);
}

const keyHelp = () =>
  rich("intents.keys", { arrows: [kbd("↓"), " ", kbd("↑")], enter: kbd(t("key.enter")), a: kbd("a") });

/** @param {() => void} redraw */
function tools(redraw) {
  const choose = (/** @type {Partial<typeof chosen>} */ some) => {
    Object.assign(chosen, some);
    history.replaceState(null, "", listAddress());
    redraw();
  };
  const label = { placeholder: t("intents.filter"), "aria-label": t("intents.filterLabel") };
  const filter = el("input", { id: "filter", type: "search", size: 18, value: chosen.words, ...label });
  filter.addEventListener("input", () => choose({ words: filter.value }));
  const hasGroups = intents().some((i) => i.path);
  const shows = /** @type {Shown[]} */ (Object.keys(SHOWS)).map((key) => [key, t(`show.${key}`)]);
  const sorts = /** @type {SortBy[]} */ (Object.keys(SORTS)).map((key) => [key, t(`sort.${key}`)]);
  const given = sorts.filter(([key]) => key !== "group" || hasGroups);
  return el("div", { class: "row tools" }, [
    filter,
    selectControl("show", t("show"), Object.fromEntries(shows), chosen.show, (show) => choose({ show })),
    selectControl("sort", t("sort"), Object.fromEntries(given), chosen.sort, (sort) => choose({ sort })),
    button(t("above.button"), acceptAbove, { id: "accept-above" }),
    coarserOrFiner(),
  ]);
}

function coarserOrFiner() {
  const card = resizeCard();
  const keep = (/** @type {boolean} */ isOpen) => (list.showsResizing = isOpen);
  return card && fold(t("resize.title"), card, list.showsResizing, keep, { class: "fold" });
}

function newIntents(/** @type {Intent[]} */ some, /** @type {() => void} */ redraw) {
  const line = (/** @type {Intent} */ i) => {
    const hasDetails = Boolean(details(i));
    const label = t("acceptNamed", { name: i.name });
    const title = t(hasDetails ? "intents.typicalBeside" : "intents.loadingExamples");
    const select = () => {
      if (!selection.delete(i.name)) selection.add(i.name);
      redraw();
    };
    const naming = { "aria-label": t("select.named", { name: i.name }), checked: selection.has(i.name) };
    const box = el("input", { type: "checkbox", onchange: select, ...naming });
    const take = button(t("accept"), () => accept(i.name), { "aria-label": label, disabled: !hasDetails, title });
    return intentRow(columns, i, [box, ...intentCells(i), i.status === "new" ? take : tag(i.status)]);
  };
  /** @type {Column[]} */
  const columns = [[t("select"), "box"], ...commonColumns(), [t("accept"), "action"]];
  return folded(some, (own) => table(columns, own.map(line), { class: "intents" }));
}

/**
 * A table of intents, or, sorted by group, one that is folded for each group.
 * @param {Intent[]} some
 * @param {(own: Intent[]) => Child} make
 */
function folded(some, make) {
  if (!some.length) return quietLine(t("none"));
  if (chosen.sort !== "group") return make(some);
  return [...new Set(some.map(groupOf))].map((group) => {
    const own = some.filter((i) => groupOf(i) === group);
    const keep = (/** @type {boolean} */ isOpen) => unfolded[isOpen ? "add" : "delete"](group);
    return fold(`${group} · ${t("intents", { n: own.length })}`, make(own), unfolded.has(group), keep);
  });
}

/** @param {Intent[]} some */
function knownIntents(some) {
  if (!some.length) return null;
  const keep = (/** @type {boolean} */ isOpen) => (list.showsKnown = isOpen);
  const columns = commonColumns();
  const line = (/** @type {Intent} */ i) => intentRow(columns, i, intentCells(i));
  const content = folded(some, (own) => table(columns, own.map(line), { class: "intents" }));
  const title = t("intents.known", { count: some.length });
  return fold(title, content, list.showsKnown || Boolean(chosen.words), keep, { class: "fold known" });
}

/** @returns {Column[]} */
const commonColumns = () => [
  [t("intent"), "who-is"],
  [t("intents.examples"), "examples-cell"],
  [t("intents.traffic"), "traffic"],
  [term("wrong"), "certain number"],
];

/** @type {(columns: Column[], i: Intent, cells: Child[]) => HTMLElement} */
const intentRow = (columns, i, cells) =>
  tableRow(columns, cells, { "data-name": i.name, tabindex: -1, onfocus: () => (list.marked = i.name) });

/** An intent in two lines: its name and what should be done about it; beside it, what people say. @param {Intent} i */
function intentCells(i) {
  const examples = (details(i)?.examples ?? []).slice(0, EXAMPLES_IN_A_LINE);
  const size = t("utterances", { n: i.size });
  return [
    [
      el("div", { class: "line" }, [dot(i.name), " ", intentLink(i.name)]),
      el("div", { class: "line facts" }, [hint(i) || [i.path, i.path && " · ", size], comments(i)]),
    ],
    bullets(examples, { class: "examples" }),
    shareBar(i.share, largestShare(), i.status === "known", size),
    String(wrongIn(i)),
  ];
}

const largestShare = () => Math.max(...intents().map((i) => i.share));

/** @param {Intent} i */
const comments = (i) => i.comments > 0 && ` · ${t("intents.comments", { n: i.comments })}`;

/** What should be done about an intent, with the way there; the first that applies. @param {Intent} i */
function hint(i) {
  if (i.status !== "new") return null;
  const { merge, separation } = details(i) ?? {};
  if (merge) return el("a", { href: address("pair", i.name, merge) }, t("hint.same", { name: merge }));
  const here = address("intent", i.name);
  if (separation) return el("a", { href: here }, t("hint.two"));
  return isDoubtful(i) && el("a", { href: here }, t("hint.doubtful", { wrong: wrongIn(i), n: i.size }));
}

function away() {
  const n = state().progress.without_intent;
  return el("p", el("a", { href: "#none" }, n ? t("none.utterances", { n }) : t("none.link")));
}
