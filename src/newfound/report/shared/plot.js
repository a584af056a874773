// A small line plot of counts per week, on the review page and in the report.

const EMPTY = "<svg><polyline /></svg>"; // parsed, because the report must not name the address of SVG's namespace
const WIDTH = 160;
const HEIGHT = 28;

export function linePlot(/** @type {number[]} */ counts, /** @type {string} */ label) {
  const most = Math.max(1, ...counts);
  const step = WIDTH / Math.max(1, counts.length - 1);
  const points = counts.map((n, i) => `${(i * step).toFixed(1)},${(HEIGHT * (1 - n / most)).toFixed(1)}`);
  const svg = /** @type {SVGElement} */ (new DOMParser().parseFromString(EMPTY, "text/html").querySelector("svg"));
  const line = /** @type {SVGElement} */ (svg.firstElementChild);
  const size = { width: WIDTH, height: HEIGHT, viewBox: `-2 -2 ${WIDTH + 4} ${HEIGHT + 4}` };
  const drawn = { points: points.join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
  for (const [name, value] of Object.entries({ ...size, role: "img", "aria-label": label })) {
    svg.setAttribute(name, String(value));
  }
  for (const [name, value] of Object.entries(drawn)) line.setAttribute(name, String(value));
  return svg;
}
