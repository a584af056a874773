// Building the document. All text from the model goes into it as text, never as markup.

/** @typedef {Record<string, any>} Attributes */

/**
 * Make an element. Its attributes may be left out; `on…` are listeners.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes | Child} [attributes]
 * @param {Child} [children]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes, children) {
  const node = document.createElement(tag);
  if (!isAttributes(attributes)) {
    fill(node, attributes);
    return node;
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  fill(node, children);
  return node;
}

/**
 * @param {Attributes | Child} value
 * @returns {value is Attributes}
 */
const isAttributes = (value) => Object.getPrototypeOf(value ?? "") === Object.prototype;

/**
 * Replace what is inside an element. Conditions in the views leave false, null or undefined among the children; the
 * document would show them as words.
 * @param {Element} node
 * @param {Child[]} children
 */
export function fill(node, ...children) {
  const present = /** @type {(Node | string)[]} */ (
    /** @type {any[]} */ (children)
      .flat(Infinity)
      .filter((child) => child !== false && child !== null && child !== undefined)
  );
  node.replaceChildren(...present);
}

/**
 * An element of the page that is always there.
 * @param {string} id
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id);

/**
 * @param {Child} label
 * @param {() => unknown} action
 * @param {Attributes} [attributes]
 */
export const button = (label, action, attributes) =>
  el("button", { type: "button", onclick: action, ...attributes }, label);

/** @param {Child[]} children */
export const quiet = (...children) => el("span", { class: "quiet" }, children);
/** @param {Child[]} children */
export const quietLine = (...children) => el("p", { class: "quiet" }, children);
/** @param {string} key */
export const kbd = (key) => el("kbd", key);
/** @param {Child[]} children */
export const row = (...children) => el("div", { class: "row" }, children);
/** @param {Child[]} items */
export const bullets = (items, attributes = {}) =>
  el(
    "ul",
    attributes,
    items.map((item) => el("li", item)),
  );

/**
 * A table with a line of headings.
 * @param {Attributes} attributes
 * @param {Child[]} headings
 * @param {Child} rows
 */
export const table = (attributes, headings, rows) =>
  el("table", attributes, [el("thead", el("tr", headings)), el("tbody", rows)]);
/** @param {string} text */
export const heading = (text, attributes = {}) => el("th", attributes, text);
/** @param {string} text */
export const hiddenHeading = (text) => el("th", el("span", { class: "hidden" }, text)); // for screen readers
