// The first screen, for somebody who decides: how much is new, what it is about, what changes, what needs a person.
import { el, fill, fold, linkButton, quiet, quietLine, row, section } from "./dom.js";
import { count, percent } from "./format.js";
import { SHOWS, listAddress } from "./view-intents.js";
import { linePlot } from "./plot.js";
import { knownCheck } from "./parts.js";
import { address } from "./router.js";
import { intents, known, loadDetails, state } from "./review.js";
import { breakable, t } from "./strings.js";

const MAX_INTENTS_IN_A_LIST = 30; // more are put into groups
const SHOWN_OF_A_GROUP = 3;
const KINDS_OF_WORK = /** @type {const} */ (["new", "same", "two", "doubtful"]);

export async function overviewView() {
  const [parts, toDo] = [el("div"), el("div")];
  const isNew = (/** @type {Intent} */ i) => i.status !== "known";
  const draw = () => {
    fill(toDo, whatNeedsAPerson());
    fill(parts, [
      newIntents(intents().filter(isNew).sort(largestFirst)),
      knownIntents(
        intents()
          .filter((i) => !isNew(i))
          .sort(largestFirst),
      ),
    ]);
  };
  draw();
  loadDetails().then(
    () => parts.isConnected && draw(),
    () => {}, // the next request says what is wrong
  );
  return { title: t("overview.title"), content: [lead(toDo), parts] };
}

const largestFirst = (/** @type {Intent} */ a, /** @type {Intent} */ b) => b.share - a.share;

/** @param {HTMLElement} toDo */
function lead(toDo) {
  const { logs, new: n, new_share, known_share, without_intent, expected_error, known_check } = state().progress;
  const nKnown = intents().length - n;
  const isRound = intents().some((i) => i.status === "known" && i.accepted);
  const facts = [
    t("overview.logs", { n: logs }),
    nKnown > 0 && t("overview.known", { n: nKnown, share: percent(known_share) }),
    without_intent > 0 && t("overview.noIntent", { n: without_intent }),
  ];
  const headline = isRound ? "overview.headlineOfRound" : "overview.headline";
  return el("section", { class: "opening", "aria-label": t("overview.title") }, [
    el("h2", n ? t(headline, { n, share: percent(new_share) }) : t("overview.nothingNew")),
    el("p", facts.filter(Boolean).join(" ")),
    el("div", { class: "columns" }, [
      section(t("overview.quality"), [
        quietLine(
          t("overview.estimate", { n: Math.round(expected_error * logs) }),
          " ",
          el("a", { href: "#audit" }, t("overview.audit")),
        ),
        knownCheck(known_check),
      ]),
      toDo,
    ]),
    row(
      linkButton("#queue", t("overview.review"), { class: "button main" }),
      linkButton("#intents", t("queue.toIntents")),
      linkButton("/report", t("overview.report"), { download: true }),
      linkButton("#export", t("export.title")),
    ),
  ]);
}

/** @param {Intent[]} some */
function newIntents(some) {
  const byWeek = some.some((i) => i.volume) ? t("overview.byWeek") : "";
  if (some.length <= MAX_INTENTS_IN_A_LIST || !some.some((i) => i.path))
    return section(t("overview.largest") + byWeek, list(some));
  const groupOf = (/** @type {Intent} */ i) => i.path?.split("/")[0] ?? t("intents.noGroup");
  const groups = [...new Set(some.map(groupOf))]
    .map((name) => ({ name, own: some.filter((i) => groupOf(i) === name) }))
    .map((group) => ({ ...group, size: group.own.reduce((sum, i) => sum + i.size, 0) }))
    .sort((a, b) => b.size - a.size)
    .map(({ name, own, size }) => {
      const facts = quiet(` ${t("intents", { n: own.length })}, ${t("utterances", { n: size })}`);
      const [first, rest] = [own.slice(0, SHOWN_OF_A_GROUP), own.slice(SHOWN_OF_A_GROUP)];
      const more = rest.length > 0 && fold(t("overview.more", { n: rest.length }), list(rest), false);
      return [el("h4", [breakable(name), facts]), list(first), more];
    });
  return section(t("overview.groups") + byWeek, groups);
}

/** @param {Intent[]} some */
function list(some) {
  if (!some.length) return quietLine(t("none"));
  const [first, rest] = [some.slice(0, MAX_INTENTS_IN_A_LIST), some.slice(MAX_INTENTS_IN_A_LIST)];
  return [
    el("ol", { class: "largest" }, first.map(line)),
    rest.length > 0 &&
      el("p", el("a", { href: listAddress({ sort: "size" }) }, t("overview.more", { n: rest.length }))),
  ];
}

/** An intent in a line: what people say, how often, and how that changed. @param {Intent} i */
function line({ name, size, share, volume }) {
  const [example] = known.details.get(name)?.examples ?? [];
  const change = volume?.change ?? null;
  const sign = (change ?? 0) > 0 ? "+" : "";
  return el("li", [
    el("a", { href: address("intent", name), class: "label" }, breakable(name)),
    el("span", { class: "example", dir: "auto" }, example && t("quoted", { text: example })),
    el("span", { class: "value", title: t("overview.share", { share: percent(share) }) }, count(size)),
    el("span", { class: "change", title: t("overview.change") }, change !== null && `${sign}${count(change)}`),
    volume && linePlot(volume.counts, t("volume.since", { since: volume.first_week }), volume.partial),
  ]);
}

/** @param {Intent[]} some */
function knownIntents(some) {
  const share = percent(state().progress.known_share);
  return some.length > 0 && fold(t("overview.knownBelow", { n: some.length, share }), list(some), false);
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
