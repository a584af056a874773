// Soft areas of the map where the intents of a group lie.

const CELLS = 128; // in each direction
const EDGE = 0.08; // of the map's width, around the points
const BLUR = 3; // cells
const OPACITY = 0.18;
const MIN_DENSITY = 0.4; // of the mean density of all cells that hold points; below, an area fades out
const GOLDEN_ANGLE = 137.5; // degrees between two hues, so that neighbours in the list look different

/**
 * @param {{ x: Float32Array, y: Float32Array }} points
 * @param {(point: number) => string | null} groupOf
 */
export function groupRegions({ x, y }, groupOf) {
  /** @type {Map<string, Float32Array>} */
  const densities = new Map();
  for (let i = 0; i < x.length; i++) {
    const group = groupOf(i);
    if (group === null) continue;
    const density = densities.get(group) ?? new Float32Array(CELLS * CELLS);
    densities.set(group, density);
    density[cell(y[i]) * CELLS + cell(x[i])] += 1;
  }
  for (const density of densities.values()) for (let times = 0; times < 2; times++) blur(density);
  const groups = [...densities].sort(([a], [b]) => (a < b ? -1 : 1));
  return { edge: EDGE, picture: picture(groups.map(([, density]) => density)), names: groups.map(nameAt) };

  /** @param {[string, Float32Array]} group */
  function nameAt([name, density]) {
    let best = 0;
    density.forEach((value, k) => (best = value > density[best] ? k : best));
    return { name, x: position(best % CELLS), y: position(Math.floor(best / CELLS)) };
  }
}

/** @param {number} position */
const cell = (position) => Math.min(CELLS - 1, Math.floor(((position + EDGE) / (1 + 2 * EDGE)) * CELLS));
/** @param {number} index */
const position = (index) => ((index + 0.5) / CELLS) * (1 + 2 * EDGE) - EDGE;

/**
 * Replace every value by the mean of those around it.
 * @param {Float32Array} density
 */
function blur(density) {
  for (const [step, line] of [
    [1, CELLS],
    [CELLS, 1],
  ]) {
    const before = density.slice();
    for (let row = 0; row < CELLS; row++) {
      for (let k = 0; k < CELLS; k++) {
        let sum = 0;
        for (let d = Math.max(0, k - BLUR); d <= Math.min(CELLS - 1, k + BLUR); d++)
          sum += before[row * line + d * step];
        density[row * line + k * step] = sum / (2 * BLUR + 1);
      }
    }
  }
}

/** @param {Float32Array[]} densities */
function picture(densities) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: CELLS, height: CELLS, className: "regions" });
  canvas.setAttribute("aria-hidden", "true");
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const totals = densities.reduce(
    (sum, density) => sum.map((value, k) => value + density[k]),
    new Float32Array(CELLS * CELLS),
  );
  const filled = totals.filter((total) => total > 0);
  const enough = (MIN_DENSITY * filled.reduce((sum, total) => sum + total, 0)) / Math.max(1, filled.length);
  for (let k = 0; k < totals.length; k++) {
    const best = densities.reduce((at, density, g) => (density[k] > densities[at][k] ? g : at), 0);
    if (!totals[k]) continue;
    const share = densities[best][k] / totals[k];
    const opacity = OPACITY * share * share * Math.min(1, totals[k] / enough);
    context.fillStyle = `hsl(${(best * GOLDEN_ANGLE) % 360} 70% 55% / ${opacity})`;
    context.fillRect(k % CELLS, Math.floor(k / CELLS), 1, 1);
  }
  return canvas;
}
