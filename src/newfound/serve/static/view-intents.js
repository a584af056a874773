// The list of intents: what needs attention, sorted and filtered, several handled at once, by mouse or keys.
import { acceptAbove, bulkBar } from "./bulk.js";
import { accept } from "./decisions.js";
import { bullets, button, byId, el, fill, heading, kbd, quiet, quietLine, table } from "./dom.js";
import { percent } from "./format.js";
import { dot, intentLink, selectControl, selectionBox, shareBar, tag, term } from "./parts.js";
import { resizeCard } from "./resize.js";
import { address, go } from "./router.js";
import { intentNamed, intents, known, limits, loadDetails, state } from "./store.js";
import { t } from "./strings.js";

const MILLISECONDS_TO_WAIT_FOR_DETAILS = 1500;
const EXAMPLES_IN_A_LINE = 2;

/** @typedef {"attention" | "size" | "certainty" | "name" | "group"} SortBy */
/** @typedef {"all" | "attention" | "new" | "accepted" | "same" | "two" | "doubtful"} Shown */
const chosen = { words: "", show: /** @type {Shown} */ ("all"), sort: /** @type {SortBy} */ ("attention") };
/** @type {Set<string>} */
const selection = new Set(); // names; it and what is chosen stay when the view changes
/** @type {Set<string>} */
const unfolded = new Set(); // groups
let showsKnown = false;
let showsResizing = false;
/** @type {string | null} */
let marked = null; // the intent that the keys are about

/**
 * Show only some intents when the list is opened next.
 * @param {Shown} shown
 */
export const showOnly = (shown) => Object.assign(chosen, { words: "", show: shown });

/** @param {Intent} i */
const details = (i) => known.details.get(i.name);
/** @param {Intent} i */
const certaintyOf = (i) => i.certainty ?? 0;
/** @param {Intent} i */
export const isDoubtful = (i) => certaintyOf(i) < limits().low_certainty;
/** @param {Intent} i */
const isFlagged = (i) => i.status === "new" && Boolean(details(i)?.merge || details(i)?.separation || isDoubtful(i));
/** @param {Intent} i */
const rank = (i) => (i.status === "new" ? (isFlagged(i) ? 0 : 1) : 2);

/** @type {Record<SortBy, (a: Intent, b: Intent) => number>} */
const SORTS = {
  attention: (a, b) => rank(a) - rank(b) || certaintyOf(a) - certaintyOf(b),
  size: (a, b) => b.size - a.size,
  certainty: (a, b) => certaintyOf(a) - certaintyOf(b),
  name: (a, b) => a.name.localeCompare(b.name),
  group: (a, b) => Number(!a.path) - Number(!b.path) || groupOf(a).localeCompare(groupOf(b)) || b.size - a.size,
};
/** @param {Intent} i */
const groupOf = (i) => i.path ?? t("intents.noGroup");
/** @type {Record<Shown, (i: Intent) => boolean>} */
const SHOWS = {
  all: () => true,
  attention: isFlagged,
  new: (i) => i.status === "new",
  accepted: (i) => i.status === "accepted",
  same: (i) => i.status === "new" && Boolean(details(i)?.merge),
  two: (i) => i.status === "new" && Boolean(details(i)?.separation),
  doubtful: (i) => i.status === "new" && isDoubtful(i),
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

export async function intentsView() {
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
  const markedRow = () => [...visible()].find((row) => row.dataset.name === marked);
  function mark(/** @type {number} */ step) {
    const rows = [...visible()].filter((row) => row.checkVisibility());
    const from = rows.findIndex((row) => row.dataset.name === marked);
    const to = rows[from < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, from + step))];
    marked = to?.dataset.name ?? null;
    to?.focus();
  }
  const isMarked = () => markedRow() !== undefined && markedRow() === document.activeElement;
  const acceptMarked = async () => {
    const at = markedRow()?.dataset.name;
    if (!isMarked()) return mark(0); // nobody decides about what is not outlined
    if (!at || intentNamed(at)?.status !== "new" || !known.details.has(at)) return;
    const rows = [...visible()].map((row) => row.dataset.name ?? "");
    const after = rows.slice(rows.indexOf(at) + 1).find((name) => intentNamed(name)?.status === "new");
    if (await accept(at)) marked = after ?? null;
    queueMicrotask(() => mark(0));
  };
  return {
    title: t("intents.title"),
    keys: {
      ArrowDown: () => mark(1),
      ArrowUp: () => mark(-1),
      Enter: () => (isMarked() ? go(address("intent", marked ?? "")) : mark(0)),
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

const keyHelp = () => [
  kbd("↓"),
  " ",
  kbd("↑"),
  " ",
  t("keys.choose"),
  " ",
  kbd("Enter"),
  " ",
  t("keys.open"),
  " ",
  kbd("a"),
  " ",
  t("keys.accept"),
];

/** @param {() => void} redraw */
function tools(redraw) {
  const label = t("intents.filterLabel");
  const filter = el("input", {
    id: "filter",
    type: "search",
    placeholder: t("intents.filter"),
    size: 18,
    "aria-label": label,
  });
  filter.value = chosen.words;
  filter.addEventListener("input", () => {
    chosen.words = filter.value;
    redraw();
  });
  const shows = {
    all: t("show.all"),
    attention: t("show.attention"),
    same: t("show.same"),
    two: t("show.two"),
    doubtful: t("show.doubtful"),
    new: t("show.new"),
    accepted: t("show.accepted"),
  };
  const sorts = /** @type {Record<SortBy, string>} */ ({
    attention: t("sort.attention"),
    size: t("sort.size"),
    certainty: t("sort.certainty"),
    name: t("sort.name"),
    ...(intents().some((i) => i.path) && { group: t("sort.group") }),
  });
  return el("div", { class: "row tools" }, [
    filter,
    selectControl("show", t("show"), shows, chosen.show, (value) => {
      chosen.show = value;
      redraw();
    }),
    selectControl("sort", t("sort"), sorts, chosen.sort, (value) => {
      chosen.sort = value;
      redraw();
    }),
    button(t("above.button"), acceptAbove, { id: "accept-above" }),
    coarserOrFiner(),
  ]);
}

function coarserOrFiner() {
  const card = resizeCard();
  const keep = (/** @type {any} */ event) => (showsResizing = event.target.open);
  const attributes = { class: "fold", open: showsResizing, ontoggle: keep };
  return card && el("details", attributes, [el("summary", t("resize.title")), card]);
}

/**
 * @param {Intent[]} some
 * @param {() => void} redraw
 */
function newIntents(some, redraw) {
  const line = (/** @type {Intent} */ i) => {
    const hasDetails = Boolean(details(i));
    const label = t("acceptNamed", { name: i.name });
    const title = t(hasDetails ? "intents.typicalBeside" : "intents.loadingExamples");
    const box = selectionBox(selection, i.name, t("select.named", { name: i.name }), redraw);
    const take = () => accept(i.name);
    return intentRow(
      i,
      el("td", { class: "box" }, box),
      el("td", { class: "action" }, [
        i.status === "new"
          ? button(t("accept"), take, { "aria-label": label, disabled: !hasDetails, title })
          : tag(i.status),
      ]),
    );
  };
  const headings = () => [
    el("th", { class: "box" }, el("span", { class: "hidden" }, t("select"))),
    commonHeadings(),
    el("th", { class: "action" }, el("span", { class: "hidden" }, t("accept"))),
  ];
  return folded(some, (own) => table({ class: "intents" }, headings(), own.map(line)));
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
    const keep = (/** @type {any} */ event) => unfolded[event.target.open ? "add" : "delete"](group);
    const title = el("summary", `${group} · ${t("intents", { n: own.length })}`);
    return el("details", { open: unfolded.has(group), ontoggle: keep }, [title, make(own)]);
  });
}

/** @param {Intent[]} some */
function knownIntents(some) {
  if (!some.length) return null;
  const keep = (/** @type {any} */ event) => (showsKnown = event.target.open);
  const make = (/** @type {Intent[]} */ own) =>
    table(
      { class: "intents" },
      commonHeadings(),
      own.map((i) => intentRow(i)),
    );
  return el("details", { class: "fold known", open: showsKnown || Boolean(chosen.words), ontoggle: keep }, [
    el("summary", t("intents.known", { count: some.length })),
    folded(some, make),
  ]);
}

const commonHeadings = () => [
  heading(t("intent"), { class: "who-is" }),
  heading(t("intents.examples"), { class: "examples-cell" }),
  heading(t("intents.traffic"), { class: "traffic" }),
  el("th", { class: "certain number" }, term("certainty", t("intents.certainty"))),
];

/**
 * An intent in two lines: its name and what should be done about it; beside it, what people say.
 * @param {Intent} i
 * @param {Child} [before]
 * @param {Child} [after]
 */
function intentRow(i, before, after) {
  const examples = (details(i)?.examples ?? []).slice(0, EXAMPLES_IN_A_LINE);
  const size = t("utterances", { n: i.size });
  return el("tr", { "data-name": i.name, tabindex: -1, onfocus: () => (marked = i.name) }, [
    before,
    el("td", { class: "who-is" }, [
      el("div", { class: "line" }, [dot(i.name), " ", intentLink(i.name)]),
      el("div", { class: "line facts" }, [hint(i) || [i.path, i.path && " · ", size], comments(i)]),
    ]),
    el("td", { class: "examples-cell" }, bullets(examples, { class: "examples" })),
    el("td", { class: "traffic", title: size }, shareBar(i.share, largestShare(), i.status === "known")),
    el("td", { class: "certain number" }, percent(i.certainty)),
    after,
  ]);
}

const largestShare = () => Math.max(...intents().map((i) => i.share));

/** @param {Intent} i */
const comments = (i) => i.comments > 0 && ` · ${t("intents.comments", { n: i.comments })}`;

/**
 * What should be done about an intent, with the way there; the first that applies.
 * @param {Intent} i
 */
function hint(i) {
  if (i.status !== "new") return null;
  const { merge, separation } = details(i) ?? {};
  if (merge) return el("a", { href: address("pair", i.name, merge) }, t("hint.same", { name: merge }));
  const here = address("intent", i.name);
  if (separation) return el("a", { href: here }, t("hint.two"));
  return isDoubtful(i) && el("a", { href: here }, t("hint.doubtful"));
}

function away() {
  const n = state().progress.without_intent;
  return el("p", el("a", { href: "#none" }, n ? t("none.utterances", { n }) : t("none.link")));
}
