// Which view is shown. A view is a function that gets the parts of the address and returns a `View`.
import { problem } from "./api.js";
import { button, byId, el, fill, linkButton, quietLine, row } from "./dom.js";
import { known, refresh, state } from "./review.js";
import { store } from "./store.js";
import { t } from "./strings.js";

const MILLISECONDS_UNTIL_LOADING_IS_SAID = 400;
const FROM_THE_TOP = ["intent", "pair"]; // views that are not scrolled to where they were left

/** @typedef {(...parts: string[]) => Promise<View>} MakeView */
/** @type {Map<string, { make: MakeView, tab: string }>} */
const views = new Map();
const view = byId("view");
const title = document.title;
const { shown } = store;
export const current = () => shown.view;

// Nobody can have read a question in less; a key or a click was meant for what was shown before.
const MILLISECONDS_TO_READ = 250;

/** From now on what is asked is to be read before it is answered. */
export function beginReading() {
  shown.inSightSince = Infinity;
  requestAnimationFrame((now) => {
    shown.inSightSince = now;
  });
}

/** Whether an event is about a question that its reviewer has not read yet. @param {Event} event */
export const isTooEarly = (event) =>
  current().asks !== undefined && event.timeStamp - shown.inSightSince < MILLISECONDS_TO_READ;

/**
 * @param {string} name
 * @param {MakeView} make
 * @param {string} [tab] Name of the view in the navigation that it belongs to.
 */
export const addView = (name, make, tab = name) => views.set(name, { make, tab });
/** @param {string[]} parts */
export const address = (...parts) => "#" + parts.map(encodeURIComponent).join("/");
/** @param {string} hash */
export const go = (hash) => {
  location.hash = hash;
};

export async function show({ navigated = false } = {}) {
  const [name, ...parts] = (location.hash.slice(1) || "overview").split("/").map(decode);
  const entry = views.get(name) ?? views.get("overview");
  if (!entry) return;
  const mine = ++shown.drawn;
  if (navigated) {
    shown.view = {};
    shown.isArriving = true;
  }
  markTab(entry.tab);
  const slow = setTimeout(() => {
    if (mine === shown.drawn) fill(view, quietLine(t("loading")));
  }, MILLISECONDS_UNTIL_LOADING_IS_SAID);
  try {
    if (known.state === null) await refresh();
    const seen = { version: state().version, model: state().model }; // what is drawn is at least as new
    const made = await entry.make(...parts);
    if (mine !== shown.drawn) return;
    shown.view = { ...made, seen };
    draw(name, made);
  } catch (error) {
    if (mine !== shown.drawn) return;
    shown.view = { isFailure: true };
    fill(view, failure(error));
  } finally {
    clearTimeout(slow);
  }
}

/** @param {unknown} error */
const failure = (error) =>
  el("section", { class: "card stage", role: "alert" }, [
    el("h2", t("failure.title")),
    el("p", problem(error)),
    row(button(t("tryAgain"), startOver, { class: "main" }), linkButton("#overview", t("failure.home"))),
  ]);

function startOver() {
  known.state = null;
  show();
}

/** @param {string} tab */
function markTab(tab) {
  for (const a of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("nav a"))) {
    if (a.hash === "#" + tab) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
}

function draw(/** @type {string} */ name, /** @type {View} */ made) {
  const scrolled = scrollY;
  const focused = document.activeElement?.id;
  fill(view, made.content);
  const isNewQuestion = made.asks !== shown.asked;
  if (isNewQuestion) beginReading();
  shown.asked = made.asks;
  document.title = made.title ? `${made.title} · ${title}` : title;
  if (shown.isArriving) {
    shown.isArriving = false;
    scrollTo(0, FROM_THE_TOP.includes(name) ? 0 : shown.places.get(location.hash) || 0);
    view.focus({ preventScroll: true });
    made.onShown?.();
  } else {
    scrollTo(0, scrolled);
    if (focused && document.activeElement?.id !== focused) byId(focused)?.focus({ preventScroll: true });
  }
  if (isNewQuestion && made.asks) view.querySelector(".big")?.focus({ preventScroll: true }); // and readers say it
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

addEventListener("scroll", () => shown.places.set(shown.address, scrollY), { passive: true });
export function arrived() {
  shown.address = location.hash;
}
