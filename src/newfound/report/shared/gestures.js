// What the pointer, the wheel, fingers and keys do on a map.
// The wheel zooms only with Ctrl, and one finger scrolls the page, so that the map does not get in the way.

const WHEEL_STEP = 1.2;
const KEY_STEP = 1.3;
const PIXELS_OF_AN_ARROW_KEY = 40;
const TREMBLE = 4; // pixels that a press may move

export function followPointer(/** @type {HTMLCanvasElement} */ canvas, /** @type {Gestures} */ act) {
  /** @type {"press" | "drag" | "lasso" | "pinch" | null} */
  let gesture = null;
  /** @type {Place[]} */
  let lasso = [];
  let isDrawing = false;
  /** @type {Map<number, Place>} */
  const fingers = new Map(); // the pointers that touch the map
  /** @param {MouseEvent} event @returns {Place} */
  const at = (event) => [event.offsetX, event.offsetY];

  /** @param {WheelEvent} event */
  function turnWheel(event) {
    if (!event.ctrlKey && !event.metaKey) {
      act.hint?.(); // the page scrolls
      return;
    }
    event.preventDefault();
    act.zoomAt(event.deltaY < 0 ? WHEEL_STEP : 1 / WHEEL_STEP, at(event));
  }
  canvas.addEventListener("wheel", turnWheel, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    if (event.pointerType !== "touch" || isDrawing || fingers.size > 1) canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 2) gesture = "pinch";
    else gesture = isDrawing || event.shiftKey ? "lasso" : "press";
    lasso = [at(event)];
    act.drawLasso(null);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      act.point([x, y]);
      return;
    }
    if (gesture === "pinch" && fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const distance = (/** @type {Place} */ p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      act.zoomAt(distance([x, y]) / distance(before), [(x + other[0]) / 2, (y + other[1]) / 2]);
      act.pan((x - before[0]) / 2, (y - before[1]) / 2);
    } else if (gesture === "lasso") {
      lasso.push([x, y]);
      act.drawLasso(lasso);
    } else if (gesture === "drag" || Math.hypot(x - before[0], y - before[1]) > TREMBLE) {
      gesture = "drag";
      act.point(null);
      act.pan(x - before[0], y - before[1]);
    } else return;
    fingers.set(event.pointerId, [x, y]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (gesture === "lasso" && lasso.length > 2) act.closeLasso(lasso);
    else if (gesture === "press") act.press(at(event), event.pointerType === "touch");
    release(event);
  });
  /** @param {PointerEvent} event */
  function release(event) {
    fingers.delete(event.pointerId);
    if (fingers.size) return;
    gesture = null;
    act.drawLasso(null);
  }
  canvas.addEventListener("pointercancel", release); // the browser took the finger for scrolling
  canvas.addEventListener("pointerleave", (event) => {
    if (!fingers.size && event.pointerType !== "touch") act.point(null);
  });
  return {
    /** @param {boolean} value Whether a drag draws a lasso without Shift. */
    setDrawing: (value) => {
      isDrawing = value;
      canvas.classList.toggle("drawing", value);
    },
  };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{ pan: (dx: number, dy: number) => void, zoom: (factor: number) => void, reset: () => void,
 *   moved: () => void, select: (adds: boolean) => void, selectIntent: () => void, clear: () => void }} act `moved` is
 *   called after every movement of the map.
 */
export function followKeys(canvas, act) {
  const step = PIXELS_OF_AN_ARROW_KEY;
  /** @type {Record<string, () => void>} */
  const moves = {
    "+": () => act.zoom(KEY_STEP),
    "=": () => act.zoom(KEY_STEP),
    "-": () => act.zoom(1 / KEY_STEP),
    0: act.reset,
    ArrowLeft: () => act.pan(step, 0),
    ArrowRight: () => act.pan(-step, 0),
    ArrowUp: () => act.pan(0, step),
    ArrowDown: () => act.pan(0, -step),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const selections = { Enter: () => act.select(event.shiftKey), i: act.selectIntent, Escape: act.clear };
    const run = moves[event.key] ?? selections[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
    if (event.key in moves) act.moved();
  });
}
