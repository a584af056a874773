// How numbers are written, on the review page and in the report. `newfound.text.percent` follows the same rule.

/** @param {number | null | undefined} share */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const hundredths = Math.floor(share * 10000 + 0.5); // of a percent, so that the rest is exact
  const tenths = Math.floor((hundredths + 5) / 10);
  if (tenths < 100) return `${Math.floor(tenths / 10)}.${tenths % 10} %`;
  return `${Math.floor((hundredths + 50) / 100)} %`;
}

/** @param {number} number */
export const count = (number) => number.toLocaleString(document.documentElement.lang);
