// A small line plot of counts per week, on the review page and in the report.

// Parsed, because the report must not name the address of SVG's namespace.
const EMPTY = "<svg><polyline /><polyline /><polyline /></svg>";
const WIDTH = 96;
const HEIGHT = 28;

/**
 * @param {number[]} counts
 * @param {string} label
 * @param {number[]} partial The positions of weeks that are not whole; the line to these is dashed.
 */
export function linePlot(counts, label, partial) {
  const most = Math.max(1, ...counts);
  const step = WIDTH / Math.max(1, counts.length - 1);
  const points = counts.map((n, i) => `${(i * step).toFixed(1)},${(HEIGHT * (1 - n / most)).toFixed(1)}`);
  const svg = /** @type {SVGElement} */ (new DOMParser().parseFromString(EMPTY, "text/html").querySelector("svg"));
  const [first, last] = [Number(partial.includes(0)), counts.length - Number(partial.includes(counts.length - 1))];
  const lines = [points.slice(first, last), points.slice(0, first + 1), points.slice(last - 1)];
  const size = { width: WIDTH, height: HEIGHT, viewBox: `-2 -2 ${WIDTH + 4} ${HEIGHT + 4}` };
  for (const [name, value] of Object.entries({ ...size, role: "img", "aria-label": label })) {
    svg.setAttribute(name, String(value));
  }
  [...svg.children].forEach((line, k) => {
    const drawn = { points: lines[k].join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
    for (const [name, value] of Object.entries(drawn)) line.setAttribute(name, String(value));
    if (k > 0) line.setAttribute("stroke-dasharray", "2 3");
  });
  return svg;
}
