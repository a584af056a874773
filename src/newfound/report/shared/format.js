// How numbers are written, on the review page and in the report. `newfound.text.percent` follows the same rule.

export function percent(share) {
  if (share === null || share === undefined) return "–";
  const hundredths = Math.floor(share * 10000 + 0.5); // of a percent, so that the rest is exact
  const tenths = Math.floor((hundredths + 5) / 10);
  if (tenths < 100) return `${Math.floor(tenths / 10)}.${tenths % 10} %`;
  return `${Math.floor((hundredths + 50) / 100)} %`;
}

export const count = (number) => number.toLocaleString("en");
export const plural = (number, noun, nouns = noun + "s") => `${count(number)} ${number === 1 ? noun : nouns}`;
