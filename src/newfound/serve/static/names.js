// Names of intents that are close to what somebody typed.

/** @param {string} text */
const plain = (text) =>
  text
    .toLowerCase()
    .replace(/[\s_-]+/g, " ")
    .trim();

/** @param {string} text */
function pairs(text) {
  const letters = ` ${plain(text)} `;
  return new Set([...letters].slice(1).map((letter, i) => letters[i] + letter));
}

/** Dice's coefficient of the pairs of neighbouring letters. @param {string} one @param {string} other */
function similarity(one, other) {
  const [a, b] = [pairs(one), pairs(other)];
  return (2 * [...a].filter((pair) => b.has(pair)).length) / (a.size + b.size);
}

/** @param {string} typed @param {Intent[]} intents @param {number} most */
export function nearest(typed, intents, most) {
  const wanted = plain(typed);
  if (!wanted) return intents.slice(0, most);
  const score = (/** @type {string} */ name) =>
    (plain(name) === wanted ? 3 : plain(name).includes(wanted) ? 2 : 0) + similarity(typed, name);
  const scores = new Map(intents.map((i) => [i, score(i.name)]));
  return intents.toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0)).slice(0, most);
}
