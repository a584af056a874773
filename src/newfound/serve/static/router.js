// Which view is shown. A view is a function that returns { content, keys, title, onNews }.
import { problem } from "./api.js";
import { button, byId, el, fill } from "./dom.js";
import { known, refresh } from "./store.js";

const views = new Map();
const places = new Map(); // how far each list was scrolled, by its address
const view = byId("view");
const title = document.title;
let drawn = 0; // the number of the latest rendering: slower, older ones are dropped
export let current = {};

export const addView = (name, make, tab = name) => views.set(name, { make, tab });
export const address = (...parts) => "#" + parts.map(encodeURIComponent).join("/");
export const go = (hash) => { location.hash = hash; };

export async function show({ navigated = false } = {}) {
  const [name, ...parts] = (location.hash.slice(1) || "intents").split("/").map(decode);
  const { make, tab } = views.get(name) || views.get("intents");
  const mine = ++drawn;
  if (navigated) current = {};
  for (const a of document.querySelectorAll("nav a")) {
    if (a.hash === "#" + tab) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  const slow = setTimeout(() => { if (mine === drawn) fill(view, el("p", { class: "quiet" }, "Loading …")); }, 400);
  try {
    if (known.state === null) await refresh();
    const seen = { version: known.state.version, model: known.state.model }; // what is drawn is at least as new
    const made = await make(...parts);
    if (mine !== drawn) return;
    made.seen = seen;
    const scrolled = scrollY, focused = document.activeElement?.id;
    current = made;
    fill(view, made.content);
    document.title = made.title ? `${made.title} · ${title}` : title;
    if (navigated) {
      scrollTo(0, name === "intent" || name === "pair" ? 0 : places.get(location.hash) || 0);
      view.focus({ preventScroll: true });
      made.onShown?.();
    } else {
      scrollTo(0, scrolled);
      if (focused && document.activeElement?.id !== focused) byId(focused)?.focus({ preventScroll: true });
    }
  } catch (error) {
    if (mine !== drawn) return;
    current = {};
    fill(view, el("p", { class: "bad", role: "alert" }, problem(error)), button("Try again", () => { known.state = null; show(); }));
  } finally {
    clearTimeout(slow);
  }
}

function decode(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

let here = location.hash;
addEventListener("scroll", () => places.set(here, scrollY), { passive: true });
export function arrived() { here = location.hash; }
