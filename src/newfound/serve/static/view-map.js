// The map of the logs: names, groups, weeks, legend, the text at the pointer, and a lasso to move utterances.
import { get } from "./api.js";
import { attempt, haveSeenLatest, isBusy } from "./decisions.js";
import { isOpen } from "./dialogs.js";
import { button, checkbox, el, fill, fold, kbd, lastOf, quiet, quietLine } from "./dom.js";
import { certaintyLegend, decisionLegend, groupOf, intentLegend } from "./map-legend.js";
import { DECISION, GREY, PALETTE, certaintyColour } from "./palette.js";
import { selectControl, spot, sureWord } from "./parts.js";
import { scatter } from "./scatter.js";
import { colourOf, limits, state } from "./review.js";
import { store } from "./store.js";
import { rich, t } from "./strings.js";
import { tally, utteranceList } from "./utterances.js";

const chosen = store.map;
const { camera, texts } = chosen;
const MAX_INTENTS_WITHOUT_GROUPS = 30;
const MILLISECONDS_OF_A_WEEK = 7 * 86_400_000;
const SHOWN_AT_ONCE = 100; // selected utterances
const MILLISECONDS_BETWEEN_LAYOUTS = 1500; // that are asked for; each time twice as long
const MILLISECONDS_BEFORE_READING = 60; // the text of a point that is pointed at
const MILLISECONDS_BEFORE_SEARCHING = 250; // after a key
const TEXTS_READ_TOGETHER = 40; // around the pointer
const PIXELS_TO_CARD = 14;
const ZOOM_STEP = 1.5;
const LARGEST_POSITION = 65535;

/** @param {string} text In base64. */
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
/** @param {number[]} ids */
const fetchUtterances = (ids) => get("/v1/review/utterances", { id: ids });

async function fetchMap() {
  const { version, names, status, is_final: isFinal, ...columns } = await get("/v1/review/map");
  const positions = new Uint16Array(bytes(columns.positions));
  const ids = new Int32Array(bytes(columns.ids));
  const axes = [0, 1].map((k) => Float32Array.from(ids, (_, i) => positions[2 * i + k] / LARGEST_POSITION));
  const intentOf = new Int32Array(bytes(columns.intents));
  const groups = [...new Set(names.map(groupOf))].filter((group) => group !== null).sort();
  const inGroups = names.map((name) => groups.indexOf(groupOf(name) ?? ""));
  return {
    ...{ version, names, status, isFinal, ids, intentOf },
    ...{ x: axes[0], y: axes[1] },
    byIntent: { names, of: intentOf, colours: names.map(colourOf), areKnown: status.map((one) => one === "known") },
    byGroup: {
      names: /** @type {string[]} */ (groups),
      of: intentOf.map((intent) => inGroups[intent] ?? -1),
      colours: distinct(
        groups.map((_, k) =>
          centre(
            axes,
            [...ids.keys()].filter((i) => inGroups[intentOf[i]] === k),
          ),
        ),
      ),
      areKnown: groups.map(() => false),
    },
    weeks: new Int32Array(bytes(columns.weeks)),
    probability: Float32Array.from(new Uint16Array(bytes(columns.probabilities)), (value) => value / 1000),
    checked: new Uint8Array(bytes(columns.checked)),
    counts: new Int32Array(bytes(columns.counts)),
  };
}
/** @typedef {Awaited<ReturnType<typeof fetchMap>>["byIntent"]} MapParts */

/** The mean of some points. @param {Float32Array[]} axes @param {number[]} some */
const centre = (axes, some) => axes.map((axis) => some.reduce((sum, i) => sum + axis[i], 0) / (some.length || 1));

/** Colours of groups at some places: where there are more groups than colours, those of one colour lie far apart. */
const distinct = (/** @type {number[][]} */ places) =>
  places.reduce((/** @type {string[]} */ given, [x, y]) => {
    const room = (/** @type {string} */ colour) =>
      Math.min(...places.filter((_, k) => given[k] === colour).map((p) => Math.hypot(p[0] - x, p[1] - y)));
    return [...given, PALETTE.reduce((best, colour) => (room(colour) > room(best) ? colour : best))];
  }, []);

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

  const hasGroups = () => data.byGroup.names.length > 1;
  const isGrouped = () => hasGroups() && (chosen.groups ?? data.names.length > MAX_INTENTS_WITHOUT_GROUPS);
  const parts = () => (isGrouped() ? data.byGroup : data.byIntent); // what names, colours and the legend are about
  const kind = (/** @type {number} */ i) => {
    const intent = data.intentOf[i];
    return intent < 0 ? "none" : data.checked[i] ? "checked" : data.status[intent];
  };
  const colours = {
    intent: (/** @type {number} */ i) => parts().colours[parts().of[i]] ?? GREY,
    certainty: (/** @type {number} */ i) => certaintyColour(data.probability[i]),
    decision: (/** @type {number} */ i) => DECISION[kind(i)],
  };
  chosen.dispose();
  const map = scatter(canvas, {
    camera,
    colourOf: (i) => colours[chosen.by](i),
    nameOf: (part) => parts().names[part] ?? null,
    isQuiet: (part) => parts().areKnown[part] ?? false,
    onHover: showCard,
    onSelect: showSelected,
    onLasso: () => pointAt(null),
    onDraw: (names, scale) => {
      const shown = t("map.shown", { zoom: Math.round(100 * scale), names: names.join(", ") });
      if (canvas.textContent !== shown) canvas.textContent = shown; // what a screen reader reads of a canvas
    },
    onHint: () => (hint.hidden = false),
  });
  chosen.dispose = map.dispose;

  let hovering = 0;
  function showCard(/** @type {number | null} */ i, /** @type {[x: number, y: number]} */ [x, y]) {
    const mine = ++hovering;
    card.hidden = i === null;
    if (i === null) return;
    const [id, intent] = [data.ids[i], data.intentOf[i]];
    const probable = intent >= 0 && sureWord(data.probability[i]);
    const fact = data.checked[i] ? t("map.kind.checked") : probable;
    write();
    if (texts.has(id)) return;
    setTimeout(() => mine === hovering && attempt(read), MILLISECONDS_BEFORE_READING);

    function write() {
      const intentName = intent < 0 ? t("noIntent") : data.names[intent];
      fill(card, [
        el("p", { class: "text" }, texts.get(id) ?? "…"),
        el("p", [spot(parts().colours[parts().of[i ?? 0]] ?? GREY), " ", el("strong", intentName), " ", quiet(fact)]),
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

  /** @param {number | null} part */
  const pointAt = (part) => map.focus(part ?? kept);
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

  let selecting = 0;
  /** @type {number[]} */
  let marked = []; // points
  /** @param {number[]} points */
  async function showSelected(points) {
    const mine = ++selecting;
    marked = points;
    if (points.length < 2) keep(points.length && parts().of[points[0]] >= 0 ? parts().of[points[0]] : null);
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
      const zoomIn = button(t("map.zoomTo"), () => map.zoomTo(points), { class: "small" });
      fill(list, points.length === 1 ? selectWhole(points[0]) : zoomIn, utteranceList(page, options));
    });
  }
  /** @param {number} point */
  function selectWhole(point) {
    const part = parts().of[point];
    const all = map.pointsOf(part);
    if (part < 0 || all.length < 2) return null;
    const label = t("map.selectWhole", { n: all.length, name: parts().names[part] });
    return button(label, () => keepAndSelect(part), { class: "small wrap" });
  }

  function drawLegend() {
    const legends = {
      intent: () => intentLegend(parts(), data.counts, isGrouped(), kept, { onPoint: pointAt, onKeep: keepAndSelect }),
      certainty: certaintyLegend,
      decision: () => decisionLegend(tally([...data.ids.keys()].map(kind), data.counts)),
    };
    const focused = legend.contains(document.activeElement) && document.activeElement?.getAttribute("data-intent");
    fill(legend, legends[chosen.by]());
    if (focused) /** @type {HTMLElement?} */ (legend.querySelector(`[data-intent="${CSS.escape(focused)}"]`))?.focus();
  }
  function redraw() {
    map.setPoints({ x: data.x, y: data.y, intent: parts().of });
    card.hidden = true;
    knownNames.hidden = isGrouped(); // groups are of new and known ones
    pointAt(null);
    drawLegend();
  }
  // Somebody decided, or the final layout is there.
  async function reload() {
    const latest = await fetchMap();
    if (latest.version === data.version && latest.isFinal === data.isFinal) return;
    const keptName = kept === null ? null : parts().names[kept];
    data = latest;
    const at = keptName === null ? -1 : parts().names.indexOf(keptName);
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

  const options = { intent: t("map.byIntent"), certainty: t("term.sure"), decision: t("map.byDecision") };
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
  const knownNames = checkbox("known-names", t("map.knownNames"), chosen.knownNames, showKnown);
  // ---------------------------------------------------------------- what is lit up: hits of a search, one week

  const [known, searchSoon] = [data.weeks.filter(Boolean), lastOf(MILLISECONDS_BEFORE_SEARCHING)];
  const [firstWeek, lastWeek] = [Math.min, Math.max].map((end) => known.reduce((a, b) => end(a, b), known[0] ?? 0));
  const found = el("span", { class: "quiet", role: "status" });
  /** @type {Set<number> | null} */
  let hits = null;
  function lightUp() {
    const { week } = chosen;
    const isLit = (/** @type {number} */ i) => (!hits || hits.has(data.ids[i])) && (!week || data.weeks[i] === week);
    const isPart = hits !== null || week > 0;
    map.lightUp(isPart ? isLit : null);
    const n = data.ids.reduce((sum, _, i) => sum + (isLit(i) ? data.counts[i] : 0), 0);
    fill(found, week > 0 && `${t("map.weekOf", { day: mondayOf(week) })} `, isPart && t("utterances", { n }));
  }
  async function find() {
    hits = chosen.words ? new Set((await get("/v1/review/search", { q: chosen.words, logs_only: true })).ids) : null;
    lightUp();
  }
  const naming = { id: "find", type: "search", size: 14, placeholder: t("map.find"), "aria-label": t("map.find") };
  const finder = el("input", { ...naming, value: chosen.words, maxlength: 200 });
  finder.addEventListener("input", () => {
    chosen.words = finder.value.trim();
    searchSoon(() => attempt(find));
  });
  const range = { type: "range", min: firstWeek - 1, max: lastWeek, value: chosen.week || firstWeek - 1 };
  const slider = el("input", { ...range, "aria-label": t("map.week") });
  slider.addEventListener("input", () => {
    chosen.week = Number(slider.value) < firstWeek ? 0 : Number(slider.value);
    lightUp();
  });
  const showGroups = (/** @type {boolean} */ isOn) => {
    chosen.groups = isOn;
    kept = null;
    redraw();
    lightUp();
  };

  redraw();
  showSelected([]);
  if (chosen.words) attempt(find);
  else if (chosen.week) lightUp();
  if (name !== undefined && isGrouped()) showGroups(false);
  const only = name === undefined ? -1 : data.names.indexOf(name);
  if (only >= 0) queueMicrotask(() => keepAndSelect(only));
  if (!data.isFinal) awaitLayout();
  const zoom = el("div", { class: "zoom" }, [
    button("+", () => map.zoom(ZOOM_STEP), { "aria-label": t("map.zoomIn") }),
    button("−", () => map.zoom(1 / ZOOM_STEP), { "aria-label": t("map.zoomOut") }),
    button(t("map.reset"), () => map.reset()),
  ]);
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
        hasGroups() && checkbox("groups", t("map.groups"), isGrouped(), showGroups),
        knownNames,
        [finder, lastWeek > firstWeek && el("label", { class: "control" }, [t("map.week"), " ", slider]), found],
      ]),
      [note, hint],
      el("div", { class: "map" }, [
        el("div", [
          el("div", { class: "map-frame" }, [plot, card]),
          el("div", { class: "below" }, [
            el("p", { class: "quiet help", id: "map-help" }, help()),
            el("p", { class: "quiet help-touch" }, t("map.helpTouch")),
            zoom,
          ]),
        ]),
        el("div", { class: "side" }, [list, fold(t("map.legend"), legend, isWide)]),
      ]),
    ],
  };
}

const help = () => rich("map.help", { plus: kbd("+"), minus: kbd("−"), enter: kbd(t("key.enter")), i: kbd("i") });

/** The Monday of a week, which is counted from year 1. @param {number} week */
const mondayOf = (week) =>
  new Date(Date.parse("0001-01-01") + week * MILLISECONDS_OF_A_WEEK).toISOString().slice(0, 10);
