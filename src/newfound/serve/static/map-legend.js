// What the colours of the map mean.
import { bullets, button, el, quiet } from "./dom.js";
import { count } from "./format.js";
import { CERTAINTY, DECISION, GREY } from "./palette.js";
import { SURE, spot } from "./parts.js";
import { intentNamed } from "./review.js";
import { t } from "./strings.js";
import { tally } from "./utterances.js";

/** The coarsest group that an intent is in. @param {string} name */
export function groupOf(name) {
  const path = intentNamed(name)?.path;
  return path ? path.split("/")[0] : null;
}

/** @param {string} colour @param {string} label @param {string} [extra] */
const legendEntry = (colour, label, extra = "") => [spot(colour), " ", label, " ", quiet(extra)];
/** @param {Child[]} entries */
const legendList = (entries) => bullets(entries, { class: "plain legend" });

export const certaintyLegend = () => legendList(CERTAINTY.map(([, colour], k) => legendEntry(colour, t(SURE[k]))));

/** @param {Map<keyof typeof DECISION, number>} sizes */
export function decisionLegend(sizes) {
  const entries = /** @type {[keyof typeof DECISION, string][]} */ (Object.entries(DECISION));
  const size = (/** @type {keyof typeof DECISION} */ kind) => count(sizes.get(kind) ?? 0);
  return legendList(entries.map(([kind, colour]) => legendEntry(colour, t(`map.kind.${kind}`), size(kind))));
}

/**
 * @param {import("./view-map.js").MapParts} parts
 * @param {Int32Array} counts
 * @param {boolean} isGrouped
 * @param {number | null} kept
 * @param {{ onPoint: (k: number | null) => void, onKeep: (k: number | null) => void }} handlers
 */
export function intentLegend({ names, of, colours, areKnown }, counts, isGrouped, kept, { onPoint, onKeep }) {
  const sizes = tally([...of], counts);
  const size = (/** @type {number} */ k) => sizes.get(k) ?? 0;
  const order = [...names.keys()]
    .filter((k) => sizes.has(k))
    .sort((a, b) => Number(areKnown[a]) - Number(areKnown[b]) || size(b) - size(a));
  const entry = (/** @type {number} */ k) =>
    button(legendEntry(colours[k], names[k], count(size(k))), () => onKeep(kept === k ? null : k), {
      class: "plain entry",
      "data-intent": names[k],
      "aria-pressed": String(kept === k),
      onpointerenter: () => onPoint(k),
      onpointerleave: () => onPoint(null),
      onfocus: () => onPoint(k),
      onblur: () => onPoint(null),
    });
  const rest = sizes.has(-1) && legendEntry(GREY, t("noIntent"), count(size(-1)));
  const group = (/** @type {number} */ k) => (isGrouped ? null : groupOf(names[k]));
  const ungroupedLast = (/** @type {string | null} */ a, /** @type {string | null} */ b) =>
    Number(a === null) - Number(b === null) || (a ?? "").localeCompare(b ?? "");
  const groups = [...new Set(order.map(group))].sort(ungroupedLast);
  const part = (/** @type {string | null} */ one) => [
    groups.length > 1 && el("h4", one ?? t("intents.noGroup")),
    legendList(order.filter((k) => group(k) === one).map(entry)),
  ];
  return [
    kept !== null && button(t("map.showAll"), () => onKeep(null), { class: "small" }),
    groups.map(part),
    rest && legendList([rest]),
  ];
}
