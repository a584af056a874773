// The list of intents: what needs attention, sorted and filtered, several handled at once.
import { decide, record, settle } from "./decisions.js";
import { ask, askIntent, confirm } from "./dialogs.js";
import { button, byId, el, fill, quiet } from "./dom.js";
import { count, percent, plural } from "./format.js";
import { say } from "./messages.js";
import { dot, intentLink, meter, tag, term } from "./parts.js";
import { resizeCard } from "./resize.js";
import { address } from "./router.js";
import { intents, known, loadDetails } from "./store.js";

const LOW_CERTAINTY = 0.8;
const MILLISECONDS_TO_WAIT_FOR_DETAILS = 1500;
const chosen = { words: "", show: "all", sort: "attention" }; // they stay when the view changes
const selection = new Set(); // names

const details = (i) => known.details.get(i.name);
const isFlagged = (i) => i.status === "new" && Boolean(details(i)?.merge || details(i)?.separation || i.certainty < LOW_CERTAINTY);
const rank = (i) => i.status === "new" ? (isFlagged(i) ? 0 : 1) : 2;
const SORTS = {
  attention: ["what needs attention", (a, b) => rank(a) - rank(b) || a.certainty - b.certainty],
  size: ["size, largest first", (a, b) => b.size - a.size],
  certainty: ["certainty, lowest first", (a, b) => a.certainty - b.certainty],
  name: ["name", (a, b) => a.name.localeCompare(b.name)],
};
const SHOWS = {
  all: ["all", () => true],
  attention: ["need attention", isFlagged],
  new: ["new", (i) => i.status === "new"],
  accepted: ["accepted", (i) => i.status === "accepted"],
};

function wanted() { // the new intents that the list shows, in its order
  const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (i) => words.every((w) => i.name.toLowerCase().includes(w) || i.keywords.some((k) => k.toLowerCase().includes(w)));
  return intents().filter((i) => has(i)).sort(SORTS[chosen.sort][1]);
}
export const order = () => [...wanted().filter((i) => i.status !== "known" && SHOWS[chosen.show][1](i)), ...wanted().filter((i) => i.status === "known")].map((i) => i.name);

export async function intentsView() {
  await Promise.race([loadDetails(), new Promise((resolve) => setTimeout(resolve, MILLISECONDS_TO_WAIT_FOR_DETAILS))]);
  for (const name of [...selection]) if (!intents().some((i) => i.name === name && i.status !== "known")) selection.delete(name);
  const tables = el("div", { id: "tables" });
  const redraw = () => fill(tables, bulk(redraw), table("New intents", wanted().filter((i) => i.status !== "known" && SHOWS[chosen.show][1](i)), redraw, true),
    table("Known intents", wanted().filter((i) => i.status === "known"), redraw, false), away());
  redraw();
  if (known.detailsVersion !== known.state.version) loadDetails().then(() => { if (tables.isConnected) redraw(); }, () => {});
  const filter = el("input", { id: "filter", type: "search", placeholder: "name or keyword", size: 18, "aria-label": "Filter by name or keyword" });
  filter.value = chosen.words;
  filter.addEventListener("input", () => { chosen.words = filter.value; redraw(); });
  const select = (id, label, options, key) => {
    const node = el("select", { id }, Object.entries(options).map(([value, [text]]) => el("option", { value, selected: chosen[key] === value }, text)));
    node.addEventListener("change", () => { chosen[key] = node.value; redraw(); });
    return el("label", { class: "control" }, label, " ", node);
  };
  const tools = el("div", { class: "row tools" }, filter, select("show", "Show", SHOWS, "show"), select("sort", "Sort by", SORTS, "sort"),
    button("Accept all above …", acceptAbove, { id: "accept-above" }), el("a", { href: "#pairs" }, "Mixed-up pairs"));
  return { content: [welcome(), resizeCard(), tools, tables], title: "Intents", keys: {} };
}

function welcome() {
  if (localStorage.getItem("newfound-welcomed")) return null;
  const fresh = intents().filter((i) => i.status === "new");
  const close = () => { localStorage.setItem("newfound-welcomed", "yes"); byId("welcome")?.remove(); };
  if (!fresh.length) return null;
  const first = order()[0];
  return el("section", { class: "card welcome", id: "welcome", "aria-label": "Welcome" },
    el("p", {}, `${plural(fresh.length, "new intent was", "new intents were")} found in your logs, and each of them is a proposal. `,
      "Open them one by one, and accept, rename, merge, split or reject them. ",
      "Every decision can be undone, and the model itself is never changed."),
    el("div", { class: "row" }, el("a", { href: address("intent", first), class: "button main", onclick: close }, "Look at the first intent"), button("Close", close, { class: "plain" })));
}

function bulk(redraw) {
  const some = [...selection];
  if (!some.length) return null;
  const fresh = some.filter((name) => intents().find((i) => i.name === name)?.status === "new");
  const done = () => { selection.clear(); };
  return el("div", { class: "selection", id: "bulk" }, el("strong", {}, `${some.length} selected`),
    fresh.length > 0 && button("Accept", async () => { if (await decide(fresh.map((intent) => ({ accept: { intent } })), `Accepted ${plural(fresh.length, "intent")}.`)) { done(); redraw(); } }),
    button("Merge …", () => mergeSeveral(some, done)),
    button("Reject …", () => confirm(`Reject ${plural(some.length, "intent")}?`, some, "Reject", async () => {
      const entries = await record(some.map((intent) => ({ reject: { intent } })));
      done();
      await settle(`Rejected ${plural(some.length, "intent")}.`, entries);
    }, "Their utterances will belong to no intent.")),
    button("Clear", () => { done(); redraw(); }, { class: "plain" }));
}

function mergeSeveral(some, done) {
  askIntent({
    title: `Merge ${plural(some.length, "intent")}`, label: "Into which intent? It may be one of them.", quotes: some, mayCreate: false, value: some[0],
    submit: async (into) => {
      const others = some.filter((name) => name !== into);
      if (!others.length) { say("Select at least one other intent.", { bad: true }); return false; }
      const entries = await record([{ merge: { intents: others, into } }]);
      done();
      await settle(`Merged ${plural(others.length, "intent")} into ${into}.`, entries);
    },
  });
}

function acceptAbove() {
  const above = (text) => {
    const limit = Number(text.replace(/%/, "").replace(",", ".")) / 100;
    return Number.isFinite(limit) ? intents().filter((i) => i.status === "new" && i.certainty >= limit) : [];
  };
  const line = (i) => el("li", {}, el("strong", {}, i.name), ` ${percent(i.certainty)} · ${plural(i.size, "utterance")}`, quiet(details(i)?.examples.length ? ` · “${details(i).examples[0]}”` : ""));
  ask({
    title: "Accept all intents above a certainty", label: "Certainty of at least, in percent", value: "90", ok: "Accept them",
    onInput: (text) => { const some = above(text); fill(byId("ask-choices"), el("p", {}, `${plural(some.length, "new intent")}:`), el("ul", { class: "examples" }, some.map(line))); },
    submit: async (text) => {
      const some = above(text);
      if (!some.length) throw new Error("No new intent is that certain.");
      const entries = await record(some.map((i) => ({ accept: { intent: i.name } })));
      await settle(`Accepted ${plural(some.length, "intent")}.`, entries);
    },
  });
}

function table(title, some, redraw, isNew) {
  const row = (i) => {
    const box = isNew && el("input", { type: "checkbox", "aria-label": `Select ${i.name}`, onchange: () => { if (box.checked) selection.add(i.name); else selection.delete(i.name); redraw(); } });
    if (box) box.checked = selection.has(i.name);
    const more = details(i);
    return el("tr", { "data-intent": i.name },
      isNew && el("td", { class: "box" }, box),
      el("td", {}, el("div", { class: "headline" }, dot(i.name), intentLink(i.name), tag(i.status), i.comments > 0 && el("span", { class: "badge quiet" }, plural(i.comments, "comment"))), hints(i),
        more && more.examples.length > 0 ? el("ul", { class: "examples" }, more.examples.map((t) => el("li", {}, t))) : quiet(i.keywords.join(", "))),
      el("td", { class: "number" }, count(i.size), el("div", { class: "narrow quiet" }, percent(i.certainty))),
      el("td", { class: "wide" }, meter(i.certainty, "certainty")),
      isNew && el("td", { class: "action" }, i.status === "new" && button("Accept", () => decide([{ accept: { intent: i.name } }], `Accepted ${i.name}.`),
        { "aria-label": `Accept ${i.name}`, disabled: !more, title: more ? "Its most typical utterances stand beside it" : "Its examples are being loaded" })));
  };
  return [el("h2", {}, `${title} (${some.length})`),
    some.length ? el("table", { class: "intents" }, el("thead", {}, el("tr", {}, isNew && el("th", {}, el("span", { class: "hidden" }, "Select")), el("th", {}, "Intent"),
      el("th", { class: "number" }, "Size"), el("th", { class: "wide" }, term("certainty", "Certainty")), isNew && el("th", {}, el("span", { class: "hidden" }, "Accept")))),
    el("tbody", {}, some.map(row))) : el("p", { class: "quiet" }, "None.")];
}

function hints(i) { // what should be looked at, with the way there
  const more = details(i), found = [];
  if (i.status !== "new") return null;
  if (more?.merge) found.push(el("a", { class: "badge warn", href: address("pair", i.name, more.merge) }, `the same as ${more.merge}? ${percent(more.overlap)} overlap`));
  if (more?.separation) found.push(el("a", { class: "badge warn", href: address("intent", i.name) }, `two intents? separation ${more.separation}`));
  if (i.certainty < LOW_CERTAINTY) found.push(el("span", { class: "badge warn" }, "unsure"));
  return found.length > 0 && el("div", { class: "badges" }, found);
}

function away() {
  const n = known.state.progress.without_intent;
  return el("p", {}, el("a", { href: "#none" }, n ? `${plural(n, "utterance")} of no intent` : "Rejected intents and utterances of no intent"));
}
