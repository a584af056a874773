"use strict";
// The map of the logs, one view of the review page. It uses the helpers of app.js.

const camera = { scale: 1, x: 0, y: 0 }; // it is kept when the view changes

async function map(name) {
  const data = await api("/v1/review/map");
  const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "Map of the logs; the list beside it holds what is selected" });
  const list = el("div", { class: "side", "aria-live": "polite" }, el("p", { class: "quiet" }, "Click a point to read it. Shift and drag to select several."));
  const choice = el("select", { "aria-label": "Intent to highlight" }, el("option", { value: "" }, "all intents"),
    data.names.map((n) => el("option", { value: n, selected: n === name }, n)));
  const colour = data.names.map((_, i) => data.status[i] === "known" ? "#8b949e" : `hsl(${(i * 137.508) % 360} 65% 50%)`);
  const context = canvas.getContext("2d");
  let lasso = null, drag = null, marked = new Set();

  const size = () => [canvas.clientWidth, canvas.clientHeight];
  const toScreen = (p) => { const [w, h] = size(); return [(0.03 + 0.94 * p[0]) * w * camera.scale + camera.x, (0.03 + 0.94 * p[1]) * h * camera.scale + camera.y]; };
  function draw() {
    const [w, h] = size(), ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    const wanted = data.names.indexOf(choice.value), r = (data.points.length > 10000 ? 2 : 4) + Math.min(4, camera.scale / 2);
    for (const pass of [0, 1]) { // what is highlighted lies on top
      for (const p of data.points) {
        const lit = wanted < 0 || p[2] === wanted || marked.has(p[3]);
        if (lit !== (pass === 1)) continue;
        const [x, y] = toScreen(p);
        if (x < -5 || y < -5 || x > w + 5 || y > h + 5) continue;
        context.globalAlpha = lit ? 0.9 : 0.12;
        context.fillStyle = p[2] < 0 ? "#8b949e" : colour[p[2]];
        const own = marked.has(p[3]) ? r + 3 : r;
        context.fillRect(x - own / 2, y - own / 2, own, own);
      }
    }
    context.globalAlpha = 1;
    if (lasso) {
      context.beginPath();
      lasso.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.strokeStyle = getComputedStyle(canvas).color;
      context.stroke();
    }
  }
  let waiting = false;
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };
  function zoom(factor, cx, cy) {
    const next = Math.min(80, Math.max(1, camera.scale * factor));
    camera.x = cx - (cx - camera.x) * next / camera.scale;
    camera.y = cy - (cy - camera.y) * next / camera.scale;
    camera.scale = next;
    redraw();
  }
  async function select(ids) {
    marked = new Set(ids);
    redraw();
    await attempt(async () => {
      if (!ids.length) { fill(list, el("p", { class: "quiet" }, "Nothing selected.")); return; }
      const some = ids.slice(0, 200);
      const found = (await api("/v1/review/utterances?" + some.map((i) => "id=" + i).join("&"))).utterances;
      const few = ids.length <= 200;
      fill(list, el("div", { class: "row" }, el("strong", {}, `${ids.length} selected`),
        few ? button("Move all", () => askAndMove(found.map((u) => u.text))) : el("span", { class: "quiet" }, "the first 200 are shown; select at most 200 to move them")), utterances(found));
    });
  }
  const inside = ([x, y], polygon) => {
    let found = false;
    for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
      const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
      if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) found = !found;
    }
    return found;
  };
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY); }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (event.shiftKey || lassoBox.checked) lasso = [[event.offsetX, event.offsetY]];
    else drag = { x: event.offsetX, y: event.offsetY, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (lasso) { lasso.push([event.offsetX, event.offsetY]); redraw(); }
    else if (drag) {
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 3 || drag.moved) { camera.x += dx; camera.y += dy; drag = { x: event.offsetX, y: event.offsetY, moved: true }; redraw(); }
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (lasso) {
      const polygon = lasso;
      lasso = null;
      select(polygon.length > 2 ? data.points.filter((p) => inside(toScreen(p), polygon)).map((p) => p[3]) : []);
    } else if (drag && !drag.moved) {
      let best = null, least = 144;
      for (const p of data.points) {
        const [x, y] = toScreen(p), d = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
        if (d < least) { least = d; best = p; }
      }
      select(best ? [best[3]] : []);
    }
    drag = null;
  });
  canvas.addEventListener("keydown", (event) => {
    const [w, h] = size(), step = 40;
    const act = { "+": () => zoom(1.3, w / 2, h / 2), "-": () => zoom(1 / 1.3, w / 2, h / 2), ArrowLeft: () => { camera.x += step; redraw(); },
      ArrowRight: () => { camera.x -= step; redraw(); }, ArrowUp: () => { camera.y += step; redraw(); }, ArrowDown: () => { camera.y -= step; redraw(); } }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  choice.addEventListener("change", () => {
    select(choice.value ? data.points.filter((p) => data.names[p[2]] === choice.value).map((p) => p[3]) : []);
  });
  const lassoBox = el("input", { type: "checkbox", id: "lasso" });
  new ResizeObserver(redraw).observe(canvas);
  if (name && data.names.includes(name)) queueMicrotask(() => choice.dispatchEvent(new Event("change")));
  const zoomMiddle = (factor) => { const [w, h] = size(); zoom(factor, w / 2, h / 2); };
  return [el("h2", {}, "Map of the logs"),
    el("div", { class: "row" }, el("label", {}, "Highlight ", choice), lassoBox, el("label", { for: "lasso" }, "draw to select"),
      button("+", () => zoomMiddle(1.4), { "aria-label": "Zoom in" }), button("−", () => zoomMiddle(1 / 1.4), { "aria-label": "Zoom out" }),
      button("Reset", () => { Object.assign(camera, { scale: 1, x: 0, y: 0 }); redraw(); }),
      el("span", { class: "quiet" }, `${data.points.length.toLocaleString("en")} utterances`)),
    el("div", { class: "map" }, canvas, list)];
}
