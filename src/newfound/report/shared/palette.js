// The colours of the map, on the review page and in the report. An intent keeps its number, and with it its colour.

export const PALETTE = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#d55e00",
  "#cc79a7",
  "#56b4e9",
  "#8a7a00",
  "#7e57c2",
  "#a0522d",
  "#e0218a",
  "#00a5a5",
  "#6aa51c",
];
export const GREY = "#8b949e"; // known intents, and what belongs to no intent
/** @type {[number, string][]} Colours of probabilities below a limit. */
export const CERTAINTY = [
  [0.3, "#b3261e"],
  [0.6, "#e07b39"],
  [0.85, "#d9a400"],
  [Infinity, "#0a7a5a"],
];
export const DECISION = { none: "#b3261e", new: "#e69f00", accepted: "#009e73", checked: "#0072b2", known: GREY };

export const intentColour = (/** @type {number} */ number, /** @type {boolean} */ isKnown) =>
  isKnown ? GREY : PALETTE[number % PALETTE.length];
/** @param {number} probability */
export const certaintyColour = (probability) => CERTAINTY.find(([limit]) => probability < limit)?.[1] ?? GREY;
