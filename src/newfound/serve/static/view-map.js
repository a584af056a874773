// The map of the logs: names, groups, legend, the text at the pointer, and a lasso to move utterances.
import { get } from "./api.js";
import { attempt, haveSeenLatest, isBusy } from "./decisions.js";
import { isOpen } from "./dialogs.js";
import { bullets, button, checkbox, el, fill, fold, kbd, lastOf, quiet, quietLine } from "./dom.js";
import { count, percent } from "./format.js";
import { CERTAINTY, DECISION, GREY, certaintyColour } from "./palette.js";
import { selectControl, spot } from "./parts.js";
import { groupRegions } from "./regions.js";
import { scatter } from "./scatter.js";
import { colourOf, intents, limits, state } from "./store.js";
import { rich, t } from "./strings.js";
import { tally, utteranceList } from "./utterances.js";

// These are kept when the view changes.
const camera = { scale: 1, x: 0, y: 0 };
const chosen = { by: /** @type {"intent" | "certainty" | "decision"} */ ("intent"), knownNames: false };
const SHOWN_AT_ONCE = 100; // selected utterances
const MILLISECONDS_BETWEEN_LAYOUTS = 1500; // that are asked for; each time twice as long
const MILLISECONDS_BEFORE_READING = 60; // the text of a point that is pointed at
const MILLISECONDS_BEFORE_DIMMING = 90; // the other intents, so that a pointer on its way changes nothing
const TEXTS_READ_TOGETHER = 40; // around the pointer
const PIXELS_TO_CARD = 14;
const ZOOM_STEP = 1.5;
const LARGEST_POSITION = 65535;
/** @type {Map<number, string>} */
const texts = new Map(); // of utterances, by their numbers
/** @type {(() => void) | null} */
let disposeLast = null; // a browser has few contexts of WebGL

/** @param {string} text In base64. */
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
/** @param {number[]} ids */
const fetchUtterances = (ids) => get("/v1/review/utterances", { id: ids });

async function fetchMap() {
  const { version, names, status, is_final: isFinal, ...columns } = await get("/v1/review/map");
  const positions = new Uint16Array(bytes(columns.positions));
  const ids = new Int32Array(bytes(columns.ids));
  const axis = (/** @type {number} */ k) => Float32Array.from(ids, (_, i) => positions[2 * i + k] / LARGEST_POSITION);
  return {
    ...{ version, names, status, isFinal, ids },
    points: { x: axis(0), y: axis(1), intent: new Int32Array(bytes(columns.intents)) },
    probability: Float32Array.from(new Uint16Array(bytes(columns.probabilities)), (value) => value / 1000),
    checked: new Uint8Array(bytes(columns.checked)),
    counts: new Int32Array(bytes(columns.counts)),
    colours: names.map(colourOf),
  };
}
/** @typedef {Awaited<ReturnType<typeof fetchMap>>} MapData */

/** @param {string} [name] An intent to show alone. */
export async function mapView(name) {
  let data = await fetchMap();
  const label = { role: "application", "aria-label": t("map.label"), "aria-describedby": "map-help" };
  const canvas = el("canvas", { id: "map", tabindex: 0, ...label });
  const plot = el("div", { class: "plot" }, canvas);
  const card = el("div", { class: "point-card", "aria-live": "polite", hidden: true });
  const list = el("section", { "aria-label": t("select.bar") });
  const legend = el("div");
  const hint = el("p", { class: "quiet", hidden: true }, t("map.holdCtrl"));
  const note = el("p", { class: "quiet", id: "layout-note", hidden: data.isFinal }, t("map.simpleLayout"));
  /** @type {number | null} */
  let kept = null; // an intent that stays in the foreground

  const kind = (/** @type {number} */ i) => {
    const intent = data.points.intent[i];
    return intent < 0 ? "none" : data.checked[i] ? "checked" : data.status[intent];
  };
  const colours = {
    intent: (/** @type {number} */ i) => data.colours[data.points.intent[i]] ?? GREY,
    certainty: (/** @type {number} */ i) => certaintyColour(data.probability[i]),
    decision: (/** @type {number} */ i) => DECISION[kind(i)],
  };
  disposeLast?.();
  const map = scatter(canvas, {
    camera,
    colourOf: (i) => colours[chosen.by](i),
    nameOf: (intent) => data.names[intent] ?? null,
    isQuiet: (intent) => data.status[intent] === "known",
    onHover: (i, place) => {
      showCard(i, place);
      later(() => pointAt(i === null || data.points.intent[i] < 0 ? null : data.points.intent[i]));
    },
    onSelect: showSelected,
    onLasso: () => pointAt(null),
    onDraw: (names, scale) => {
      const shown = t("map.shown", { zoom: Math.round(100 * scale), names: names.join(", ") });
      if (canvas.textContent !== shown) canvas.textContent = shown; // what a screen reader reads of a canvas
    },
    onHint: () => (hint.hidden = false),
  });
  disposeLast = map.dispose;

  // ---------------------------------------------------------------- the text at the pointer

  let hovering = 0;
  function showCard(/** @type {number | null} */ i, /** @type {[x: number, y: number]} */ [x, y]) {
    const mine = ++hovering;
    card.hidden = i === null;
    if (i === null) return;
    const [id, intent] = [data.ids[i], data.points.intent[i]];
    const probable = intent >= 0 && t("map.probable", { share: percent(data.probability[i]) });
    const fact = data.checked[i] ? t("map.kind.checked") : probable;
    write();
    if (texts.has(id)) return;
    setTimeout(() => mine === hovering && attempt(read), MILLISECONDS_BEFORE_READING);

    function write() {
      const intentName = intent < 0 ? t("noIntent") : data.names[intent];
      fill(card, [
        el("p", { class: "text" }, texts.get(id) ?? "…"),
        el("p", [spot(data.colours[intent] ?? GREY), " ", el("strong", intentName), " ", quiet(fact)]),
      ]);
      const { width, height } = card.getBoundingClientRect();
      const left = x + PIXELS_TO_CARD + width > plot.clientWidth ? x - PIXELS_TO_CARD - width : x + PIXELS_TO_CARD;
      const top = y + PIXELS_TO_CARD + height > plot.clientHeight ? y - PIXELS_TO_CARD - height : y + PIXELS_TO_CARD;
      card.style.translate = `${Math.max(4, left)}px ${Math.max(4, top)}px`;
    }
    // What lies around it is read as well: that is where the pointer goes next.
    async function read() {
      const missing = map.neighbours(i ?? 0, TEXTS_READ_TOGETHER).map((k) => data.ids[k]);
      const page = await fetchUtterances([id, ...missing.filter((other) => other !== id && !texts.has(other))]);
      for (const u of page.utterances) texts.set(u.id, u.text);
      if (mine === hovering) write();
    }
  }

  // ---------------------------------------------------------------- one intent in the foreground

  const later = lastOf(MILLISECONDS_BEFORE_DIMMING);
  /** @param {number | null} intent */
  function pointAt(intent) {
    later(() => {}); // what was pointed at on the way is forgotten
    map.focus(intent ?? kept);
  }
  /** @param {number | null} intent */
  function keep(intent) {
    kept = intent;
    pointAt(null);
    drawLegend();
  }
  /** @param {number | null} intent */
  function keepAndSelect(intent) {
    keep(intent);
    map.select(intent === null ? [] : map.pointsOf(intent));
  }

  // ---------------------------------------------------------------- the selected utterances

  let selecting = 0;
  /** @type {number[]} */
  let marked = []; // points
  /** @param {number[]} points */
  async function showSelected(points) {
    const mine = ++selecting;
    marked = points;
    if (points.length < 2)
      keep(points.length && data.points.intent[points[0]] >= 0 ? data.points.intent[points[0]] : null);
    if (!points.length) return fill(list, quietLine(t("map.clickOrDraw")));
    const most = limits().max_utterances_to_move;
    if (points.length > most) return fill(list, quietLine(t("map.tooMany", { n: points.length, most })));
    const ids = points.map((i) => data.ids[i]);
    const fetchPage = async (/** @type {number} */ start) => ({
      ...(await fetchUtterances(ids.slice(start, start + SHOWN_AT_ONCE))),
      ...{ total: ids.length, ids },
    });
    await attempt(async () => {
      const page = await fetchPage(0);
      if (mine !== selecting) return; // something else was selected meanwhile
      const selection = new Set(ids);
      const onChange = () => {
        marked = points.filter((i) => selection.has(data.ids[i]));
        if (marked.length) map.markSelected(marked);
        else map.select([]);
      };
      const options = { selection, fetchPage, onChange, mayLeave: true, showsLosses: ids.length > 1 };
      fill(list, points.length === 1 && selectWhole(points[0]), utteranceList(page, options));
    });
  }
  /** @param {number} point */
  function selectWhole(point) {
    const intent = data.points.intent[point];
    const all = map.pointsOf(intent);
    if (intent < 0 || all.length < 2) return null;
    const label = t("map.selectWhole", { n: all.length, name: data.names[intent] });
    return button(label, () => keepAndSelect(intent), { class: "small wrap" });
  }

  // ---------------------------------------------------------------- the legend and what is drawn

  function drawLegend() {
    const legends = {
      intent: () => intentLegend(data, kept, { onPoint: pointAt, onKeep: keepAndSelect }),
      certainty: certaintyLegend,
      decision: () => decisionLegend(tally([...data.ids.keys()].map(kind), data.counts)),
    };
    const focused = legend.contains(document.activeElement) && document.activeElement?.getAttribute("data-intent");
    fill(legend, legends[chosen.by]());
    if (focused) /** @type {HTMLElement?} */ (legend.querySelector(`[data-intent="${CSS.escape(focused)}"]`))?.focus();
  }
  function redraw() {
    map.setPoints(data.points);
    const groups = data.names.map(groupOf);
    if (groups.some((group) => group !== null)) {
      map.setRegions(groupRegions(data.points, (i) => groups[data.points.intent[i]] ?? null));
    }
    card.hidden = true;
    pointAt(null);
    drawLegend();
  }
  // Somebody decided, or the final layout is there.
  async function reload() {
    const latest = await fetchMap();
    if (latest.version === data.version && latest.isFinal === data.isFinal) return;
    const keptName = kept === null ? null : data.names[kept];
    data = latest;
    const at = keptName === null ? -1 : data.names.indexOf(keptName);
    kept = at < 0 ? null : at;
    redraw();
    map.markSelected(marked); // utterances keep their places in the answer
    note.hidden = data.isFinal;
    haveSeenLatest();
  }
  function awaitLayout(milliseconds = MILLISECONDS_BETWEEN_LAYOUTS) {
    setTimeout(async () => {
      if (!canvas.isConnected) return;
      if (!document.hidden && !isBusy() && !isOpen()) await reload().catch(() => {});
      if (!data.isFinal) awaitLayout(2 * milliseconds);
    }, milliseconds);
  }

  const options = { intent: t("map.byIntent"), certainty: t("term.certainty"), decision: t("map.byDecision") };
  const by = selectControl("colour-by", t("map.colourBy"), options, chosen.by, (value) => {
    chosen.by = value;
    drawLegend();
    map.recolour();
  });
  const showKnown = (/** @type {boolean} */ value) => {
    chosen.knownNames = value;
    map.showQuietNames(value);
  };
  map.showQuietNames(chosen.knownNames);
  redraw();
  showSelected([]);
  const only = name === undefined ? -1 : data.names.indexOf(name);
  if (only >= 0) queueMicrotask(() => keepAndSelect(only));
  if (!data.isFinal) awaitLayout();
  const isWide = matchMedia("(min-width: 761px)").matches;
  return {
    title: t("map.title"),
    onNews: async () => {
      if (canvas.isConnected) await reload();
      return false;
    },
    content: [
      el("h2", { class: "map-heading" }, [t("map.heading"), " ", quiet(t("utterances", { n: state().progress.logs }))]),
      el("div", { class: "row tools map-tools" }, [
        by,
        checkbox("lasso", t("map.draw"), false, map.setDrawing),
        checkbox("known-names", t("map.knownNames"), chosen.knownNames, showKnown),
        el("span", { class: "row zoom" }, [
          button("+", () => map.zoom(ZOOM_STEP), { "aria-label": t("map.zoomIn") }),
          button("−", () => map.zoom(1 / ZOOM_STEP), { "aria-label": t("map.zoomOut") }),
          button(t("map.reset"), () => map.reset()),
        ]),
      ]),
      [note, hint],
      el("div", { class: "map" }, [
        el("div", [
          el("div", { class: "map-frame" }, [plot, card]),
          el("p", { class: "quiet help", id: "map-help" }, help()),
          el("p", { class: "quiet help-touch" }, t("map.helpTouch")),
        ]),
        el("div", { class: "side" }, [list, fold(t("map.legend"), legend, isWide)]),
      ]),
    ],
  };
}

const help = () => rich("map.help", { plus: kbd("+"), minus: kbd("−"), enter: kbd(t("key.enter")), i: kbd("i") });

/**
 * The coarsest group that an intent is in.
 * @param {string} name
 */
function groupOf(name) {
  const path = intents().find((intent) => intent.name === name)?.path;
  return path ? path.split("/")[0] : null;
}

/**
 * @param {string} colour
 * @param {string} label
 * @param {string} [extra]
 */
const legendEntry = (colour, label, extra = "") => [spot(colour), " ", label, " ", quiet(extra)];
/** @param {Child[]} entries */
const legendList = (entries) => bullets(entries, { class: "plain legend" });

function certaintyLegend() {
  const label = (/** @type {number} */ k) => {
    const [from, to] = [CERTAINTY[k - 1]?.[0], CERTAINTY[k][0]].map((limit) => Math.round(100 * (limit ?? 0)));
    if (k === 0) return t("map.below", { to });
    return k < CERTAINTY.length - 1 ? t("map.between", { from, to }) : t("map.andMore", { from });
  };
  return legendList(CERTAINTY.map(([, colour], k) => legendEntry(colour, label(k))));
}

/** @param {Map<keyof typeof DECISION, number>} sizes */
function decisionLegend(sizes) {
  const entries = /** @type {[keyof typeof DECISION, string][]} */ (Object.entries(DECISION));
  const size = (/** @type {keyof typeof DECISION} */ kind) => count(sizes.get(kind) ?? 0);
  return legendList(entries.map(([kind, colour]) => legendEntry(colour, t(`map.kind.${kind}`), size(kind))));
}

/**
 * @param {MapData} data
 * @param {number | null} kept
 * @param {{ onPoint: (k: number | null) => void, onKeep: (k: number | null) => void }} handlers
 */
function intentLegend({ names, points, counts, status, colours }, kept, { onPoint, onKeep }) {
  const sizes = tally([...points.intent], counts);
  const size = (/** @type {number} */ k) => sizes.get(k) ?? 0;
  const isKnown = (/** @type {number} */ k) => Number(status[k] === "known");
  const order = [...names.keys()]
    .filter((k) => sizes.has(k))
    .sort((a, b) => isKnown(a) - isKnown(b) || size(b) - size(a));
  const entry = (/** @type {number} */ k) =>
    button(legendEntry(colours[k], names[k], count(size(k))), () => onKeep(kept === k ? null : k), {
      class: "plain entry",
      "data-intent": names[k],
      "aria-pressed": String(kept === k),
      onpointerenter: () => onPoint(k),
      onpointerleave: () => onPoint(null),
      onfocus: () => onPoint(k),
      onblur: () => onPoint(null),
    });
  const rest = sizes.has(-1) && legendEntry(GREY, t("noIntent"), count(size(-1)));
  const ungroupedLast = (/** @type {string | null} */ a, /** @type {string | null} */ b) =>
    Number(a === null) - Number(b === null) || (a ?? "").localeCompare(b ?? "");
  const groups = [...new Set(order.map((k) => groupOf(names[k])))].sort(ungroupedLast);
  const part = (/** @type {string | null} */ group) => [
    groups.length > 1 && el("h4", group ?? t("intents.noGroup")),
    legendList(order.filter((k) => groupOf(names[k]) === group).map(entry)),
  ];
  return [
    kept !== null && button(t("map.showAll"), () => onKeep(null), { class: "small" }),
    groups.map(part),
    rest && legendList([rest]),
  ];
}
