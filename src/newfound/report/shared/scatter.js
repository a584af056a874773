// A map of utterances on a canvas, for the review page and the report: points, names of intents, zoom, selection.
// The wheel zooms only with Ctrl, and one finger scrolls the page, so that the map does not get in the way.

const MARGIN = 18, MAX_ZOOM = 80, REACH = 14; // pixels, factor, pixels
const MIN_POINTS_FOR_A_NAME = 4;

const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];

function inside(x, y, polygon) {
  let isIn = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) isIn = !isIn;
  }
  return isIn;
}

// options: colourOf(point), nameOf(intent) or null, isQuiet(intent), onHover(point or null), onSelect(points), camera
// A point is [x, y, number of the intent, ...]; x and y lie between 0 and 1.
export function scatter(canvas, options) {
  const context = canvas.getContext("2d");
  const camera = options.camera || { scale: 1, x: 0, y: 0 };
  let points = [], names = [], isLit = () => true, isFiltered = false, selected = new Set(), hovered = null;
  let lasso = null, isDrawing = false, waiting = false, gesture = null;
  const fingers = new Map(); // the pointers that touch the map

  const size = () => [canvas.clientWidth, canvas.clientHeight];
  function place(p) {
    const [w, h] = size();
    return [(MARGIN + p[0] * (w - 2 * MARGIN)) * camera.scale + camera.x, (MARGIN + p[1] * (h - 2 * MARGIN)) * camera.scale + camera.y];
  }

  function draw() {
    const [w, h] = size(), ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    const radius = (points.length > 4000 ? 1.6 : 2.6) + Math.min(3, camera.scale / 3);
    const paths = new Map(); // one path for each colour: much quicker than one for each point
    for (const p of points) {
      const [x, y] = place(p);
      if (x < -9 || y < -9 || x > w + 9 || y > h + 9) continue;
      const chosen = selected.has(p), key = `${chosen ? 2 : isLit(p) ? 1 : 0} ${options.colourOf(p)}`;
      if (!paths.has(key)) paths.set(key, new Path2D());
      const r = chosen ? radius + 1.5 : radius;
      paths.get(key).rect(x - r, y - r, 2 * r, 2 * r);
    }
    for (const key of [...paths.keys()].sort()) {
      context.globalAlpha = key[0] === "0" ? 0.1 : 0.85;
      context.fillStyle = key.slice(2);
      context.fill(paths.get(key));
      if (key[0] === "2") {
        context.globalAlpha = 1;
        context.lineWidth = 1.5;
        context.strokeStyle = getComputedStyle(canvas).color;
        context.stroke(paths.get(key));
      }
    }
    context.globalAlpha = 1;
    drawNames(w, h);
    if (hovered) ring(...place(hovered));
    if (document.activeElement === canvas && canvas.matches(":focus-visible")) cross(w / 2, h / 2);
    if (lasso) {
      context.beginPath();
      lasso.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.lineWidth = 1.5;
      context.strokeStyle = getComputedStyle(canvas).color;
      context.stroke();
    }
  }
  function ring(x, y) {
    context.beginPath();
    context.arc(x, y, 9, 0, 7);
    context.lineWidth = 2;
    context.strokeStyle = getComputedStyle(canvas).color;
    context.stroke();
  }
  function cross(x, y) {
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 4 * dx, y + 4 * dy);
      context.lineTo(x + 12 * dx, y + 12 * dy);
    }
    context.lineWidth = 1.5;
    context.strokeStyle = getComputedStyle(canvas).color;
    context.stroke();
  }
  function drawNames(w, h) { // the largest first; a name that would cover another one is left out
    const style = getComputedStyle(canvas), taken = [];
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = style.backgroundColor;
    context.fillStyle = style.color;
    for (const { intent, x, y, point } of names) {
      const name = options.nameOf(intent), isQuiet = options.isQuiet(intent);
      if (name === null || !isLit(point) || (isQuiet && !isFiltered && camera.scale < 2.5)) continue;
      const [sx, sy] = place([x, y]);
      if (sx < 0 || sy < 0 || sx > w || sy > h) continue;
      context.font = `${isQuiet ? 400 : 600} 12px system-ui, sans-serif`;
      const half = context.measureText(name).width / 2 + 3;
      const cx = Math.min(Math.max(sx, half), w - half);
      if (taken.some(([tx, ty, th]) => Math.abs(cx - tx) < half + th && Math.abs(sy - ty) < 15)) continue;
      taken.push([cx, sy, half]);
      context.strokeText(name, cx, sy + 4);
      context.fillText(name, cx, sy + 4);
    }
    api.shownNames = taken.length;
  }
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };

  function zoomAt(factor, cx, cy) {
    const next = Math.min(MAX_ZOOM, Math.max(1, camera.scale * factor));
    camera.x = cx - (cx - camera.x) * next / camera.scale;
    camera.y = cy - (cy - camera.y) * next / camera.scale;
    camera.scale = next;
    hold();
  }
  function hold() { // the map never leaves its frame
    const [w, h] = size();
    camera.x = Math.min(0, Math.max(w - w * camera.scale, camera.x));
    camera.y = Math.min(0, Math.max(h - h * camera.scale, camera.y));
    redraw();
  }
  const pan = (dx, dy) => { camera.x += dx; camera.y += dy; hold(); };
  function nearest(x, y, reach = REACH) {
    let best = null, least = reach * reach;
    for (const p of points) {
      const [px, py] = place(p), d = (px - x) ** 2 + (py - y) ** 2;
      if (d < least && isLit(p)) { least = d; best = p; }
    }
    return best;
  }
  function hover(p) {
    if (p === hovered) return;
    hovered = p;
    options.onHover(p);
    redraw();
  }
  function select(some) {
    selected = new Set(some);
    options.onSelect(some);
    redraw();
  }
  const at = (event) => [event.offsetX, event.offsetY];

  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) { options.onHint?.(); return; } // the page scrolls
    event.preventDefault();
    zoomAt(event.deltaY < 0 ? 1.2 : 1 / 1.2, ...at(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    if (event.pointerType !== "touch" || isDrawing || fingers.size > 1) canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 2) { lasso = null; gesture = "pinch"; return; }
    if (isDrawing || event.shiftKey) { lasso = [at(event)]; gesture = "lasso"; }
    else gesture = "press";
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event), before = fingers.get(event.pointerId);
    if (!before) { hover(nearest(x, y)); return; }
    if (gesture === "pinch" && fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const distance = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoomAt(distance([x, y]) / distance(before), (x + other[0]) / 2, (y + other[1]) / 2);
      pan((x - before[0]) / 2, (y - before[1]) / 2);
    } else if (gesture === "lasso") {
      lasso.push([x, y]);
      redraw();
    } else if (gesture === "drag" || Math.hypot(x - before[0], y - before[1]) > 4) {
      gesture = "drag";
      pan(x - before[0], y - before[1]);
    } else return; // a finger or a mouse that trembles still presses
    fingers.set(event.pointerId, [x, y]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (gesture === "lasso") {
      const polygon = lasso;
      lasso = null;
      if (polygon.length > 2) select(points.filter((p) => isLit(p) && inside(...place(p), polygon)));
      else redraw();
    } else if (gesture === "press") {
      const found = nearest(...at(event), event.pointerType === "touch" ? 2 * REACH : REACH);
      hover(found);
      select(found ? [found] : []);
    }
    release(event);
  });
  function release(event) {
    fingers.delete(event.pointerId);
    if (!fingers.size) { gesture = null; lasso = null; }
  }
  canvas.addEventListener("pointercancel", release); // the browser took the finger for scrolling
  canvas.addEventListener("pointerleave", () => { if (!fingers.size) hover(null); });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [w, h] = size(), step = 40;
    const act = { "+": () => zoomAt(1.3, w / 2, h / 2), "=": () => zoomAt(1.3, w / 2, h / 2), "-": () => zoomAt(1 / 1.3, w / 2, h / 2),
      0: () => api.reset(), ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0), ArrowUp: () => pan(0, step), ArrowDown: () => pan(0, -step),
      Enter: () => hovered && select(event.shiftKey ? [...selected, hovered] : [hovered]),
      i: () => hovered && select(points.filter((p) => p[2] === hovered[2])),
      Escape: () => select([]) }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    if (event.key.startsWith("Arrow") || "+=-0".includes(event.key)) hover(nearest(w / 2, h / 2, 60));
  });
  canvas.addEventListener("focus", redraw);
  canvas.addEventListener("blur", redraw);
  new ResizeObserver(redraw).observe(canvas);

  const api = {
    camera,
    shownNames: 0, // how many names the last drawing shows
    place,
    redraw,
    setPoints(some) {
      points = some;
      selected = new Set();
      hovered = null;
      const byIntent = new Map();
      for (const p of points) {
        if (p[2] < 0) continue;
        if (!byIntent.has(p[2])) byIntent.set(p[2], []);
        byIntent.get(p[2]).push(p);
      }
      names = [...byIntent].filter(([, own]) => own.length >= Math.min(MIN_POINTS_FOR_A_NAME, points.length))
        .sort(([a, one], [b, other]) => options.isQuiet(a) - options.isQuiet(b) || other.length - one.length)
        .map(([intent, own]) => ({ intent, x: middle(own.map((p) => p[0])), y: middle(own.map((p) => p[1])), point: own[0] }));
      redraw();
    },
    lightUp(test) { isLit = test || (() => true); isFiltered = Boolean(test); redraw(); },
    select,
    mark(some) { selected = new Set(some); redraw(); },
    setDrawing(value) { isDrawing = value; canvas.classList.toggle("drawing", value); },
    zoom(factor) { const [w, h] = size(); zoomAt(factor, w / 2, h / 2); },
    reset() { Object.assign(camera, { scale: 1, x: 0, y: 0 }); redraw(); },
  };
  return api;
}
