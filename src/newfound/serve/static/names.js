// Names of intents that are close to what somebody typed.

/** @param {string} text */
const plain = (text) =>
  text
    .toLowerCase()
    .replace(/[\s_-]+/g, " ")
    .trim();

/**
 * Count the pairs of neighbouring letters.
 * @param {string} text
 */
function pairs(text) {
  const letters = ` ${plain(text)} `;
  const found = new Map();
  for (let i = 0; i + 1 < letters.length; i++) {
    const pair = letters.slice(i, i + 2);
    found.set(pair, (found.get(pair) || 0) + 1);
  }
  return found;
}

/**
 * Dice's coefficient of the pairs of letters.
 * @param {string} one
 * @param {string} other
 */
function similarity(one, other) {
  const [a, b] = [pairs(one), pairs(other)];
  let [common, all] = [0, 0];
  for (const [pair, n] of a) {
    common += Math.min(n, b.get(pair) || 0);
    all += n;
  }
  for (const n of b.values()) all += n;
  return (2 * common) / all;
}

/**
 * @param {string} typed
 * @param {Intent[]} intents
 * @param {number} most
 */
export function nearest(typed, intents, most) {
  const wanted = plain(typed);
  if (!wanted) return intents.slice(0, most);
  const score = (/** @type {string} */ name) =>
    (plain(name) === wanted ? 3 : plain(name).includes(wanted) ? 2 : 0) + similarity(typed, name);
  const scores = new Map(intents.map((i) => [i, score(i.name)]));
  return intents.toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0)).slice(0, most);
}
