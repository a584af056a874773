// Ctrl-K: every view, every intent, the search and the undo, by a few letters.
import { undoHere } from "./decisions.js";
import { byId, el, fill, quiet } from "./dom.js";
import { nearest } from "./names.js";
import { dot } from "./parts.js";
import { address, go } from "./router.js";
import { intents, known } from "./review.js";
import { store } from "./store.js";
import { t } from "./strings.js";

const MAX_INTENTS = 8;
const dialog = byId("jump");
const input = byId("jump-value");
const list = byId("jump-choices");
const { jump } = store;

/** @param {string} typed @returns {Target[]} */
function targets(typed) {
  const wanted = typed.trim().toLowerCase();
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("nav a"));
  const views = [...links].map((a) => ({ label: a.textContent ?? "", kind: t("jump.view"), act: () => go(a.hash) }));
  const actions = [{ label: t("undo"), kind: t("jump.action"), act: undoHere }];
  const matching = [...views, ...actions].filter(({ label }) => label.toLowerCase().includes(wanted));
  if (!wanted) return matching;
  const close = known.state ? nearest(typed, intents(), MAX_INTENTS) : [];
  return [
    ...matching,
    ...close.map((i) => ({
      label: [dot(i.name), " ", i.name],
      kind: t("intent"),
      act: () => go(address("intent", i.name)),
    })),
    { label: t("jump.search", { words: typed.trim() }), kind: "", act: () => go(address("search", typed.trim())) },
  ];
}

function draw() {
  const item = (/** @type {Target} */ { label, kind }, /** @type {number} */ k) =>
    el("li", { role: "option", id: `jump-${k}`, "aria-selected": String(k === jump.at), onclick: () => choose(k) }, [
      el("span", label),
      quiet(kind),
    ]);
  fill(list, jump.targets.map(item));
  input.setAttribute("aria-activedescendant", jump.targets.length ? `jump-${jump.at}` : "");
  list.children[jump.at]?.scrollIntoView({ block: "nearest" });
}

/** @param {number} k */
function choose(k) {
  dialog.close();
  jump.targets[k]?.act();
}

function update() {
  jump.targets = targets(input.value);
  jump.at = 0;
  draw();
}

function openJump() {
  if (document.querySelector("dialog[open]")) return;
  input.value = "";
  update();
  dialog.showModal();
}

input.addEventListener("input", update);
input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) jump.at = (jump.at + step + jump.targets.length) % Math.max(1, jump.targets.length);
  else if (event.key === "Enter") choose(jump.at);
  else return;
  event.preventDefault();
  if (step) draw();
});
byId("open-jump").addEventListener("click", openJump);
dialog.addEventListener("click", (/** @type {Event} */ event) => event.target === dialog && dialog.close());
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  openJump();
});
