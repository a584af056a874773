// Pairs of intents that are mixed up, and two intents side by side with one key to move an utterance to the other.
import { api } from "./api.js";
import { decide, move, undo } from "./decisions.js";
import { button, el, heading, hiddenHeading, kbd, quiet, quietLine, row, table } from "./dom.js";
import { percent } from "./format.js";
import { dot, intentLink, named, tag } from "./parts.js";
import { address, show } from "./router.js";
import { intentNamed } from "./store.js";
import { rich, t } from "./strings.js";

/** @typedef {Utterance & { other: number }} PairedUtterance */
/** @typedef {{ first: string, second: string, expected: number }} Pair */

export async function pairsView() {
  /** @type {{ pairs: Pair[] }} */
  const { pairs } = await api("/v1/review/pairs");
  const line = (/** @type {Pair} */ p) =>
    el("tr", [
      el("td", named(p.first)),
      el("td", named(p.second)),
      el("td", { class: "number" }, String(p.expected)),
      el(
        "td",
        { class: "action" },
        el("a", { class: "button", href: address("pair", p.first, p.second) }, t("sideBySide")),
      ),
    ]);
  const headings = [
    heading(t("intent")),
    heading(t("intent")),
    heading(t("pairs.expected"), { class: "number" }),
    hiddenHeading(t("pairs.look")),
  ];
  return {
    title: t("pairs.title"),
    content: [
      el("h2", t("pairs.title")),
      quietLine(t("pairs.help")),
      pairs.length ? table({}, headings, pairs.map(line)) : el("p", t("pairs.none")),
    ],
  };
}

const cursor = { pair: "", side: 0, at: 0 };

/**
 * @param {string} first
 * @param {string} second
 */
export async function pairView(first, second) {
  const query = new URLSearchParams({ first, second });
  /** @type {{ first: PairedUtterance[], second: PairedUtterance[] }} */
  const answer = await api(`/v1/review/pair?${query}`);
  const sides = [answer.first, answer.second];
  const names = [first, second];
  const pair = `${first}/${second}`;
  if (cursor.pair !== pair) Object.assign(cursor, { pair, side: 0, at: 0 });
  if (!sides[cursor.side].length && sides[1 - cursor.side].length) cursor.side = 1 - cursor.side;

  const put = (/** @type {PairedUtterance} */ u, /** @type {string} */ to) =>
    decide([move([u.text], to)], t("said.isIntent", { text: u.text, name: to }));
  /** @type {(side: number) => () => unknown} */
  const putMarked = (turned) => () => {
    const marked = sides[cursor.side][cursor.at];
    return marked && put(marked, names[turned ? 1 - cursor.side : cursor.side]);
  };
  const items = sides.map((utterances, side) =>
    utterances.map((u, k) => pairedItem(u, side, names[1 - side], () => mark(side, k), put)),
  );
  function mark(side = cursor.side, at = cursor.at) {
    if (sides[side].length) cursor.side = side;
    cursor.at = Math.max(0, Math.min(at, sides[cursor.side].length - 1));
    items.forEach((some, s) =>
      some.forEach((node, k) => node.classList.toggle("marked", s === cursor.side && k === cursor.at)),
    );
    items[cursor.side][cursor.at]?.scrollIntoView({ block: "nearest" });
  }
  const column = (/** @type {number} */ side) => {
    const intent = intentNamed(names[side]);
    return el("section", { class: "card side-by-side", "aria-label": names[side] }, [
      el("h3", [
        [dot(names[side]), " ", intentLink(names[side]), " "],
        intent && [tag(intent.status), " ", quiet(t("utterances", { n: intent.size }))],
      ]),
      items[side].length ? el("ul", { class: "plain utterances" }, items[side]) : quietLine(t("pairs.allChecked")),
    ]);
  };
  queueMicrotask(mark);
  return {
    title: t("pairs.twoNames", { first, second }),
    keys: {
      m: putMarked(1),
      x: putMarked(1),
      a: putMarked(0),
      u: () => undo(),
      ArrowDown: () => mark(cursor.side, cursor.at + 1),
      ArrowUp: () => mark(cursor.side, cursor.at - 1),
      ArrowLeft: () => mark(0),
      ArrowRight: () => mark(1),
    },
    onNews: async () => {
      await show();
      return false;
    },
    onShown: mark,
    content: [
      el("p", el("a", { href: "#pairs" }, t("pairs.all"))),
      el("h2", t("sideBySide")),
      el(
        "p",
        { class: "quiet keys" },
        rich("pairs.keys", { m: kbd("m"), a: kbd("a"), u: kbd("u"), arrows: arrowKeys() }),
      ),
      row(mergeButton(first, second), mergeButton(second, first)),
      el("div", { class: "columns" }, [column(0), column(1)]),
    ],
  };
}

const arrowKeys = () => [kbd("↓"), " ", kbd("↑"), " ", kbd("←"), " ", kbd("→")];

/**
 * @param {PairedUtterance} u
 * @param {number} side
 * @param {string} other
 * @param {() => void} onClick
 * @param {(u: PairedUtterance, to: string) => unknown} put
 */
function pairedItem(u, side, other, onClick, put) {
  const label = t("pairs.moveTo", { text: u.text, name: other });
  const facts = t("pairs.facts", { here: percent(u.probability), there: percent(u.other) });
  return el("li", { onclick: onClick }, [
    el("span", { class: "text" }, u.text),
    el("span", { class: "facts quiet" }, facts),
    button(side ? "←" : "→", () => put(u, other), { "aria-label": label, class: "small" }),
  ]);
}

/**
 * @param {string} name
 * @param {string} into
 */
function mergeButton(name, into) {
  if ((intentNamed(name)?.status ?? "known") === "known") return null;
  const merge = () =>
    decide([{ merge: { intents: [name], into } }], t("said.mergedInto", { name: into }), address("intent", into));
  return button(t("mergeNamed", { name, into }), merge, { class: "wrap" });
}
