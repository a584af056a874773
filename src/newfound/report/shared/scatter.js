// A map of utterances on a canvas, for the review page and the report: points, names of intents, zoom, selection.
// The wheel zooms only with Ctrl, and one finger scrolls the page, so that the map does not get in the way.

const MARGIN = 18; // pixels around the points
const MAX_ZOOM = 80;
const REACH = 14; // pixels between the pointer and the point that it points at
const MIN_POINTS_FOR_A_NAME = 4;
const MIN_ZOOM_FOR_QUIET_NAMES = 2.5;
const MANY_POINTS = 4000; // are drawn smaller
const WHEEL_STEP = 1.2;
const KEY_STEP = 1.3;
const PIXELS_OF_AN_ARROW_KEY = 40;
const KEY_REACH = 60; // pixels between the middle and the point that the keyboard points at

/** @typedef {[x: number, y: number]} Place */
/** @typedef {[x: number, y: number, intent: number, ...rest: any[]]} Point x and y lie between 0 and 1. */
/**
 * @typedef {object} MapOptions
 * @property {(point: Point) => string} colourOf
 * @property {(intent: number) => string | null} nameOf
 * @property {(intent: number) => boolean} isQuiet Whether a name is left out while the map is not zoomed.
 * @property {(point: Point | null) => void} onHover
 * @property {(points: Point[]) => void} onSelect
 * @property {(names: string[], scale: number) => void} [onDraw] Gets the names that are drawn.
 * @property {() => void} [onHint] The wheel was turned without Ctrl.
 * @property {{ scale: number, x: number, y: number }} [camera]
 */

/** @param {number[]} values */
const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/**
 * @param {Place} place
 * @param {Place[]} polygon
 */
function inside([x, y], polygon) {
  let isIn = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) isIn = !isIn;
  }
  return isIn;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {MapOptions} options
 */
export function scatter(canvas, options) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const camera = options.camera || { scale: 1, x: 0, y: 0 };
  /** @type {Point[]} */
  let points = [];
  /** @type {{ intent: number, x: number, y: number, point: Point }[]} */
  let names = [];
  /** @type {(p: Point) => boolean} */
  let isLit = () => true;
  let isFiltered = false;
  /** @type {Set<Point>} */
  let selected = new Set();
  /** @type {Point | null} */
  let hovered = null;
  /** @type {Place[] | null} */
  let lasso = null;
  let isDrawing = false;
  let waiting = false;
  /** @type {"press" | "drag" | "lasso" | "pinch" | null} */
  let gesture = null;
  /** @type {Map<number, Place>} */
  const fingers = new Map(); // the pointers that touch the map

  const size = () => [canvas.clientWidth, canvas.clientHeight];
  const centre = () => /** @type {Place} */ ([canvas.clientWidth / 2, canvas.clientHeight / 2]);
  /**
   * @param {Place | Point} point
   * @returns {Place}
   */
  function place([x, y]) {
    const [w, h] = size();
    const across = (MARGIN + x * (w - 2 * MARGIN)) * camera.scale + camera.x;
    return [across, (MARGIN + y * (h - 2 * MARGIN)) * camera.scale + camera.y];
  }

  function draw() {
    const [w, h] = size();
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    drawPoints();
    drawNames();
    if (hovered) ring(place(hovered));
    if (document.activeElement === canvas && canvas.matches(":focus-visible")) cross(centre());
    if (lasso) outline(lasso);
  }
  function drawPoints() {
    const [w, h] = size();
    const radius = (points.length > MANY_POINTS ? 1.6 : 2.6) + Math.min(3, camera.scale / 3);
    /** @type {Map<string, Path2D>} */
    const paths = new Map(); // one path for each colour: much quicker than one for each point
    for (const p of points) {
      const [x, y] = place(p);
      if (x < -9 || y < -9 || x > w + 9 || y > h + 9) continue;
      const chosen = selected.has(p);
      const key = `${chosen ? 2 : isLit(p) ? 1 : 0} ${options.colourOf(p)}`;
      const path = paths.get(key) ?? new Path2D();
      paths.set(key, path);
      const r = chosen ? radius + 1.5 : radius;
      path.rect(x - r, y - r, 2 * r, 2 * r);
    }
    for (const [key, path] of [...paths].sort(([a], [b]) => (a < b ? -1 : 1))) {
      context.globalAlpha = key[0] === "0" ? 0.1 : 0.85;
      context.fillStyle = key.slice(2);
      context.fill(path);
      if (key[0] === "2") {
        context.globalAlpha = 1;
        stroke(1.5, path);
      }
    }
    context.globalAlpha = 1;
  }
  /**
   * @param {number} width
   * @param {Path2D} [path]
   */
  function stroke(width, path) {
    context.lineWidth = width;
    context.strokeStyle = getComputedStyle(canvas).color;
    if (path) context.stroke(path);
    else context.stroke();
  }
  /** @param {Place[]} line */
  function outline(line) {
    context.beginPath();
    line.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    stroke(1.5);
  }
  /** @param {Place} place */
  function ring([x, y]) {
    context.beginPath();
    context.arc(x, y, 9, 0, 7);
    stroke(2);
  }
  /** @param {Place} place */
  function cross([x, y]) {
    context.beginPath();
    for (const direction of [1, -1]) {
      context.moveTo(x + 4 * direction, y);
      context.lineTo(x + 12 * direction, y);
      context.moveTo(x, y + 4 * direction);
      context.lineTo(x, y + 12 * direction);
    }
    stroke(1.5);
  }
  // The largest first; a name that would cover another one is left out.
  function drawNames() {
    const [w, h] = size();
    const style = getComputedStyle(canvas);
    /** @type {[x: number, y: number, half: number, name: string][]} */
    const taken = [];
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = style.backgroundColor;
    context.fillStyle = style.color;
    for (const { intent, x, y, point } of names) {
      const name = options.nameOf(intent);
      const isQuiet = options.isQuiet(intent);
      if (name === null || !isLit(point)) continue;
      if (isQuiet && !isFiltered && camera.scale < MIN_ZOOM_FOR_QUIET_NAMES) continue;
      const [sx, sy] = place([x, y]);
      if (sx < 0 || sy < 0 || sx > w || sy > h) continue;
      context.font = `${isQuiet ? 400 : 600} 12px system-ui, sans-serif`;
      const half = context.measureText(name).width / 2 + 3;
      const cx = Math.min(Math.max(sx, half), w - half);
      if (taken.some(([tx, ty, th]) => Math.abs(cx - tx) < half + th && Math.abs(sy - ty) < 15)) continue;
      taken.push([cx, sy, half, name]);
      context.strokeText(name, cx, sy + 4);
      context.fillText(name, cx, sy + 4);
    }
    options.onDraw?.(
      taken.map(([, , , name]) => name),
      camera.scale,
    );
  }
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  /**
   * @param {number} factor
   * @param {Place} place
   */
  function zoomAt(factor, [cx, cy]) {
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
  /**
   * @param {number} dx
   * @param {number} dy
   */
  function pan(dx, dy) {
    camera.x += dx;
    camera.y += dy;
    hold();
  }
  /** @param {Place} place */
  function nearest([x, y], reach = REACH) {
    let best = null;
    let least = reach * reach;
    for (const p of points) {
      const [px, py] = place(p);
      const d = (px - x) ** 2 + (py - y) ** 2;
      if (d >= least || !isLit(p)) continue;
      least = d;
      best = p;
    }
    return best;
  }
  /** @param {Point | null} p */
  function hover(p) {
    if (p === hovered) return;
    hovered = p;
    options.onHover(p);
    redraw();
  }
  /** @param {Point[]} some */
  function select(some) {
    selected = new Set(some);
    options.onSelect(some);
    redraw();
  }
  /**
   * @param {MouseEvent} event
   * @returns {Place}
   */
  const at = (event) => [event.offsetX, event.offsetY];

  /** @param {WheelEvent} event */
  function turnWheel(event) {
    if (!event.ctrlKey && !event.metaKey) {
      options.onHint?.(); // the page scrolls
      return;
    }
    event.preventDefault();
    zoomAt(event.deltaY < 0 ? WHEEL_STEP : 1 / WHEEL_STEP, at(event));
  }
  canvas.addEventListener("wheel", turnWheel, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    if (event.pointerType !== "touch" || isDrawing || fingers.size > 1) canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 2) gesture = "pinch";
    else gesture = isDrawing || event.shiftKey ? "lasso" : "press";
    lasso = gesture === "lasso" ? [at(event)] : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      hover(nearest([x, y]));
      return;
    }
    if (gesture === "pinch" && fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const distance = (/** @type {Place} */ p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoomAt(distance([x, y]) / distance(before), [(x + other[0]) / 2, (y + other[1]) / 2]);
      pan((x - before[0]) / 2, (y - before[1]) / 2);
    } else if (lasso) {
      lasso.push([x, y]);
      redraw();
    } else if (gesture === "drag" || Math.hypot(x - before[0], y - before[1]) > 4) {
      gesture = "drag";
      pan(x - before[0], y - before[1]);
    } else return; // a finger or a mouse that trembles still presses
    fingers.set(event.pointerId, [x, y]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (lasso) {
      const polygon = lasso;
      lasso = null;
      if (polygon.length > 2) select(points.filter((p) => isLit(p) && inside(place(p), polygon)));
      else redraw();
    } else if (gesture === "press") {
      const pressed = nearest(at(event), event.pointerType === "touch" ? 2 * REACH : REACH);
      hover(pressed);
      select(pressed ? [pressed] : []);
    }
    release(event);
  });
  /** @param {PointerEvent} event */
  function release(event) {
    fingers.delete(event.pointerId);
    if (fingers.size) return;
    gesture = null;
    lasso = null;
  }
  canvas.addEventListener("pointercancel", release); // the browser took the finger for scrolling
  canvas.addEventListener("pointerleave", () => {
    if (!fingers.size) hover(null);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = PIXELS_OF_AN_ARROW_KEY;
    /** @type {Record<string, () => void>} */
    const moves = {
      "+": () => zoom(KEY_STEP),
      "=": () => zoom(KEY_STEP),
      "-": () => zoom(1 / KEY_STEP),
      0: reset,
      ArrowLeft: () => pan(step, 0),
      ArrowRight: () => pan(-step, 0),
      ArrowUp: () => pan(0, step),
      ArrowDown: () => pan(0, -step),
    };
    /** @type {Record<string, () => unknown>} */
    const selections = {
      Enter: () => hovered && select(event.shiftKey ? [...selected, hovered] : [hovered]),
      i: () => hovered && select(points.filter((p) => p[2] === hovered?.[2])),
      Escape: () => select([]),
    };
    const act = moves[event.key] ?? selections[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    if (event.key in moves) hover(nearest(centre(), KEY_REACH));
  });
  canvas.addEventListener("focus", redraw);
  canvas.addEventListener("blur", redraw);
  new ResizeObserver(redraw).observe(canvas);

  function reset() {
    Object.assign(camera, { scale: 1, x: 0, y: 0 });
    redraw();
  }

  /** @param {Point[]} some */
  function setPoints(some) {
    points = some;
    selected = new Set();
    hovered = null;
    /** @type {Map<number, Point[]>} */
    const byIntent = new Map();
    for (const p of points) {
      const own = byIntent.get(p[2]);
      if (own) own.push(p);
      else if (p[2] >= 0) byIntent.set(p[2], [p]);
    }
    const isQuiet = (/** @type {number} */ intent) => Number(options.isQuiet(intent));
    names = [...byIntent]
      .filter(([, own]) => own.length >= Math.min(MIN_POINTS_FOR_A_NAME, points.length))
      .sort(([a, one], [b, other]) => isQuiet(a) - isQuiet(b) || other.length - one.length)
      .map(([intent, own]) => ({
        intent,
        x: middle(own.map((p) => p[0])),
        y: middle(own.map((p) => p[1])),
        point: own[0],
      }));
    redraw();
  }

  /** @param {((p: Point) => boolean) | null} test Whether a point is shown clearly; null for all. */
  function lightUp(test) {
    isLit = test || (() => true);
    isFiltered = Boolean(test);
    redraw();
  }

  /** @param {boolean} value */
  function setDrawing(value) {
    isDrawing = value;
    canvas.classList.toggle("drawing", value);
  }

  /** @param {number} factor */
  const zoom = (factor) => zoomAt(factor, centre());

  return { redraw, reset, setPoints, lightUp, select, setDrawing, zoom };
}
