// Pairs of intents that are mixed up, and two intents side by side with one key to move an utterance to the other.
import { get } from "./api.js";
import { decide, merger, move, undo } from "./decisions.js";
import { button, el, kbd, linkButton, quiet, quietLine, row, table } from "./dom.js";
import { dot, intentLink, named, sureness, tag } from "./parts.js";
import { address, show } from "./router.js";
import { intentNamed } from "./review.js";
import { store } from "./store.js";
import { rich, t } from "./strings.js";

/** @type {Column[]} */
const COLUMNS = [[t("intent")], [t("intent")], [t("pairs.expected"), "number"], [t("pairs.look"), "action"]];

export async function pairsView() {
  const pairs = await get("/v1/review/pairs");
  const rows = pairs.map(({ first, second, expected }) => [
    named(first),
    named(second),
    t("wrong.about", { n: Math.round(expected) }),
    linkButton(address("pair", first, second), t("sideBySide")),
  ]);
  return {
    title: t("pairs.title"),
    content: [
      el("h2", t("pairs.title")),
      quietLine(t("pairs.help")),
      pairs.length ? table(COLUMNS, rows, { class: "pairs" }) : el("p", t("pairs.none")),
    ],
  };
}

const cursor = store.pair;

export async function pairView(/** @type {string} */ first, /** @type {string} */ second) {
  const answer = await get("/v1/review/pair", { first, second });
  const sides = [answer.first, answer.second];
  const names = [first, second];
  if (cursor.names !== String(names)) Object.assign(cursor, { names: String(names), side: 0, at: 0 });
  if (!sides[cursor.side].length && sides[1 - cursor.side].length) cursor.side = 1 - cursor.side;

  const put = (/** @type {PairedUtterance} */ u, /** @type {string} */ to) =>
    decide([move({ texts: [u.text] }, to)], t("said.isIntent", { text: u.text, name: to }));
  /** @type {(side: number) => () => unknown} */
  const putMarked = (turned) => () => {
    const marked = sides[cursor.side][cursor.at];
    return marked && put(marked, names[turned ? 1 - cursor.side : cursor.side]);
  };
  const items = sides.map((utterances, side) =>
    utterances.map((u, k) => {
      const other = names[1 - side];
      const label = t("pairs.moveTo", { text: u.text, name: other });
      const facts = rich("pairs.facts", { here: sureness(u.probability), there: sureness(u.other) });
      return el("li", { onclick: () => mark(side, k) }, [
        el("span", { class: "text", dir: "auto" }, u.text),
        el("span", { class: "facts quiet" }, facts),
        button(
          [
            el("span", { class: "wide" }, side ? "←" : "→"),
            el("span", { class: "narrow" }, t("pairs.moveToName", { name: other })),
          ],
          () => put(u, other),
          { "aria-label": label, class: "small" },
        ),
      ]);
    }),
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
      el("p", { class: "quiet keys" }, rich("pairs.keys", keyNames())),
      row(mergeButton(first, second), mergeButton(second, first)),
      el("div", { class: "columns" }, [column(0), column(1)]),
    ],
  };
}

const keyNames = () => ({
  ...{ m: kbd("m"), a: kbd("a"), u: kbd("u") },
  arrows: ["↓", "↑", "←", "→"].map((key) => [kbd(key), " "]),
});

function mergeButton(/** @type {string} */ name, /** @type {string} */ into) {
  if ((intentNamed(name)?.status ?? "known") === "known") return null;
  return button(t("mergeNamed", { name, into }), () => decide(...merger(name, into)), { class: "wrap" });
}
