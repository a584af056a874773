// The map of the logs: names, legend, hover, zoom, and a lasso to move utterances or make an intent of them.
import { api } from "./api.js";
import { attempt, isBusy, moveToNone } from "./decisions.js";
import { askAndMake, askAndMove, isOpen } from "./dialogs.js";
import { button, el, fill, kbd, quiet, quietLine } from "./dom.js";
import { count, percent } from "./format.js";
import { CERTAINTY, DECISION, GREY, certaintyColour } from "./palette.js";
import { named, selectControl, spot, utteranceList } from "./parts.js";
import { scatter } from "./scatter.js";
import { colourOf, limits } from "./store.js";
import { rich, t } from "./strings.js";

const camera = { scale: 1, x: 0, y: 0 }; // it is kept when the view changes
const chosen = { by: /** @type {"intent" | "certainty" | "decision"} */ ("intent") };
const MAX_SHOWN = 200;
const MILLISECONDS_BETWEEN_LAYOUTS = 1500;
const MILLISECONDS_BEFORE_READING = 60; // the text of a point that is pointed at
const ZOOM_STEP = 1.5;
/** @type {Map<number, string>} */
const texts = new Map(); // of utterances, by their numbers

/**
 * @param {number[]} ids
 * @returns {Promise<Utterance[]>}
 */
const fetchUtterances = async (ids) =>
  (await api("/v1/review/utterances?" + ids.map((id) => "id=" + id).join("&"))).utterances;

/** @param {number[]} ids */
async function fetchTexts(ids) {
  const missing = ids.filter((id) => !texts.has(id));
  const most = limits().max_utterances_to_read;
  for (let k = 0; k < missing.length; k += most) {
    for (const u of await fetchUtterances(missing.slice(k, k + most))) texts.set(u.id, u.text);
  }
  return ids.map((id) => texts.get(id) ?? "");
}

/** @param {string} [name] An intent to show alone. */
export async function mapView(name) {
  /** @type {LogMap} */
  let data = await api("/v1/review/map");
  const label = { role: "application", "aria-label": t("map.label"), "aria-describedby": "map-help" };
  const canvas = el("canvas", { id: "map", tabindex: 0, ...label });
  const hover = el("p", { class: "hover", "aria-live": "polite" });
  const list = el("section", { "aria-label": t("map.selection") });
  const legend = el("div");
  const hint = el("p", { class: "quiet", hidden: true }, t("map.holdCtrl"));
  const note = el("p", { class: "quiet", hidden: data.is_final }, t("map.simpleLayout"));
  /** @type {number | null} */
  let lit = name && data.names.includes(name) ? data.names.indexOf(name) : null;

  const kind = (/** @type {MapPoint} */ p) => (p[2] < 0 ? "none" : p[5] ? "checked" : data.status[p[2]]);
  const colours = {
    intent: (/** @type {MapPoint} */ p) => (p[2] < 0 ? GREY : colourOf(data.names[p[2]])),
    certainty: (/** @type {MapPoint} */ p) => certaintyColour(p[4]),
    decision: (/** @type {MapPoint} */ p) => DECISION[kind(p)],
  };
  const map = scatter(canvas, {
    camera,
    colourOf: (p) => colours[chosen.by](/** @type {MapPoint} */ (p)),
    nameOf: (intent) => data.names[intent] ?? null,
    isQuiet: (intent) => data.status[intent] === "known",
    onHover: (p) => showHovered(/** @type {MapPoint | null} */ (p)),
    onSelect: (points) => showSelected(/** @type {MapPoint[]} */ (points)),
    onDraw: (names, scale) => {
      const shown = t("map.shown", { zoom: Math.round(100 * scale), names: names.join(", ") });
      if (canvas.textContent !== shown) canvas.textContent = shown; // what a screen reader reads of a canvas
    },
    onHint: () => {
      hint.hidden = false;
    },
  });

  let hovering = 0;
  /** @param {MapPoint | null} p */
  function showHovered(p) {
    const mine = ++hovering;
    if (!p) {
      fill(hover, quiet(t("map.pointAt")));
      return;
    }
    const [, , intent, id, probability, isChecked] = p;
    const show = (/** @type {string} */ text) => {
      const fact = isChecked ? t("checked") : percent(probability);
      fill(hover, text, " ", named(intent < 0 ? null : data.names[intent]), quiet(` ${fact}`));
    };
    show(texts.get(id) || "…");
    if (texts.has(id)) return;
    const read = async () => {
      if (mine !== hovering) return;
      const [text] = await fetchTexts([id]);
      if (mine === hovering) show(text);
    };
    setTimeout(() => attempt(read), MILLISECONDS_BEFORE_READING);
  }

  let selecting = 0;
  /** @param {MapPoint[]} points */
  async function showSelected(points) {
    const mine = ++selecting;
    if (!points.length) {
      fill(list, quiet(t("map.clickOrDraw")));
      return;
    }
    await attempt(async () => {
      const ids = points.map((p) => p[3]);
      const shown = await fetchUtterances(ids.slice(0, MAX_SHOWN));
      if (mine !== selecting) return; // something else was selected meanwhile
      const clear = () => map.select([]);
      fill(
        list,
        selectionBar(ids, clear),
        ids.length > MAX_SHOWN && quietLine(t("map.firstListed", { shown: MAX_SHOWN, total: ids.length })),
        utteranceList(shown, { onMove: (some) => askAndMove(some, { after: clear }) }),
      );
    });
  }

  /** @param {number | null} k Number of an intent, or null for all. */
  function lightUp(k) {
    lit = k;
    map.lightUp(k === null ? null : (p) => p[2] === k);
    map.select(k === null ? [] : data.points.filter((p) => p[2] === k));
    drawLegend();
  }
  function drawLegend() {
    const legends = { intent: () => intentLegend(data, lit, lightUp), certainty: certaintyLegend, decision };
    fill(legend, legends[chosen.by]());
  }
  const decision = () => decisionLegend(data.points.map(kind));
  function redraw() {
    map.setPoints(data.points);
    if (lit !== null) map.lightUp((p) => p[2] === lit);
    drawLegend();
  }
  // Somebody decided, or the final layout is there.
  async function reload() {
    const litName = lit === null ? null : data.names[lit];
    data = await api("/v1/review/map");
    lit = litName === null || !data.names.includes(litName) ? null : data.names.indexOf(litName);
    redraw();
    note.hidden = data.is_final;
  }
  function awaitLayout() {
    setTimeout(async () => {
      if (!canvas.isConnected) return;
      if (!document.hidden && !isBusy() && !isOpen()) await reload().catch(() => {});
      if (!data.is_final) awaitLayout();
    }, MILLISECONDS_BETWEEN_LAYOUTS);
  }

  const options = { intent: t("map.byIntent"), certainty: t("map.byCertainty"), decision: t("map.byDecision") };
  const by = selectControl("colour-by", t("map.colourBy"), options, chosen.by, (value) => {
    chosen.by = value;
    drawLegend();
    map.redraw();
  });
  const drawing = el("input", { type: "checkbox", id: "lasso" });
  drawing.addEventListener("change", () => map.setDrawing(drawing.checked));
  showHovered(null);
  showSelected([]);
  redraw();
  if (lit !== null) queueMicrotask(() => lightUp(lit));
  if (!data.is_final) awaitLayout();
  return {
    title: t("map.title"),
    onNews: async () => {
      if (canvas.isConnected) await reload();
      return false;
    },
    content: [
      el("h2", t("map.heading")),
      el("div", { class: "row tools" }, [
        by,
        el("label", { class: "control" }, [drawing, " ", t("map.draw")]),
        button("+", () => map.zoom(ZOOM_STEP), { "aria-label": t("map.zoomIn") }),
        button("−", () => map.zoom(1 / ZOOM_STEP), { "aria-label": t("map.zoomOut") }),
        button(t("map.reset"), () => map.reset()),
        quiet(t("utterances", { n: data.points.length })),
      ]),
      [note, hover, hint],
      el("div", { class: "map" }, [
        el("div", [canvas, el("p", { class: "quiet help", id: "map-help" }, help())]),
        el("div", { class: "side" }, [list, el("details", { open: true }, [el("summary", t("map.legend")), legend])]),
      ]),
    ],
  };
}

const help = () => rich("map.help", { plus: kbd("+"), minus: kbd("−"), enter: kbd(t("key.enter")), i: kbd("i") });

/**
 * What can be done with the selected utterances.
 * @param {number[]} ids
 * @param {() => void} clear
 */
function selectionBar(ids, clear) {
  const most = limits().max_utterances_to_move;
  const withTexts = (/** @type {(texts: string[], options: { after: () => void }) => unknown} */ act) => () =>
    attempt(async () => act(await fetchTexts(ids), { after: clear }));
  const actions = [
    button(t("move…"), withTexts(askAndMove)),
    button(t("newIntent…"), withTexts(askAndMake)),
    button(t("noIntentButton"), withTexts(moveToNone)),
  ];
  return el("div", { class: "selection" }, [
    el("strong", t("selected", { count: ids.length })),
    ids.length <= most ? actions : quiet(t("map.tooMany", { most })),
    button(t("clear"), clear, { class: "plain" }),
  ]);
}

/**
 * @param {string} colour
 * @param {string} label
 * @param {string} [extra]
 */
const legendEntry = (colour, label, extra = "") => [spot(colour), " ", label, " ", quiet(extra)];
/** @param {Child[]} entries */
const legendList = (entries) =>
  el(
    "ul",
    { class: "plain legend" },
    entries.map((entry) => entry && el("li", entry)),
  );

function certaintyLegend() {
  const label = (/** @type {number} */ k) => {
    const [from, to] = [CERTAINTY[k - 1]?.[0], CERTAINTY[k][0]].map((limit) => Math.round(100 * (limit ?? 0)));
    if (k === 0) return t("map.below", { to });
    return k < CERTAINTY.length - 1 ? t("map.between", { from, to }) : t("map.andMore", { from });
  };
  return legendList(CERTAINTY.map(([, colour], k) => legendEntry(colour, label(k))));
}

/** @param {(keyof typeof DECISION)[]} kinds Of each point. */
function decisionLegend(kinds) {
  const entries = /** @type {[keyof typeof DECISION, string][]} */ (Object.entries(DECISION));
  const size = (/** @type {string} */ kind) => count(kinds.filter((one) => one === kind).length);
  return legendList(entries.map(([kind, colour]) => legendEntry(colour, t(`map.kind.${kind}`), size(kind))));
}

/**
 * @param {LogMap} data
 * @param {number | null} lit
 * @param {(k: number | null) => void} lightUp
 */
function intentLegend({ names, points, status }, lit, lightUp) {
  const sizes = new Map();
  for (const p of points) sizes.set(p[2], (sizes.get(p[2]) || 0) + 1);
  const isKnown = (/** @type {number} */ k) => Number(status[k] === "known");
  const order = [...names.keys()]
    .filter((k) => sizes.has(k))
    .sort((a, b) => isKnown(a) - isKnown(b) || sizes.get(b) - sizes.get(a));
  const entry = (/** @type {number} */ k) =>
    button(legendEntry(colourOf(names[k]), names[k], count(sizes.get(k))), () => lightUp(lit === k ? null : k), {
      class: "plain entry",
      "aria-pressed": String(lit === k),
    });
  const rest = sizes.has(-1) && legendEntry(GREY, t("noIntent"), count(sizes.get(-1)));
  return [
    lit !== null && button(t("map.showAll"), () => lightUp(null), { class: "small" }),
    legendList([...order.map(entry), rest]),
  ];
}
