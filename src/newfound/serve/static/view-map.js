// The map of the logs: names, legend, hover, zoom, and a lasso to move utterances or make an intent of them.
import { api } from "./api.js";
import { attempt, decide, isBusy } from "./decisions.js";
import { askAndMake, askAndMove, isOpen } from "./dialogs.js";
import { button, el, fill, quiet } from "./dom.js";
import { count, percent, plural } from "./format.js";
import { CERTAINTY, DECISION, GREY, certaintyColour } from "./palette.js";
import { named, utteranceList } from "./parts.js";
import { scatter } from "./scatter.js";
import { colourOf, known } from "./store.js";

const camera = { scale: 1, x: 0, y: 0 }; // it is kept when the view changes
const chosen = { by: "intent" };
const MAX_SHOWN = 200, MAX_MOVED = 2000, MILLISECONDS_BETWEEN_LAYOUTS = 1500;
const texts = new Map(); // of utterances, by their numbers

async function fetchTexts(ids) {
  const missing = ids.filter((id) => !texts.has(id));
  for (let k = 0; k < missing.length; k += 400) {
    const some = missing.slice(k, k + 400);
    for (const u of (await api("/v1/review/utterances?" + some.map((i) => "id=" + i).join("&"))).utterances) texts.set(u.id, u.text);
  }
  return ids.map((id) => texts.get(id));
}

export async function mapView(name) {
  let data = await api("/v1/review/map");
  const canvas = el("canvas", { id: "map", tabindex: 0, role: "application", "aria-label": "Map of the logs. Arrow keys move it, plus and minus zoom, Enter selects the utterance in the middle, i its whole intent.", "aria-describedby": "map-help" });
  const hover = el("p", { class: "hover", id: "hover", "aria-live": "polite" });
  const list = el("div", { id: "chosen" }), legend = el("div", { id: "legend" });
  let lit = name && data.names.includes(name) ? data.names.indexOf(name) : null;

  const kind = (p) => p[2] < 0 ? "none" : p[5] ? "checked" : data.status[p[2]];
  const COLOURS = {
    intent: (p) => p[2] < 0 ? GREY : colourOf(data.names[p[2]]),
    certainty: (p) => certaintyColour(p[4]),
    decision: (p) => DECISION[kind(p)][0],
  };
  const map = scatter(canvas, {
    camera,
    colourOf: (p) => COLOURS[chosen.by](p),
    nameOf: (intent) => data.names[intent] ?? null,
    isQuiet: (intent) => data.status[intent] === "known",
    onHover: showHovered,
    onSelect: (points) => showSelected(points),
    onHint: () => { hint.hidden = false; },
  });
  const hint = el("p", { class: "quiet", hidden: true }, "Hold Ctrl to zoom with the wheel.");

  let hovering = 0;
  function showHovered(p) {
    const mine = ++hovering;
    if (!p) { fill(hover, quiet("Point at an utterance to read it.")); return; }
    const facts = () => [" ", named(p[2] < 0 ? null : data.names[p[2]]), quiet(` ${p[5] ? "checked" : percent(p[4])}`)];
    fill(hover, texts.get(p[3]) || "…", facts());
    if (!texts.has(p[3])) setTimeout(() => attempt(async () => { if (mine === hovering) { const [text] = await fetchTexts([p[3]]); if (mine === hovering) fill(hover, text, facts()); } }), 60);
  }

  let selecting = 0;
  async function showSelected(points) {
    const mine = ++selecting;
    if (!points.length) { fill(list, quiet("Click a point, or draw around several, to move them or to make an intent of them.")); return; }
    await attempt(async () => {
      const ids = points.map((p) => p[3]);
      const shown = ids.slice(0, MAX_SHOWN);
      const found = (await api("/v1/review/utterances?" + shown.map((i) => "id=" + i).join("&"))).utterances;
      if (mine !== selecting) return; // something else was selected meanwhile
      const clear = { after: () => map.select([]) };
      const all = async (act) => attempt(async () => act(await fetchTexts(ids), clear));
      const fits = ids.length <= MAX_MOVED;
      fill(list, el("div", { class: "selection" }, el("strong", {}, `${ids.length} selected`),
        fits ? [button("Move …", () => all(askAndMove)), button("New intent …", () => all(askAndMake)), button("No intent", () => all((t) => decide([{ move: { texts: t, to: null } }], `${plural(t.length, "utterance")} of no intent now.`)))]
          : quiet(`At most ${count(MAX_MOVED)} can be moved at once.`), button("Clear", () => map.select([]), { class: "plain" })),
      ids.length > MAX_SHOWN && el("p", { class: "quiet" }, `The first ${MAX_SHOWN} are listed; all ${ids.length} are moved.`),
      utteranceList(found, { onMove: (t) => askAndMove(t, clear) }));
    });
  }

  function drawLegend() {
    const sizes = new Map();
    for (const p of data.points) sizes.set(p[2], (sizes.get(p[2]) || 0) + 1);
    const item = (colour, label, extra) => { const spot = el("span", { class: "dot" }); spot.style.background = colour; return [spot, " ", label, " ", quiet(extra)]; };
    if (chosen.by === "certainty") fill(legend, el("ul", { class: "plain legend" }, CERTAINTY.map(([, colour, label]) => el("li", {}, item(colour, label, "")))));
    else if (chosen.by === "decision") {
      const kinds = {};
      for (const p of data.points) kinds[kind(p)] = (kinds[kind(p)] || 0) + 1;
      fill(legend, el("ul", { class: "plain legend" }, Object.entries(DECISION).map(([key, [colour, label]]) => el("li", {}, item(colour, label, count(kinds[key] || 0))))));
    } else {
      const order = data.names.map((n, k) => k).filter((k) => sizes.has(k)).sort((a, b) => (data.status[a] === "known") - (data.status[b] === "known") || sizes.get(b) - sizes.get(a));
      const entry = (k) => el("li", {}, button(item(colourOf(data.names[k]), data.names[k], count(sizes.get(k))), () => lightUp(lit === k ? null : k), { class: "plain entry", "aria-pressed": String(lit === k) }));
      fill(legend, lit !== null && button("Show all intents", () => lightUp(null), { class: "small" }), el("ul", { class: "plain legend" }, order.map(entry),
        sizes.has(-1) && el("li", {}, item(GREY, "no intent", count(sizes.get(-1))))));
    }
  }
  function lightUp(k) {
    lit = k;
    map.lightUp(k === null ? null : (p) => p[2] === k);
    map.select(k === null ? [] : data.points.filter((p) => p[2] === k));
    drawLegend();
  }
  function redraw() {
    map.setPoints(data.points);
    if (lit !== null) map.lightUp((p) => p[2] === lit);
    drawLegend();
  }
  async function reload() { // somebody decided, or the final layout is there
    const lightedName = lit === null ? null : data.names[lit];
    data = await api("/v1/review/map");
    lit = lightedName === null || !data.names.includes(lightedName) ? null : data.names.indexOf(lightedName);
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

  const by = el("select", { id: "colour-by" }, [["intent", "intent"], ["certainty", "certainty"], ["decision", "decision"]].map(([value, label]) => el("option", { value, selected: chosen.by === value }, label)));
  by.addEventListener("change", () => { chosen.by = by.value; drawLegend(); map.redraw(); });
  const drawing = el("input", { type: "checkbox", id: "lasso" });
  drawing.addEventListener("change", () => map.setDrawing(drawing.checked));
  const note = el("p", { class: "quiet", id: "layout-note", hidden: data.is_final }, "A simple layout for now; a better one is being computed and will take its place.");
  showHovered(null);
  showSelected([]);
  redraw();
  if (lit !== null) queueMicrotask(() => lightUp(lit));
  if (!data.is_final) awaitLayout();
  canvas.map = map; // for the tests: what the canvas shows is not in the document
  return {
    title: "Map",
    onNews: async () => { if (canvas.isConnected) await reload(); return false; },
    content: [el("h2", {}, "Map of the logs"),
      el("div", { class: "row tools" }, el("label", { class: "control" }, "Colour by ", by), el("label", { class: "control" }, drawing, " Draw around points"),
        button("+", () => map.zoom(1.5), { "aria-label": "Zoom in" }), button("−", () => map.zoom(1 / 1.5), { "aria-label": "Zoom out" }), button("Reset", () => map.reset()),
        quiet(plural(data.points.length, "utterance"))),
      note, hover, hint,
      el("div", { class: "map" }, el("div", {}, canvas, el("p", { class: "quiet help", id: "map-help" }, "Drag to move, Ctrl and wheel or two fingers to zoom, Shift and drag to draw around points. By keyboard: arrows, ", el("kbd", {}, "+"), " ", el("kbd", {}, "−"), ", ", el("kbd", {}, "Enter"), " selects the utterance in the middle, ", el("kbd", {}, "i"), " its intent.")),
        el("div", { class: "side" }, list, el("details", { open: true }, el("summary", {}, "Legend"), legend)))],
  };
}
