// The colours of the map, on the review page and in the report. The number of an intent stays with it, so its colour does.

export const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9",
  "#8a7a00", "#7e57c2", "#a0522d", "#e0218a", "#00a5a5", "#6aa51c"];
export const GREY = "#8b949e"; // known intents, and what belongs to no intent
export const CERTAINTY = [[0.5, "#b3261e", "below 50 %"], [0.7, "#e07b39", "50 to 70 %"], [0.85, "#d9a400", "70 to 85 %"],
  [0.95, "#6aa56a", "85 to 95 %"], [Infinity, "#0a7a5a", "95 % and more"]];
export const DECISION = { none: ["#b3261e", "no intent"], new: ["#e69f00", "new, nobody has decided"], accepted: ["#009e73", "in an accepted intent"],
  checked: ["#0072b2", "checked by a person"], known: [GREY, "in a known intent"] };

export const intentColour = (number, isKnown) => isKnown ? GREY : PALETTE[number % PALETTE.length];
export const certaintyColour = (probability) => CERTAINTY.find(([limit]) => probability < limit)[1];
