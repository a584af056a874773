// What lies above the points of a map: names, none of which covers another one, and marks.

const LINE_HEIGHT = 15; // pixels
const MAX_LETTERS = 24; // of a name
/** @type {Map<string, number>} */
const widths = new Map(); // half the width of each text, by font and text

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} width
 * @param {number} height
 * @param {string} ink
 * @param {string} paper The colour around the letters.
 */
export function labelWriter(context, width, height, ink, paper) {
  /** @type {[x: number, y: number, half: number][]} */
  const taken = [];
  context.textAlign = "center";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = paper;
  context.fillStyle = ink;

  /** @param {string} text */
  function halfWidth(text) {
    const key = context.font + text;
    const half = widths.get(key) ?? context.measureText(text).width / 2 + 3;
    widths.set(key, half);
    return half;
  }

  /**
   * Write a name if there is room for it.
   * @param {string} whole
   * @param {string} font
   * @param {[x: number, y: number]} place
   * @returns {boolean} Whether there was.
   */
  return (whole, font, [x, y]) => {
    const name = shortened(whole);
    if (x < 0 || y < 0 || x > width || y > height) return false;
    if (context.font !== font) context.font = font;
    const half = halfWidth(name);
    const cx = Math.min(Math.max(x, half), width - half);
    if (taken.some(([tx, ty, th]) => Math.abs(cx - tx) < half + th && Math.abs(y - ty) < LINE_HEIGHT)) return false;
    taken.push([cx, y, half]);
    context.strokeText(name, cx, y + 4);
    context.fillText(name, cx, y + 4);
    return true;
  };
}

/** A long name up to the end of a word. @param {string} name */
function shortened(name) {
  if (name.length <= MAX_LETTERS) return name;
  const end = name.slice(0, MAX_LETTERS).search(/[_\s/][^_\s/]*$/);
  return `${name.slice(0, end > MAX_LETTERS / 2 ? end : MAX_LETTERS)}…`;
}

/** @param {CanvasRenderingContext2D} context @param {[x: number, y: number][]} line */
export function drawOutline(context, line) {
  context.beginPath();
  line.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.globalAlpha = 0.08;
  context.fill();
  context.globalAlpha = 1;
  stroke(context, 1.5);
}

/** @param {CanvasRenderingContext2D} context @param {[x: number, y: number]} place */
export function drawRing(context, [x, y]) {
  context.beginPath();
  context.arc(x, y, 9, 0, 7);
  stroke(context, 2);
}

/** @param {CanvasRenderingContext2D} context @param {[x: number, y: number]} place */
export function drawCross(context, [x, y]) {
  context.beginPath();
  for (const direction of [1, -1]) {
    context.moveTo(x + 4 * direction, y);
    context.lineTo(x + 12 * direction, y);
    context.moveTo(x, y + 4 * direction);
    context.lineTo(x, y + 12 * direction);
  }
  stroke(context, 1.5);
}

function stroke(/** @type {CanvasRenderingContext2D} */ context, /** @type {number} */ width) {
  context.lineWidth = width;
  context.stroke();
}
