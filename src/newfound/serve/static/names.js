// Names of intents that are close to what somebody typed.

const plain = (text) => text.toLowerCase().replace(/[\s_\-]+/g, " ").trim();
function pairs(text) { // of neighbouring letters
  const letters = ` ${plain(text)} `, found = new Map();
  for (let i = 0; i + 1 < letters.length; i++) {
    const pair = letters.slice(i, i + 2);
    found.set(pair, (found.get(pair) || 0) + 1);
  }
  return found;
}

export function similarity(one, other) { // Dice's coefficient of the pairs of letters
  const a = pairs(one), b = pairs(other);
  let common = 0, all = 0;
  for (const [pair, n] of a) { common += Math.min(n, b.get(pair) || 0); all += n; }
  for (const n of b.values()) all += n;
  return 2 * common / all;
}

export function nearest(typed, intents, most) {
  const wanted = plain(typed);
  if (!wanted) return intents.slice(0, most);
  const score = (i) => (plain(i.name) === wanted ? 3 : plain(i.name).includes(wanted) ? 2 : 0) + similarity(typed, i.name);
  return intents.map((i) => [score(i), i]).sort(([a], [b]) => b - a).slice(0, most).map(([, i]) => i);
}
