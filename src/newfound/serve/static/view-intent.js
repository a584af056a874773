// One intent: what it is, what it may be confused with, what people said about it, and all its utterances.
import { api } from "./api.js";
import { attempt, decide, record, settle } from "./decisions.js";
import { ask, askAndMake, askAndMove, askIntent } from "./dialogs.js";
import { button, el, quiet } from "./dom.js";
import { percent, plural } from "./format.js";
import { say } from "./messages.js";
import { ago, dot, intentLink, meter, tag, term, utteranceList } from "./parts.js";
import { address, go } from "./router.js";
import { draft, forgetDrafts, hasDrafts } from "./store.js";
import { order } from "./view-intents.js";

let selection = new Set(), selectionOf = null; // texts

export async function intentView(name) {
  if (selectionOf !== name) { selection = new Set(); selectionOf = name; }
  const i = await api("/v1/review/intent?name=" + encodeURIComponent(name));
  const isNew = i.status !== "known";
  const all = order(), at = all.indexOf(name);
  const next = at >= 0 ? all[at + 1] : all[0], previous = all[at - 1];
  const accept = () => decide([{ accept: { intent: name } }], `Accepted ${name}.`);
  const rename = () => ask({
    title: "Rename the intent", label: "New name", value: name, quotes: i.exemplars.slice(0, 3), ok: "Rename",
    submit: async (to) => { if (to !== name) await settle(`Renamed to ${to}.`, await record([{ rename: { intent: name, to } }]), address("intent", to)); },
  });
  const mergeInto = async (into) => settle(`Merged into ${into}.`, await record([{ merge: { intents: [name], into } }]), address("intent", into));
  const merge = () => askIntent({ title: `Merge ${name}`, label: "Into which intent?", quotes: i.exemplars.slice(0, 3), except: [name], mayCreate: false, value: i.merges.length ? i.merges[0].name : "", submit: mergeInto });
  const step = (label, target, key) => target && el("a", { href: address("intent", target), class: "button", title: `${target} (key ${key})` }, label);
  const head = el("div", { class: "row between" }, el("a", { href: "#intents" }, "← All intents"),
    el("span", { class: "row" }, step("‹ Previous", previous, "k"), at >= 0 && quiet(`${at + 1} of ${all.length}`), step("Next ›", next, "j")));
  const actions = el("div", { class: "row actions" },
    i.status === "new" && button([el("kbd", {}, "a"), " Accept"], accept, { class: "main" }),
    button("Rename", rename), isNew && button("Merge into …", merge),
    isNew && button("Reject", () => decide([{ reject: { intent: name } }], `Rejected ${name}: its utterances are of no intent.`, next ? address("intent", next) : "#intents")),
    el("a", { href: address("map", name) }, "Show on the map"));
  const texts = (title, some) => some.length > 0 && el("div", { class: "card" }, el("h3", {}, title), el("ul", {}, some.map((t) => el("li", {}, t))));
  const merges = i.merges.map((m) => el("div", { class: "card" },
    el("p", {}, isNew ? "May be the same as " : "Overlaps with ", dot(m.name), " ", intentLink(m.name), " ", tag(m.status), `: ${percent(m.overlap)} of its utterances’ neighbours are there.`),
    el("ul", {}, m.evidence.map(([a, b]) => el("li", {}, `“${a}”`, quiet(" next to "), `“${b}”`))),
    el("div", { class: "row" }, el("a", { href: address("pair", name, m.name), class: "button" }, "Side by side"),
      isNew && button(`Merge into ${m.name}`, () => attempt(() => mergeInto(m.name))))));
  const list = el("div", {}, rows(i.utterances));
  let shown = i.utterances.length;
  const more = shown < i.total && button("Show more", () => attempt(async () => {
    const page = await api(`/v1/review/intent?name=${encodeURIComponent(name)}&start=${shown}`);
    shown += page.utterances.length;
    list.append(...rows(page.utterances));
    if (shown >= i.total) more.remove();
  }));
  function rows(some) {
    return [utteranceList(some, { withIntent: false, selection, onMove: (t) => askAndMove(t, { except: [name], after: () => selection.clear() }), onMake: (t) => askAndMake(t, { after: () => selection.clear() }),
      onNone: (t) => decide([{ move: { texts: t, to: null } }], `${plural(t.length, "utterance")} of no intent now.`).then(() => selection.clear()) })].flat();
  }
  const keys = { j: () => next && go(address("intent", next)), k: () => previous && go(address("intent", previous)) };
  if (i.status === "new") keys.a = accept;
  return {
    title: name, keys,
    onNews: () => !hasDrafts() && !selection.size, // what was typed or selected stays
    content: [head, el("h2", { class: "title" }, dot(name), " ", name, " ", tag(i.status)),
      el("p", { class: "meta" }, plural(i.size, "utterance"), " · ", term("certainty"), " ", meter(i.certainty, "certainty"), " · ", quiet(i.keywords.join(", "))),
      actions,
      el("div", { class: "columns" }, texts("Central utterances", i.exemplars), texts("Border cases", i.border)),
      comments(name, i.comments, i.n_comments),
      merges.length > 0 && [el("h3", {}, "Near intents"), merges],
      i.split && [el("h3", {}, "A possible split"), split(name, i.split)],
      el("h3", {}, `All ${plural(i.total, "utterance")}, the least certain first`), list, more,
      el("div", { class: "row between" }, el("a", { href: "#intents" }, "← All intents"), el("span", { class: "row" }, step("‹ Previous", previous, "k"), step("Next ›", next, "j")))],
  };
}

function split(name, proposal) {
  const inputs = proposal.parts.map((p, k) => draft(`split/${name}/${k}`, el("input", { value: p.name, maxlength: 200, id: `part-${k}`, "aria-label": `Name of the part with “${p.utterances[0]}”` })));
  return el("div", { class: "card", id: "split" },
    el("p", {}, proposal.separation >= 0.2 ? "It falls into two parts that are clearly apart" : "These would be its two parts, but they are hardly apart",
      " (", term("separation"), ` ${proposal.separation}).`),
    el("div", { class: "columns" }, proposal.parts.map((p, k) => el("div", {}, el("div", { class: "row" }, inputs[k], quiet(plural(p.size, "utterance"))),
      el("ul", {}, p.utterances.slice(0, 5).map((t) => el("li", {}, t)))))),
    button("Split like this", async () => {
      const names = inputs.map((input) => input.value.trim());
      if (!names[0] || !names[1] || names[0] === names[1]) { say("A split needs two different names.", { bad: true }); return; }
      const into = Object.fromEntries(proposal.parts.map((p, k) => [names[k], p.utterances]));
      if (await decide([{ split: { intent: name, into } }], `Split into ${names.join(" and ")}.`, "#intents")) forgetDrafts(`split/${name}/`);
    }));
}

function comments(name, some, total) {
  const input = draft(`comment/${name}`, el("textarea", { id: "comment", rows: 2, maxlength: 2000, placeholder: "For the others: what is this intent, what is still open?", "aria-label": "A comment on this intent" }));
  const add = async () => {
    const text = input.value.trim();
    if (text && await decide([{ comment: { intent: name, text } }], "Comment added.")) { forgetDrafts(`comment/${name}`); input.value = ""; const now = document.getElementById("comment"); if (now) now.value = ""; }
  };
  return el("details", { class: "card comments", open: some.length > 0 }, el("summary", {}, total ? `Comments (${total})` : "Comment"),
    total > some.length && el("p", { class: "quiet" }, `The latest ${some.length} of ${total} are shown.`),
    some.map((c) => el("div", { class: "comment" }, el("p", { class: "quiet" }, el("strong", {}, c.author), " ", ago(c.at)), el("p", { class: "lines" }, c.text))),
    el("div", { class: "row" }, input, button("Add the comment", add)));
}
