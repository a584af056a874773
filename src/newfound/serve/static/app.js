"use strict";
// The review page; map.js holds one of its views. All text from the model goes into the document as text, never as markup.

const view = document.getElementById("view");
const csrf = document.querySelector("meta[name=csrf]").content;
const formats = document.querySelector("meta[name=formats]").content.split(",");
const author = document.getElementById("author"); // null if the token says who the reviewer is
let state = null; // the last answer of /v1/review/state
let keys = {}; // the actions of the current view by key
let busy = false; // whether a decision is under way
const waitingKeys = []; // keys of the queue that were pressed while a decision was under way, in their order
let handlingKeys = false;
let drawn = 0; // the number of the latest rendering: slower, older ones are dropped

// ---------------------------------------------------------------- helpers

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...present(children));
  return node;
}

// Conditions in the views leave false, null or undefined among the children; the document would show them as words.
const present = (children) => children.flat(Infinity).filter((child) => child !== false && child !== null && child !== undefined);
const fill = (node, ...children) => node.replaceChildren(...present(children));

async function api(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": csrf },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  if (!response.ok) {
    let detail = response.statusText;
    try {
      const found = (await response.json()).detail;
      detail = typeof found === "string" ? found : found.map((f) => f.what).join("; ");
    } catch { /* no JSON: the status says it */ }
    const error = new Error(response.status === 401 ? "You are logged out." : detail);
    error.status = response.status;
    throw error;
  }
  return response.json();
}

function say(message, bad) {
  const said = document.getElementById("said");
  fill(said, message);
  said.className = bad ? "bad" : "";
}

const problem = (error) => [error.message, error.status === 401 && [" ", el("a", { href: "/login" }, "Log in again")]];
const percent = (share) => share === null ? "–" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
const tag = (status) => el("span", { class: `tag ${status}` }, status);
const link = (name) => el("a", { href: "#intent/" + encodeURIComponent(name) }, name);
const button = (label, action, attributes) => el("button", { type: "button", onclick: action, ...attributes }, label);

function ask(title, label, value, { note = "", list = false } = {}) {
  const dialog = document.getElementById("ask");
  const input = document.getElementById("ask-value");
  document.getElementById("ask-title").textContent = title;
  document.getElementById("ask-label").textContent = label;
  document.getElementById("ask-note").textContent = note;
  waitingKeys.length = 0; // what was typed after the key that opened the dialog was meant for the dialog
  input.value = value;
  if (list) input.setAttribute("list", "intent-names"); else input.removeAttribute("list");
  dialog.returnValue = "cancel";
  dialog.showModal();
  input.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = input.value.trim();
      resolve(dialog.returnValue === "ok" && given ? given : null);
    }, { once: true });
  });
}

// ---------------------------------------------------------------- state and decisions

async function refresh() {
  state = await api("/v1/review/state");
  const { accepted, new: total, checked, expected_error: error } = state.progress;
  document.getElementById("progress").hidden = false;
  document.getElementById("bar").value = total ? accepted / total : 1;
  document.getElementById("progress-text").textContent =
    `${accepted} of ${total} new intents accepted · ${checked} utterances checked · expected error ${percent(error)}`;
  fill(document.getElementById("intent-names"), state.intents.map((i) => el("option", { value: i.name })));
}

function who() {
  if (!author) return document.getElementById("person").textContent;
  const name = author.value.trim();
  if (!name) {
    author.focus();
    throw new Error("Say who you are first: fill in “Reviewing as”.");
  }
  return name;
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    waitingKeys.length = 0; // they were meant for what came after a success
    if (error.status === 409) {
      state = null;
      await show();
      say(`Not done: ${error.message}. This page now shows the latest state.`, true);
    } else say(problem(error), true);
  }
}

async function once(action) { // a second click does not repeat a decision that is under way
  if (busy) return;
  busy = true;
  try {
    await attempt(action);
  } finally {
    busy = false;
  }
  handleKeys();
}

async function handleKeys() { // one after the other, each for the utterance that is then shown
  if (handlingKeys || busy) return;
  handlingKeys = true;
  try {
    while (waitingKeys.length) await keys[waitingKeys.shift()]?.();
  } finally {
    handlingKeys = false;
  }
}

async function decide(decisions, message, next) {
  await once(async () => {
    await api("/v1/review/decisions", { author: who(), version: state.version, decisions });
    await refresh();
    if (next !== undefined && location.hash !== next) location.hash = next; else await show();
    say(message);
    view.focus({ preventScroll: true });
  });
}

async function undo(id) {
  await once(async () => {
    const answer = await api("/v1/review/undo", { author: who(), version: state.version, id: id ?? null });
    await refresh();
    await show();
    say(`Undone: ${answer.undone.kind}.`);
  });
}

const move = (texts, to, create) => ({ move: create ? { texts, to, create: true } : { texts, to } });
const isIntent = (name) => state.intents.some((i) => i.name === name);

async function askAndMove(texts) {
  const to = await ask(texts.length === 1 ? "Move the utterance" : `Move ${texts.length} utterances`,
    "To which intent?", "", { list: true, note: "A name that does not exist yet makes a new intent." });
  if (to) await decide([move(texts, to, !isIntent(to))], `Moved to ${to}.`);
}

// ---------------------------------------------------------------- views

function utterances(items, { intent = true } = {}) {
  if (!items.length) return el("p", { class: "quiet" }, "Nothing here.");
  return el("ul", { class: "plain" }, items.map((u) => el("li", {},
    u.text, " ",
    u.count > 1 && el("span", { class: "quiet" }, `×${u.count} `),
    intent && (u.intent === null ? el("span", { class: "quiet" }, "no intent ") : [link(u.intent), " "]),
    el("span", { class: "quiet" }, u.labelled ? "labelled " : `${percent(u.probability)} `),
    button("Move", () => askAndMove([u.text]), { "aria-label": `Move “${u.text}”` }),
  )));
}

function intents() {
  const found = el("div");
  const search = el("input", { id: "search", type: "search", placeholder: "words in an utterance", size: 28 });
  search.addEventListener("input", async () => {
    const q = search.value.trim();
    if (!q) { fill(found); return; }
    await attempt(async () => {
      const answer = await api("/v1/review/search?q=" + encodeURIComponent(q));
      if (search.value.trim() === q) fill(found, el("h2", {}, `Utterances with “${q}”`), utterances(answer.utterances));
    });
  });
  const row = (i) => el("tr", {},
    el("td", {}, link(i.name)), el("td", {}, tag(i.status)), el("td", { class: "number" }, i.size.toLocaleString("en")),
    el("td", { class: "number wide" }, percent(i.certainty)), el("td", { class: "quiet wide" }, i.keywords.join(", ")),
    el("td", {}, i.status === "new" && button("Accept", () => decide([{ accept: { intent: i.name } }], `Accepted ${i.name}.`),
      { "aria-label": `Accept ${i.name}` })));
  const table = (title, some) => [el("h2", {}, `${title} (${some.length})`),
    some.length ? el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Intent"), el("th", {}, "Status"),
      el("th", { class: "number" }, "Size"), el("th", { class: "number wide" }, "Certainty"),
      el("th", { class: "wide" }, "Keywords"), el("th", {}, el("span", { class: "quiet" }, "")))),
      el("tbody", {}, some.map(row))) : el("p", { class: "quiet" }, "None.")];
  return [el("div", { class: "row" }, el("label", { for: "search" }, "Search"), search), found,
    table("New intents", state.intents.filter((i) => i.status !== "known")),
    table("Known intents", state.intents.filter((i) => i.status === "known"))];
}

async function intent(name) {
  const i = await api("/v1/review/intent?name=" + encodeURIComponent(name));
  const isNew = i.status !== "known";
  const others = () => state.intents.filter((o) => o.name !== name).map((o) => o.name);
  const actions = el("div", { class: "row" },
    i.status === "new" && button("Accept", () => decide([{ accept: { intent: name } }], `Accepted ${name}.`), { class: "main" }),
    button("Rename", async () => {
      const to = await ask("Rename the intent", "New name", name);
      if (to && to !== name) await decide([{ rename: { intent: name, to } }], `Renamed to ${to}.`, "#intent/" + encodeURIComponent(to));
    }),
    isNew && button("Merge into …", async () => {
      const into = await ask("Merge the intent", `Merge ${name} into`, i.merges.length ? i.merges[0].name : "", { list: true });
      if (into && others().includes(into)) await decide([{ merge: { intents: [name], into } }], `Merged into ${into}.`, "#intent/" + encodeURIComponent(into));
      else if (into) say(`There is no other intent ${into}.`, true);
    }),
    isNew && button("Reject", () => decide([{ reject: { intent: name } }], `Rejected ${name}: its utterances are of no intent.`, "#intents")),
    el("a", { href: "#map/" + encodeURIComponent(name) }, "Show on the map"));
  const texts = (title, some) => some.length > 0 && [el("h3", {}, title), el("ul", {}, some.map((t) => el("li", {}, t)))];
  const merges = i.merges.map((m) => el("div", { class: "card" },
    el("p", {}, isNew ? "May be the same as " : "Overlaps with ", link(m.name), " ", tag(m.status),
      `: ${percent(m.overlap)} of its utterances' neighbours are there.`),
    el("ul", {}, m.evidence.map(([a, b]) => el("li", {}, `“${a}”`, el("span", { class: "quiet" }, " next to "), `“${b}”`))),
    isNew && button(`Merge into ${m.name}`, () => decide([{ merge: { intents: [name], into: m.name } }], `Merged into ${m.name}.`, "#intent/" + encodeURIComponent(m.name)))));
  const parts = i.split && i.split.parts;
  const inputs = parts && parts.map((p) => el("input", { value: p.name, maxlength: 200, "aria-label": `Name of the part with “${p.utterances[0]}”` }));
  const split = parts && el("div", { class: "card" },
    el("p", {}, i.split.separation >= 0.2 ? "It falls into two parts that are clearly apart" : "These would be its two parts, but they are hardly apart",
      ` (separation ${i.split.separation}).`),
    el("div", { class: "columns" }, parts.map((p, k) => el("div", {}, el("div", { class: "row" }, inputs[k], el("span", { class: "quiet" }, `${p.size} utterances`)),
      el("ul", {}, p.utterances.slice(0, 5).map((t) => el("li", {}, t)))))),
    button("Split like this", () => {
      const names = inputs.map((input) => input.value.trim());
      if (!names[0] || !names[1] || names[0] === names[1]) { say("A split needs two different names.", true); return; }
      const into = Object.fromEntries(parts.map((p, k) => [names[k], p.utterances]));
      decide([{ split: { intent: name, into } }], `Split into ${names.join(" and ")}.`, "#intents");
    }));
  const list = el("div", {}, utterances(i.utterances, { intent: false }));
  let shown = i.utterances.length;
  const more = shown < i.total && button("Show more", () => attempt(async () => {
    const next = await api(`/v1/review/intent?name=${encodeURIComponent(name)}&start=${shown}`);
    shown += next.utterances.length;
    list.append(utterances(next.utterances, { intent: false }));
    if (shown >= i.total) more.remove();
  }));
  return [el("h2", {}, name, " ", tag(i.status)),
    el("p", { class: "quiet" }, `${i.size.toLocaleString("en")} utterances · certainty ${percent(i.certainty)} · ${i.keywords.join(", ")}`),
    actions,
    el("div", { class: "columns" }, el("div", {}, texts("Central utterances", i.exemplars)), el("div", {}, texts("Border cases", i.border))),
    merges.length > 0 && [el("h3", {}, "Near intents"), merges],
    split && [el("h3", {}, "A possible split"), split],
    el("h3", {}, `All ${i.total} utterances, the least certain first`), list, more];
}

let errorAtStart = null;
const skipped = new Set();
const QUEUE_KEYS = new Set("amnrsu123456789");

async function queue() {
  const answer = await api("/v1/review/queue?most=200");
  errorAtStart ??= answer.expected_error;
  const items = answer.items.filter((u) => !skipped.has(u.id));
  const head = el("p", { class: "quiet" }, `Expected error of the logs: ${percent(answer.expected_error)}`,
    answer.expected_error < errorAtStart && ` (it was ${percent(errorAtStart)} when you began)`, ". The least certain utterances come first.");
  if (!items.length) {
    return [el("h2", {}, "Review queue"), head, el("p", {}, answer.items.length ? "You skipped all that is left." : "Nothing is left to check."),
      answer.items.length > 0 && button("Start over", () => { skipped.clear(); show(); })];
  }
  const u = items[0];
  const to = (name, create) => decide([move([u.text], name, create)], create ? `Made ${name}.` : `“${u.text}” is ${name}.`);
  const accept = () => (u.intent === null ? reject() : to(u.intent));
  const reject = () => decide([move([u.text], null)], "It belongs to no intent.");
  const other = () => askAndMove([u.text]);
  const fresh = async () => {
    const name = await ask("A new intent", "Its name", "", { note: u.text });
    if (name) await to(name, !isIntent(name));
  };
  const skip = () => once(async () => { skipped.add(u.id); await show(); });
  const own = { a: accept, m: other, n: fresh, r: reject, s: skip, u: () => undo() };
  u.candidates.forEach(([name], k) => { own[String(k + 1)] = () => to(name); });
  const key = (letter, label, action, main) => button([el("kbd", {}, letter), " ", label], action, { class: main ? "main wrap" : "wrap" });
  const content = [el("h2", {}, "Review queue"), head,
    el("div", { class: "card" }, el("p", { class: "big" }, u.text),
      el("p", {}, "Assigned to ", u.intent === null ? "no intent" : link(u.intent), el("span", { class: "quiet" },
        ` · probability ${percent(u.probability)} · ${percent(u.agreement)} of its neighbours are there`)),
      el("div", { class: "row" }, key("a", "Accept", accept, true), key("m", "Move …", other), key("n", "New intent …", fresh),
        key("r", "No intent", reject), key("s", "Skip", skip)),
      el("div", { class: "row" }, u.candidates.map(([name, p], k) => key(String(k + 1), `${name} (${percent(p)})`, () => to(name))))),
    el("p", { class: "quiet" }, "Keys: ", el("kbd", {}, "u"), " undoes the last decision.")];
  content.keys = own;
  return content;
}

async function tryIt() {
  const input = el("input", { id: "try-text", maxlength: 2000, size: 40, autocomplete: "off" });
  const answer = el("div", { "aria-live": "polite" });
  const form = el("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (!text) return;
    attempt(async () => {
      const e = await api("/v1/review/explain", { text });
      fill(answer,
        el("p", { class: "big", id: "tried" }, e.intent === null ? "no intent" : link(e.intent), " ", el("span", { class: "quiet" }, percent(e.probability))),
        e.outlier > 0.95 && el("p", { class: "bad" }, `It is unlike all intents (outlier score ${e.outlier.toFixed(2)}).`),
        el("div", { class: "columns" },
          el("div", {}, el("h3", {}, "Nearest intents"), el("ul", {}, e.intents.map(([name, p]) => el("li", {}, link(name), ` ${percent(p)}`)))),
          el("div", {}, el("h3", {}, "Nearest utterances"), el("ul", {}, e.utterances.map((u) => el("li", {}, u.text, " ",
            u.intent === null ? "no intent" : link(u.intent), el("span", { class: "quiet" }, ` similarity ${u.similarity}`)))))));
    });
  } }, el("label", { for: "try-text" }, "What a user may type"), input, el("button", { type: "submit", class: "main" }, "Classify"));
  queueMicrotask(() => input.focus());
  return [el("h2", {}, "Try it"), form, answer];
}

async function history() {
  const { entries } = await api("/v1/review/log");
  if (!entries.length) return [el("h2", {}, "History"), el("p", { class: "quiet" }, "No decision yet.")];
  const short = (value) => { const text = JSON.stringify(value); return text.length > 160 ? text.slice(0, 159) + "…" : text; };
  return [el("h2", {}, "History"), el("table", {}, el("thead", {}, el("tr", {}, ["When (UTC)", "Who", "What", "", ""].map((t) => el("th", {}, t)))),
    el("tbody", {}, entries.toReversed().map((e) => el("tr", {}, el("td", { class: "time" }, e.at.replace("T", " ").slice(0, 19)), el("td", {}, e.author), el("td", {}, e.kind),
      el("td", { class: "quiet" }, short(e.arguments)),
      el("td", {}, e.undone_by ? el("span", { class: "quiet" }, `undone by ${e.undone_by}`)
        : button("Undo", () => undo(e.id), { "aria-label": `Undo ${e.kind} of ${e.author}` }))))))];
}

async function exports() {
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Refit" });
  const text = el("span", { class: "quiet" });
  const start = button("Refit", () => attempt(async () => { await api("/v1/review/refit", { author: who() }); follow(); }), { class: "main" });
  async function follow() {
    let r;
    try { r = await api("/v1/review/refit"); } catch (error) { text.className = "bad"; fill(text, problem(error)); return; }
    bar.value = r.status === "done" ? 1 : r.total ? r.done / r.total : 0;
    start.disabled = r.status === "running";
    text.className = r.status === "failed" ? "bad" : "quiet";
    text.textContent = { idle: "Not started.", running: `${r.step} ${r.done}/${r.total}`, done: r.message, failed: r.message }[r.status];
    if (r.status === "running") setTimeout(() => { if (bar.isConnected) follow(); }, 500);
  }
  follow();
  return [el("h2", {}, "Export"), el("p", {}, "Every utterance with its reviewed intent; what belongs to no intent is left out. ",
      "Use csv-safe for Excel and other spreadsheets: they would run a cell of csv that begins with “=” as a formula."),
    el("div", { class: "row" }, formats.map((f) => el("a", { href: "/v1/export/" + f, download: true, id: "export-" + f }, f))),
    el("h2", {}, "Refit"), el("p", {}, "Train the classifier on from your decisions, into a folder beside the model. The model itself stays."),
    el("div", { class: "row" }, start, bar, text)];
}

// ---------------------------------------------------------------- which view

const views = { intents, intent, queue, map, try: tryIt, history, export: exports };

async function show() {
  const [name, argument] = (location.hash.slice(1) || "intents").split("/", 2);
  const mine = ++drawn;
  keys = {};
  for (const a of document.querySelectorAll("nav a")) {
    const current = a.hash === "#" + (name === "intent" ? "intents" : name);
    if (current) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  const slow = setTimeout(() => { if (mine === drawn) fill(view, el("p", { class: "quiet" }, "Loading …")); }, 400);
  try {
    if (state === null || name === "intents") await refresh();
    const content = await (views[name] || intents)(argument === undefined ? undefined : decodeURIComponent(argument));
    if (mine === drawn) {
      keys = content.keys || {};
      fill(view, content);
    }
  } catch (error) {
    if (mine === drawn) fill(view, el("p", { class: "bad", role: "alert" }, problem(error)), button("Try again", () => { state = null; show(); }));
  } finally {
    clearTimeout(slow);
  }
}

if (author) {
  author.value = localStorage.getItem("newfound-author") || "";
  author.addEventListener("change", () => localStorage.setItem("newfound-author", author.value.trim()));
}
document.getElementById("logout")?.addEventListener("click", async () => {
  await attempt(async () => { await api("/logout", {}); location.assign("/login"); });
});
document.getElementById("undo").addEventListener("click", () => undo());
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || document.getElementById("ask").open) return;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  const isWaiting = (busy || handlingKeys) && location.hash === "#queue" && QUEUE_KEYS.has(event.key);
  if (!isWaiting && !keys[event.key]) return;
  event.preventDefault();
  waitingKeys.push(event.key);
  handleKeys();
});
document.querySelector("nav").addEventListener("click", () => say(""));
addEventListener("hashchange", () => { waitingKeys.length = 0; show().then(() => view.focus({ preventScroll: true })); });
show();
