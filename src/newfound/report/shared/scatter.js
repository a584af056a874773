// A map of utterances, for the review page and the report: points, names of intents, zoom, hover, selection.
import { followKeys, followPointer } from "./gestures.js";
import { drawCross, drawOutline, drawRing, labelWriter } from "./overlay.js";
import { DIMMED, SELECTED, SHOWN, pointPainter } from "./points.js";

const MARGIN = 18; // pixels around the points
const MAX_ZOOM = 80;
const REACH = 14; // pixels between the pointer and the point that it points at
const MIN_POINTS_FOR_A_NAME = 4;
const MIN_ZOOM_FOR_QUIET_NAMES = 2.5;
const KEY_REACH = 60; // pixels between the middle and the point that the keyboard points at
const REACH_OF_NEIGHBOURS = 0.03; // of the width of the map
const FONT = "600 12px system-ui, sans-serif";
const QUIET_FONT = "12px system-ui, sans-serif";
// The radius of a point in pixels, for maps with so many points at most.
const RADII = [
  [4000, 2.8],
  [20000, 2],
  [Infinity, 1.4],
];

/** @typedef {{ x: Float32Array, y: Float32Array, intent: Int32Array }} Points x and y lie between 0 and 1. */

/** @param {number[]} values */
const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
/** @param {string} colour */
const rgbOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

function inside(/** @type {number} */ x, /** @type {number} */ y, /** @type {Place[]} */ polygon) {
  let isIn = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) isIn = !isIn;
  }
  return isIn;
}

/**
 * @param {HTMLCanvasElement} canvas It takes the keys and the pointer, and shows names. The points are on another one
 *   below it, which is put into the same element.
 * @param {MapOptions} options
 */
export function scatter(canvas, options) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const dots = document.createElement("canvas");
  dots.setAttribute("aria-hidden", "true");
  canvas.before(dots);
  const painter = pointPainter(dots, () => {
    painter.setPlaces(points.x, points.y);
    recolour();
  });
  const camera = options.camera || { scale: 1, x: 0, y: 0 };
  /** @type {Points} */
  let points = { x: new Float32Array(), y: new Float32Array(), intent: new Int32Array() };
  let looks = new Uint8Array();
  /** @type {{ intent: number, x: number, y: number }[]} */
  let names = [];
  /** @type {((point: number) => boolean) | null} */
  let filter = null;
  /** @type {number | null} */
  let focused = null; // an intent
  /** @type {Set<number>} */
  let selected = new Set();
  /** @type {number | null} */
  let hovered = null;
  /** @type {Place[] | null} */
  let lasso = null;
  let showsQuietNames = false;
  let waiting = false;
  let arePointsDrawn = false;
  const size = () => /** @type {Place} */ ([canvas.clientWidth, canvas.clientHeight]);
  const centre = () => /** @type {Place} */ ([canvas.clientWidth / 2, canvas.clientHeight / 2]);
  /** How x and y between 0 and 1 become pixels. */
  function frame() {
    const [w, h] = size();
    return {
      scale: [(w - 2 * MARGIN) * camera.scale, (h - 2 * MARGIN) * camera.scale],
      shift: [MARGIN * camera.scale + camera.x, MARGIN * camera.scale + camera.y],
    };
  }
  /** @param {number} x @param {number} y @returns {Place} */
  function place(x, y) {
    const { scale, shift } = frame();
    return [x * scale[0] + shift[0], y * scale[1] + shift[1]];
  }
  /** @param {number} i */
  const placeOf = (i) => place(points.x[i], points.y[i]);
  /** @param {number} i */
  const passes = (i) => !filter || filter(i);

  function draw() {
    const [w, h] = size();
    const ratio = devicePixelRatio || 1;
    for (const one of [canvas, dots]) {
      const [width, height] = [Math.round(w * ratio), Math.round(h * ratio)];
      if (one.width === width && one.height === height) continue;
      Object.assign(one, { width, height });
      arePointsDrawn = false;
    }
    if (!w || !h) return;
    if (!arePointsDrawn) drawPoints();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    drawNames();
    context.strokeStyle = context.fillStyle = getComputedStyle(canvas).color;
    if (hovered !== null) drawRing(context, placeOf(hovered));
    if (document.activeElement === canvas && canvas.matches(":focus-visible")) drawCross(context, centre());
    if (lasso) drawOutline(context, lasso);
  }
  function drawPoints() {
    arePointsDrawn = true;
    const count = points.x.length;
    const [, least] = RADII.find(([most]) => count <= most) ?? [0, 1];
    const radius = least + Math.min(3, camera.scale / 3);
    const ink = (getComputedStyle(canvas).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
    const { scale, shift } = frame();
    painter.draw({ size: size(), scale, shift, radius, ink });
  }
  // The largest first; a name that would cover another one is left out.
  function drawNames() {
    const [w, h] = size();
    const paper = getComputedStyle(/** @type {Element} */ (canvas.parentElement)).backgroundColor;
    const write = labelWriter(context, w, h, getComputedStyle(canvas).color, paper);
    const isFar = !showsQuietNames && !filter && focused === null && camera.scale < MIN_ZOOM_FOR_QUIET_NAMES;
    const written = [];
    for (const { intent, x, y } of names) {
      const name = options.nameOf(intent);
      const isQuiet = options.isQuiet(intent);
      if (name === null || (isQuiet && isFar) || (focused ?? intent) !== intent) continue;
      if (write(name, isQuiet ? QUIET_FONT : FONT, place(x, y))) written.push(name);
    }
    options.onDraw?.(written, camera.scale);
  }
  /** @param {boolean} [withPoints] Without it, only what lies above the points is drawn. */
  function redraw(withPoints = true) {
    if (withPoints) arePointsDrawn = false;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  /** Take the colours of all points anew. */
  function recolour() {
    /** @type {Map<string, number[]>} */
    const parsed = new Map();
    for (let i = 0; i < points.x.length; i++) {
      const colour = options.colourOf(i);
      const rgb = parsed.get(colour) ?? rgbOf(colour);
      parsed.set(colour, rgb);
      looks[4 * i] = rgb[0];
      looks[4 * i + 1] = rgb[1];
      looks[4 * i + 2] = rgb[2];
    }
    mark();
  }
  /** Take anew which points are dimmed and which are selected. */
  function mark() {
    for (let i = 0; i < points.x.length; i++) {
      const isShown = (focused === null || points.intent[i] === focused) && passes(i);
      looks[4 * i + 3] = selected.has(i) ? SELECTED : isShown ? SHOWN : DIMMED;
    }
    painter.setLooks(looks);
    redraw();
  }

  function zoomAt(/** @type {number} */ factor, /** @type {Place} */ [cx, cy]) {
    const next = Math.min(MAX_ZOOM, Math.max(1, camera.scale * factor));
    camera.x = cx - ((cx - camera.x) * next) / camera.scale;
    camera.y = cy - ((cy - camera.y) * next) / camera.scale;
    camera.scale = next;
    hold();
  }
  // The map never leaves its frame.
  function hold() {
    const [w, h] = size();
    camera.x = Math.min(0, Math.max(w - w * camera.scale, camera.x));
    camera.y = Math.min(0, Math.max(h - h * camera.scale, camera.y));
    redraw();
  }
  /** @param {number} factor */
  const zoom = (factor) => zoomAt(factor, centre());
  function pan(/** @type {number} */ dx, /** @type {number} */ dy) {
    camera.x += dx;
    camera.y += dy;
    hold();
  }
  /** @param {Place} place */
  function nearest([px, py], reach = REACH) {
    const { scale, shift } = frame();
    let best = null;
    let least = reach * reach;
    for (let i = 0; i < points.x.length; i++) {
      const dx = points.x[i] * scale[0] + shift[0] - px;
      const dy = points.y[i] * scale[1] + shift[1] - py;
      const d = dx * dx + dy * dy;
      if (d >= least || !passes(i)) continue;
      least = d;
      best = i;
    }
    return best;
  }
  /** @param {number | null} point */
  function hover(point) {
    if (point === hovered) return;
    hovered = point;
    options.onHover(point, point === null ? [0, 0] : placeOf(point));
    redraw(false);
  }
  /** @param {number[]} some */
  function select(some) {
    markSelected(some);
    options.onSelect(some);
  }
  /** @param {Place[]} polygon */
  function within(polygon) {
    const { scale, shift } = frame();
    const [left, right] = [Math.min, Math.max].map((end) => polygon.reduce((at, p) => end(at, p[0]), polygon[0][0]));
    const found = [];
    for (let i = 0; i < points.x.length; i++) {
      const x = points.x[i] * scale[0] + shift[0];
      if (x < left || x > right || looks[4 * i + 3] === DIMMED) continue;
      if (inside(x, points.y[i] * scale[1] + shift[1], polygon)) found.push(i);
    }
    return found;
  }
  /** @param {number | null} intent */
  const pointsOf = (intent) => [...points.intent.keys()].filter((i) => points.intent[i] === intent);
  const gestures = followPointer(canvas, {
    point: (place) => hover(place && nearest(place)),
    press: (place, isTouch) => {
      const pressed = nearest(place, isTouch ? 2 * REACH : REACH);
      hover(pressed);
      select(pressed === null ? [] : [pressed]);
    },
    pan,
    zoomAt,
    drawLasso: (line) => {
      if (line && !lasso) {
        hover(null);
        options.onLasso?.();
      }
      lasso = line;
      redraw(false);
    },
    closeLasso: (polygon) => select(within(polygon)),
    hint: options.onHint,
  });
  followKeys(canvas, {
    pan,
    zoom,
    reset,
    moved: () => {
      hover(null); // its place has changed
      hover(nearest(centre(), KEY_REACH));
    },
    select: (adds) => hovered !== null && select(adds ? [...new Set([...selected, hovered])] : [hovered]),
    selectIntent: () => hovered !== null && select(pointsOf(points.intent[hovered])),
    clear: () => select([]),
  });
  canvas.addEventListener("focus", () => redraw(false));
  canvas.addEventListener("blur", () => redraw(false));
  new ResizeObserver(() => redraw()).observe(canvas);

  function reset() {
    Object.assign(camera, { scale: 1, x: 0, y: 0 });
    redraw();
  }

  /** @param {Points} some */
  function setPoints(some) {
    points = some;
    looks = new Uint8Array(4 * points.x.length);
    selected = new Set();
    hovered = null;
    painter.setPlaces(points.x, points.y);
    /** @type {Map<number, number[]>} */
    const byIntent = new Map();
    points.intent.forEach((intent, i) => {
      const own = byIntent.get(intent);
      if (own) own.push(i);
      else if (intent >= 0) byIntent.set(intent, [i]);
    });
    const isQuiet = (/** @type {number} */ intent) => Number(options.isQuiet(intent));
    names = [...byIntent]
      .filter(([, own]) => own.length >= Math.min(MIN_POINTS_FOR_A_NAME, points.x.length))
      .sort(([a, one], [b, other]) => isQuiet(a) - isQuiet(b) || other.length - one.length)
      .map(([intent, own]) => ({
        intent,
        x: middle(own.map((i) => points.x[i])),
        y: middle(own.map((i) => points.y[i])),
      }));
    recolour();
  }

  /** @param {((point: number) => boolean) | null} test Whether a point is shown clearly; null for all. */
  function lightUp(test) {
    filter = test;
    mark();
  }
  /** @param {number | null} intent The only intent that is shown clearly; null for all. */
  function focus(intent) {
    if (intent === focused) return;
    focused = intent;
    mark();
  }
  /** @param {number[]} some Points that are drawn as selected, without a call of `onSelect`. */
  function markSelected(some) {
    selected = new Set(some);
    mark();
  }
  /** Show a part of the map as large as it can be. @param {number[]} some Points. */
  function zoomTo(some) {
    const [w, h] = size();
    const [x, y] = [points.x, points.y].map((axis) => some.map((i) => axis[i]).sort((a, b) => a - b));
    const last = some.length - 1;
    const room = 1.2 * Math.max(x[last] - x[0], y[last] - y[0], 1 / MAX_ZOOM);
    camera.scale = Math.max(1, 1 / room);
    const { scale } = frame();
    camera.x = w / 2 - (scale[0] * (x[0] + x[last])) / 2 - MARGIN * camera.scale;
    camera.y = h / 2 - (scale[1] * (y[0] + y[last])) / 2 - MARGIN * camera.scale;
    hold();
  }
  /** @param {boolean} value Whether quiet names are drawn at any zoom. */
  function showQuietNames(value) {
    showsQuietNames = value;
    redraw(false);
  }
  /** The points that are nearest to a point, itself first. @param {number} point @param {number} count */
  function neighbours(point, count) {
    const [x, y] = [points.x[point], points.y[point]];
    const reach = REACH_OF_NEIGHBOURS / camera.scale;
    const near = [];
    for (let i = 0; i < points.x.length; i++) {
      if (Math.abs(points.x[i] - x) < reach && Math.abs(points.y[i] - y) < reach) near.push(i);
    }
    const distance = (/** @type {number} */ i) => Math.hypot(points.x[i] - x, points.y[i] - y);
    return near.sort((a, b) => distance(a) - distance(b)).slice(0, count);
  }

  return {
    ...{ redraw, recolour, reset, setPoints, zoomTo, lightUp, focus, select, markSelected, showQuietNames },
    ...{ setDrawing: gestures.setDrawing, zoom, neighbours, pointsOf, dispose: painter.dispose },
  };
}
