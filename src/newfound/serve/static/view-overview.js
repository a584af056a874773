// The first screen, for somebody who decides: how much is new, what is large or rising, what needs a person.
import { el, fill, linkButton, quietLine, row, section } from "./dom.js";
import { percent } from "./format.js";
import { SHOWS, listAddress } from "./view-intents.js";
import { linePlot } from "./plot.js";
import { bar, intentLink, knownCheck } from "./parts.js";
import { address } from "./router.js";
import { intents, loadDetails, state } from "./store.js";
import { t } from "./strings.js";

const MAX_INTENTS_SHOWN = 10;
const MAX_RISING_SHOWN = 4;
const KINDS_OF_WORK = /** @type {const} */ (["new", "same", "two", "doubtful"]);

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
      section(t("overview.largest"), largest()),
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
      linkButton("#queue", t("overview.review"), { class: "button main" }),
      linkButton("#intents", t("overview.look")),
      linkButton("#export", t("export.title")),
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
    const [label, value] = [el("span", { class: "label" }, i.name), el("span", { class: "value" }, percent(i.share))];
    return el("li", el("a", { href: address("intent", i.name) }, [label, bar("bar", i.share / most), value]));
  };
  return el("ol", { class: "largest" }, some.map(line));
}

function whatNeedsAPerson() {
  const shown = KINDS_OF_WORK.map((kind) => {
    const n = intents().filter(SHOWS[kind]).length;
    const words = [el("strong", String(n)), " ", t(`overview.${kind}`, { n })];
    return n > 0 && el("li", el("a", { href: listAddress({ show: kind }) }, words));
  }).filter(Boolean);
  const content = shown.length ? el("ul", { class: "to-do" }, shown) : quietLine(t("overview.allDecided"));
  return section(t("overview.needs"), content);
}

function rising() {
  const some = intents().filter((i) => i.volume?.trend === "rising" || i.volume?.trend === "new");
  if (!intents().some((i) => i.volume?.trend)) return null;
  const line = (/** @type {Intent} */ i) =>
    el("li", [
      intentLink(i.name),
      i.volume && linePlot(i.volume.counts, t("volume.since", { since: i.volume.first_week })),
    ]);
  const largestFirst = some.sort((a, b) => b.share - a.share).slice(0, MAX_RISING_SHOWN);
  const content = some.length ? el("ul", { class: "rising" }, largestFirst.map(line)) : quietLine(t("overview.steady"));
  return section(t("overview.rising"), content);
}

const quality = () =>
  section(t("overview.quality"), [
    el("div", { class: "figure" }, percent(1 - state().progress.expected_error)),
    quietLine(t("overview.estimate"), " ", el("a", { href: "#audit" }, t("overview.audit"))),
    knownCheck(state().progress.known_check),
  ]);
