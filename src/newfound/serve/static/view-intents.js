// The list of intents: what needs attention, sorted and filtered, several handled at once.
import { accept, decide, record, settle } from "./decisions.js";
import { ask, askIntent, confirm } from "./dialogs.js";
import { bullets, button, byId, el, fill, heading, hiddenHeading, quiet, quietLine, row, table } from "./dom.js";
import { count, percent } from "./format.js";
import { say } from "./messages.js";
import { dot, intentLink, meter, selectControl, selectionBox, tag, term, warning } from "./parts.js";
import { resizeCard } from "./resize.js";
import { address } from "./router.js";
import { intentNamed, intents, known, limits, loadDetails, state } from "./store.js";
import { t } from "./strings.js";

const MILLISECONDS_TO_WAIT_FOR_DETAILS = 1500;
const DEFAULT_MIN_PERCENT = "90"; // of "accept all above"

/** @typedef {"attention" | "size" | "certainty" | "name" | "group"} SortBy */
/** @typedef {"all" | "attention" | "new" | "accepted"} Shown */
const chosen = { words: "", show: /** @type {Shown} */ ("all"), sort: /** @type {SortBy} */ ("attention") };
/** @type {Set<string>} */
const selection = new Set(); // names; it and what is chosen stay when the view changes
/** @type {Set<string>} */
const unfolded = new Set(); // groups

/** @param {Intent} i */
const details = (i) => known.details.get(i.name);
/** @param {Intent} i */
const isUnsure = (i) => i.certainty < limits().low_certainty;
/** @param {Intent} i */
const isFlagged = (i) => i.status === "new" && Boolean(details(i)?.merge || details(i)?.separation || isUnsure(i));
/** @param {Intent} i */
const rank = (i) => (i.status === "new" ? (isFlagged(i) ? 0 : 1) : 2);

/** @type {Record<SortBy, (a: Intent, b: Intent) => number>} */
const SORTS = {
  attention: (a, b) => rank(a) - rank(b) || a.certainty - b.certainty,
  size: (a, b) => b.size - a.size,
  certainty: (a, b) => a.certainty - b.certainty,
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
};

// The intents that the list shows, in its order: new ones, then known ones.
function listed() {
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (/** @type {Intent} */ i) =>
    words.every((w) => [i.name, ...i.keywords].some((text) => text.toLowerCase().includes(w)));
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
    fill(tables, bulk(redraw), newIntents(fresh, redraw), knownIntents(old), away());
  };
  redraw();
  if (known.detailsVersion !== state().version) {
    loadDetails().then(
      () => tables.isConnected && redraw(),
      () => {}, // the next request says what is wrong
    );
  }
  return { content: [welcome(), resizeCard(), tools(redraw), tables], title: t("intents.title") };
}

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
    el("a", { href: "#pairs" }, t("pairs.title")),
  ]);
}

function welcome() {
  const fresh = intents().filter((i) => i.status === "new");
  if (localStorage.getItem("newfound-welcomed") || !fresh.length) return null;
  const close = () => {
    localStorage.setItem("newfound-welcomed", "yes");
    card.remove();
  };
  const first = { href: address("intent", order()[0]), class: "button main", onclick: close };
  const card = el("section", { class: "card welcome", "aria-label": t("welcome.label") }, [
    el("p", `${t("welcome.found", { n: fresh.length })} ${t("welcome.toDo")}`),
    row(el("a", first, t("welcome.first")), button(t("close"), close, { class: "plain" })),
  ]);
  return card;
}

/** @param {() => void} redraw */
function bulk(redraw) {
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
    button(t("merge…"), () => mergeSeveral(some)),
    button(t("reject…"), () => rejectSeveral(some)),
    button(t("clear"), clear, { class: "plain" }),
  ]);
}

/** @param {string[]} some */
function rejectSeveral(some) {
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

/** @param {string[]} some */
function mergeSeveral(some) {
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

function acceptAbove() {
  const above = (/** @type {string} */ typed) => {
    const limit = Number(typed.replace(/%/, "").replace(",", ".")) / 100;
    return Number.isFinite(limit) ? intents().filter((i) => i.status === "new" && i.certainty >= limit) : [];
  };
  const line = (/** @type {Intent} */ i) => {
    const [example] = details(i)?.examples ?? [];
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
    return el("tr", [
      el("td", { class: "box" }, box),
      cells(i),
      el("td", { class: "action" }, [
        i.status === "new" && button(t("accept"), take, { "aria-label": label, disabled: !hasDetails, title }),
      ]),
    ]);
  };
  const headings = () => [hiddenHeading(t("select")), commonHeadings(), hiddenHeading(t("accept"))];
  return [
    el("h2", t("intents.new", { count: some.length })),
    folded(some, (own) => table({ class: "intents" }, headings(), own.map(line))),
  ];
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
const knownIntents = (some) => [
  el("h2", t("intents.known", { count: some.length })),
  folded(some, (own) =>
    table(
      { class: "intents" },
      commonHeadings(),
      own.map((i) => el("tr", cells(i))),
    ),
  ),
];

const commonHeadings = () => [
  heading(t("intent")),
  heading(t("intents.size"), { class: "number" }),
  el("th", { class: "wide" }, term("certainty", t("intents.certainty"))),
];

/** @param {Intent} i */
function cells(i) {
  const examples = details(i)?.examples ?? [];
  return [
    el("td", [
      el("div", { class: "headline" }, [
        dot(i.name),
        intentLink(i.name),
        tag(i.status),
        i.path && el("span", { class: "badge quiet" }, i.path),
        i.comments > 0 && el("span", { class: "badge quiet" }, t("intents.comments", { n: i.comments })),
      ]),
      hints(i),
      examples.length > 0 ? bullets(examples, { class: "examples" }) : quiet(i.keywords.join(", ")),
    ]),
    el("td", { class: "number" }, [count(i.size), el("div", { class: "narrow quiet" }, percent(i.certainty))]),
    el("td", { class: "wide" }, meter(i.certainty, t("term.certainty"))),
  ];
}

/**
 * What should be looked at, with the way there.
 * @param {Intent} i
 */
function hints(i) {
  if (i.status !== "new") return null;
  const { merge, overlap, separation } = details(i) ?? {};
  const link = (/** @type {string} */ href, /** @type {string} */ text) => el("a", { class: "badge warn", href }, text);
  const some = [
    merge && link(address("pair", i.name, merge), t("hint.same", { name: merge, share: percent(overlap) })),
    separation && link(address("intent", i.name), t("hint.two", { separation: String(separation) })),
    isUnsure(i) && warning(t("unsure")),
  ].filter(Boolean);
  return some.length > 0 && el("div", { class: "badges" }, some);
}

function away() {
  const n = state().progress.without_intent;
  return el("p", el("a", { href: "#none" }, n ? t("none.utterances", { n }) : t("none.link")));
}
