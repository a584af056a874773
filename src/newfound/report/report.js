// The report's map and its search. The report holds this file and the shared ones as one script, without modules.
import { count } from "./shared/format.js";
import { intentColour } from "./shared/palette.js";
import { linePlot } from "./shared/plot.js";
import { scatter } from "./shared/scatter.js";

/** @param {string} id */
const byId = (id) => /** @type {any} */ (document.getElementById(id));
/** @typedef {[x: number, y: number, intent: number, text: string]} Point */
/** @type {{ points: Point[], names: string[], colours: number[], known: string[] }} */
const { points, names, colours, known } = JSON.parse(byId("data").textContent);
const said = byId("said");
const search = byId("search");
const onlyNew = byId("only-new");
const isKnown = new Set(known);
const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("article")]);
/** @type {string | null} */
let chosen = null; // the name of an intent

/** @param {number} i */
const colour = (i) => intentColour(colours[i], isKnown.has(names[i]));
/** @param {number} i */
const sentence = (i) => `${names[points[i][2]]}: ${points[i][3]}`;
/** @param {number} n */
const texts = (n) => `${count(n)} ${n === 1 ? "text" : "texts"}`;
const words = () => search.value.trim().toLowerCase();

const map = scatter(byId("map"), {
  colourOf: (i) => colour(points[i][2]),
  nameOf: (i) => names[i],
  isQuiet: (i) => isKnown.has(names[i]),
  onHover: (i) => {
    byId("hover").textContent = i === null ? "" : sentence(i);
  },
  onSelect: (some) => {
    said.textContent = some.length === 1 ? sentence(some[0]) : some.length ? texts(some.length) : "";
  },
});

/** @param {Point} p */
function matches(p) {
  const name = names[p[2]];
  if (onlyNew.checked && isKnown.has(name)) return false;
  if (chosen !== null) return name === chosen;
  return [p[3], name].some((text) => text.toLowerCase().includes(words()));
}

/** @param {HTMLElement} card */
function isHidden({ dataset: { name, status, text } }) {
  if (onlyNew.checked && status === "known") return true;
  const has = (/** @type {string} */ some) => some.toLowerCase().includes(words());
  return !has(text ?? "") && !points.some((p) => names[p[2]] === name && has(p[3]));
}

function filter() {
  for (const card of cards) card.classList.toggle("hidden", isHidden(card));
  said.textContent = words() ? `${texts(points.filter(matches).length)} on the map` : "";
  map.lightUp(words() || chosen !== null || onlyNew.checked ? (i) => matches(points[i]) : null);
}

for (const card of cards) {
  const name = card.dataset.name ?? "";
  const dot = /** @type {HTMLElement} */ (card.querySelector(".dot"));
  dot.style.background = colour(names.indexOf(name));
  card.querySelector("button")?.addEventListener("click", () => {
    chosen = chosen === name ? null : name;
    filter();
    byId("map").closest("details").open = true;
    byId("map").scrollIntoView({ block: "nearest" });
  });
}
for (const plot of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-counts]"))) {
  const [counts, partial] = [plot.dataset.counts, plot.dataset.partial].map((some) =>
    (some ? some.split(",") : []).map(Number),
  );
  plot.append(linePlot(counts, `Utterances in each week: ${counts.join(", ")}`, partial));
}
search.addEventListener("input", () => {
  chosen = null;
  filter();
});
onlyNew.addEventListener("change", filter);
byId("zoom-in").addEventListener("click", () => map.zoom(1.5));
byId("zoom-out").addEventListener("click", () => map.zoom(1 / 1.5));
byId("reset").addEventListener("click", () => map.reset());
map.setPoints({
  x: Float32Array.from(points, (p) => p[0]),
  y: Float32Array.from(points, (p) => p[1]),
  intent: Int32Array.from(points, (p) => p[2]),
});
