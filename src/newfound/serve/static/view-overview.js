// The first screen, for somebody who decides: how much is new, what is large or rising, what needs a person.
import { el, fill, quietLine, row } from "./dom.js";
import { percent } from "./format.js";
import { isDoubtful, showOnly } from "./view-intents.js";
import { linePlot } from "./plot.js";
import { knownCheck } from "./parts.js";
import { address } from "./router.js";
import { intents, known, loadDetails, state } from "./store.js";
import { t } from "./strings.js";

const MAX_INTENTS_SHOWN = 10;
const MAX_RISING_SHOWN = 4;

export async function overviewView() {
  const toDo = el("div");
  const draw = () => fill(toDo, whatNeedsAPerson());
  draw();
  loadDetails().then(
    () => toDo.isConnected && draw(),
    () => {}, // the next request says what is wrong
  );
  return {
    title: t("overview.title"),
    content: el("div", { class: "overview" }, [
      lead(),
      el("section", { "aria-label": t("overview.largest") }, [el("h3", t("overview.largest")), largest()]),
      el("div", { class: "aside" }, [toDo, rising(), quality()]),
    ]),
  };
}

const isNew = (/** @type {Intent} */ i) => i.status !== "known";

function lead() {
  const { logs, new: n, new_share, known_share, without_intent } = state().progress;
  const nKnown = intents().length - n;
  const facts = [
    t("overview.logs", { n: logs }),
    nKnown > 0 && t("overview.known", { n: nKnown, share: percent(known_share) }),
    without_intent > 0 && t("overview.noIntent", { share: percent(Math.max(0, 1 - new_share - known_share)) }),
  ];
  return el("section", { class: "opening", "aria-label": t("overview.title") }, [
    el("h2", n ? t("overview.headline", { n, share: percent(new_share) }) : t("overview.nothingNew")),
    el("p", `${facts.filter(Boolean).join(" ")}`),
    row(
      el("a", { class: "button main", href: "#queue" }, t("overview.review")),
      el("a", { class: "button", href: "#intents" }, t("overview.look")),
      el("a", { class: "button", href: "#export" }, t("overview.export")),
    ),
  ]);
}

function largest() {
  const some = intents()
    .filter(isNew)
    .sort((a, b) => b.share - a.share)
    .slice(0, MAX_INTENTS_SHOWN);
  if (!some.length) return quietLine(t("none"));
  const most = some[0].share || 1;
  const line = (/** @type {Intent} */ i) => {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${(100 * i.share) / most}%`;
    return el(
      "li",
      el("a", { href: address("intent", i.name) }, [
        el("span", { class: "label" }, i.name),
        bar,
        el("span", { class: "value" }, percent(i.share)),
      ]),
    );
  };
  return el("ol", { class: "largest" }, some.map(line));
}

function whatNeedsAPerson() {
  const open = intents().filter((i) => i.status === "new");
  const details = (/** @type {Intent} */ i) => known.details.get(i.name);
  /** @type {["new" | "same" | "two" | "doubtful", Intent[]][]} */
  const lines = [
    ["new", open],
    ["same", open.filter((i) => details(i)?.merge)],
    ["two", open.filter((i) => details(i)?.separation)],
    ["doubtful", open.filter(isDoubtful)],
  ];
  const line = (/** @type {(typeof lines)[0]} */ [shown, { length: n }]) =>
    n > 0 &&
    el(
      "li",
      el("a", { href: "#intents", onclick: () => showOnly(shown) }, [
        el("strong", String(n)),
        " ",
        t(`overview.${shown}`, { n }),
      ]),
    );
  const shown = lines.map(line).filter(Boolean);
  return el("section", { "aria-label": t("overview.needs") }, [
    el("h3", t("overview.needs")),
    shown.length ? el("ul", { class: "to-do" }, shown) : quietLine(t("overview.allDecided")),
  ]);
}

function rising() {
  const some = intents().filter((i) => i.volume?.trend === "rising" || i.volume?.trend === "new");
  if (!intents().some((i) => i.volume?.trend)) return null;
  const line = (/** @type {Intent} */ i) =>
    el("li", [
      el("a", { class: "name", href: address("intent", i.name) }, i.name),
      i.volume && linePlot(i.volume.counts, t("volume.since", { since: i.volume.first_week })),
    ]);
  const largestFirst = some.sort((a, b) => b.share - a.share).slice(0, MAX_RISING_SHOWN);
  return el("section", { "aria-label": t("overview.rising") }, [
    el("h3", t("overview.rising")),
    some.length ? el("ul", { class: "rising" }, largestFirst.map(line)) : quietLine(t("overview.steady")),
  ]);
}

function quality() {
  return el("section", { "aria-label": t("overview.quality") }, [
    el("h3", t("overview.quality")),
    el("div", { class: "figure" }, percent(1 - state().progress.expected_error)),
    quietLine(t("overview.estimate"), " ", el("a", { href: "#audit" }, t("overview.audit"))),
    knownCheck(state().progress.known_check),
  ]);
}
