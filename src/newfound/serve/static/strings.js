// The page's texts. They are all in one table, so that another language can be one more object like `english`.
import { count } from "./format.js";
import { english } from "./strings-en.js";

/** @typedef {typeof english} English */
/** @typedef {keyof English} Key */

const forms = new Intl.PluralRules(document.documentElement.lang);

const template = (/** @type {Key} */ key, /** @type {Record<string, unknown>} */ values) =>
  english[key].replace(/\{(\w+)\|(.*?)\|(.*?)\}/g, (_, name, one, other) => {
    const n = Number(values[name]);
    return (forms.select(n) === "one" ? one : other).replace("#", count(n));
  });

/** @param {unknown} value */
const written = (value) => (typeof value === "number" ? count(value) : value);

// A text with its parameters.
/** @type {<K extends Key>(key: K, ...values: Arguments<English[K], string | number>) => string} */
export function t(key, ...values) {
  const named = /** @type {Record<string, unknown>} */ (values[0] ?? {});
  return template(key, named).replace(/\{(\w+)\}/g, (_, name) => String(written(named[name])));
}

// The same where parameters may be parts of the document: returns children.
/** @type {<K extends Key>(key: K, ...values: Arguments<English[K], Child>) => Child[]} */
export function rich(key, ...values) {
  const named = /** @type {Record<string, Child>} */ (values[0] ?? {});
  const pieces = template(key, named).split(/\{(\w+)\}/); // every second one is the name of a parameter
  return pieces.map((piece, k) => (k % 2 ? /** @type {Child} */ (written(named[piece])) : piece));
}

/** A name that may go on in another line after each underscore and slash. @param {string} name @returns {Child[]} */
export const breakable = (name) => name.split(/(?<=[_/])/).flatMap((part) => [part, document.createElement("wbr")]);

/** Fill in the texts of the document as the server sent it: `data-text` is the element's, `data-title` its title. */
export function fillTexts() {
  const attributes = { title: "title", label: "aria-label", placeholder: "placeholder" };
  for (const node of document.querySelectorAll("[data-text], [data-title], [data-label], [data-placeholder]")) {
    const keys = /** @type {Record<string, Key>} */ (/** @type {HTMLElement} */ (node).dataset);
    if (keys.text) node.textContent = template(keys.text, {});
    for (const [key, attribute] of Object.entries(attributes)) {
      if (keys[key]) node.setAttribute(attribute, template(keys[key], {}));
    }
  }
}
