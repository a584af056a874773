// The review page: its views, its keys, and what is news. The other files here hold the views and what they share.
import { BACK, get, problem, rememberPlace, request } from "./api.js";
import { attempt, isBusy, isSending, undoHere } from "./decisions.js";
import { isOpen } from "./dialogs.js";
import { button, byId, fill } from "./dom.js";
import "./jump.js";
import { hush, leaveView, notice, say } from "./messages.js";
import { term } from "./parts.js";
import { addView, arrived, beginReading, current, isTooEarly, show } from "./router.js";
import { hasDrafts, known, limits, mayBe, refresh } from "./review.js";
import { store } from "./store.js";
import { fillTexts, t } from "./strings.js";
import { auditView } from "./view-audit.js";
import { exportView } from "./view-export.js";
import { historyView } from "./view-history.js";
import { intentView } from "./view-intent.js";
import { intentsView } from "./view-intents.js";
import { mapView } from "./view-map.js";
import { noneView } from "./view-none.js";
import { overviewView } from "./view-overview.js";
import { pairView, pairsView } from "./view-pairs.js";
import { queueView } from "./view-queue.js";
import { searchView } from "./view-search.js";
import { acceptDroppedLogs, hearOfJob, trainView } from "./view-train.js";
import { tryView } from "./view-try.js";

addView("overview", overviewView);
addView("intents", intentsView);
addView("intent", intentView, "intents");
addView("none", noneView, "intents");
addView("search", searchView, "intents");
addView("pairs", pairsView);
addView("pair", pairView, "pairs");
addView("queue", queueView);
addView("map", mapView);
addView("try", tryView);
addView("audit", auditView);
addView("history", historyView);
addView("train", trainView);
addView("export", exportView);

// ---------------------------------------------------------------- news: what others decide appears by itself

async function hearNews() {
  if (document.hidden || isBusy() || isSending()) return;
  if (!known.state) return current().isFailure && (await show());
  let news;
  try {
    news = await get("/v1/review/news", { since: known.state.version });
  } catch (error) {
    store.server.failures += 1;
    if (/** @type {any} */ (error).status === 401 || store.server.failures > 1) notice(problem(error));
    return;
  }
  if (store.server.failures) notice();
  store.server.failures = 0;
  hearOfJob(news.job);
  if (isBusy() || isSending()) return;
  if (news.model !== known.state.model) {
    if (!isOpen() && !hasDrafts()) location.reload();
    else
      notice(
        t("news.otherModel", { name: news.name }),
        " ",
        button(t("news.load"), () => location.reload()),
      );
    return;
  }
  if (news.version === known.state.version) return;
  await refresh();
  const others = news.events.filter((e) => !mayBe(e.author));
  const last = others.at(-1);
  if (last) {
    known.othersDecidedAt = performance.now();
    say([`${last.words}.`, others.length > 1 && ` ${t("news.changes", { n: others.length })}`]);
  }
  await followNews();
}

async function followNews() {
  store.sending.isBehind = isOpen() || isBusy();
  if (store.sending.isBehind) return;
  const wants = (await current().onNews?.()) ?? true;
  if (wants && !isOpen() && !isBusy()) await show();
}
byId("ask").addEventListener("close", () => {
  beginReading(); // what was typed for the dialog answers no question
  if (store.sending.isBehind) followNews();
});
addEventListener(BACK, () => {
  notice();
  if (byId("said").className === "bad") hush();
  if (current().isFailure) show();
});

async function keepListening() {
  try {
    await hearNews();
  } catch {
    // the next round tells
  }
  listenLater();
}
const listenLater = () => setTimeout(keepListening, 1000 * (known.state ? limits().seconds_between_news : 1));

// ---------------------------------------------------------------- keys and navigation

byId("undo").addEventListener("click", undoHere);
byId("logout")?.addEventListener("click", () =>
  attempt(async () => {
    await request("/logout", {});
    location.assign("/login");
  }),
);
const keysOn = byId("keys-on");
keysOn.checked = localStorage.getItem("newfound-keys") !== "off";
keysOn.addEventListener("change", () => localStorage.setItem("newfound-keys", keysOn.checked ? "on" : "off"));
const openKeys = () => byId("keys").showModal();
byId("open-keys").addEventListener("click", openKeys);
document.addEventListener("keydown", (event) => {
  if (event.repeat && !event.key.startsWith("Arrow")) return;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target instanceof Element && event.target.matches("input, select, textarea")) return;
  if (event.key === "Enter" && event.target instanceof Element && event.target.matches("a, button, summary")) return;
  if (event.key === "?") return openKeys();
  if (!keysOn.checked) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("search").focus();
    return;
  }
  const act = current().keys?.[event.key];
  if (!act) return;
  event.preventDefault();
  if (!isBusy() && (event.key === "u" || !isTooEarly(event))) act();
});
byId("view").addEventListener(
  "click",
  (/** @type {MouseEvent} */ event) => {
    const isAnswer = event.target instanceof Element && event.target.closest(".stage button:not(.undo)");
    if (isAnswer && isTooEarly(event)) event.stopImmediatePropagation();
  },
  true,
);
const header = /** @type {HTMLElement} */ (document.querySelector("header"));
/** @param {boolean} isShown */
function showMenu(isShown) {
  header.classList.toggle("open", isShown);
  byId("menu").setAttribute("aria-expanded", String(isShown));
}
byId("menu").addEventListener("click", () => showMenu(!header.classList.contains("open")));
addEventListener("hashchange", () => {
  showMenu(false);
  leaveView();
  arrived();
  if (!location.hash.startsWith("#search/")) byId("search").value = "";
  show({ navigated: true });
});

fillTexts();
const place = sessionStorage.getItem("newfound-place");
sessionStorage.removeItem("newfound-place");
if (place && !location.hash) history.replaceState(null, "", place);
for (const a of document.querySelectorAll("a[href='/login']")) a.addEventListener("click", rememberPlace);
acceptDroppedLogs();
fill(byId("term-error"), term("wrong"));
show({ navigated: true }).then(listenLater);
