// Building the document. All text from the model goes into it as text, never as markup.

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

/** @param {Attributes | Child} value @returns {value is Attributes} */
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

/** An element of the page that is always there. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @param {Child} label @param {() => unknown} action @param {Attributes} [attributes] */
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
/** What a key does as well, on a button. @param {string} key @param {Child} label */
export const keyed = (key, label) => [kbd(key), " ", label];
/** A link that looks like a button. @param {string} href @param {string} label */
export const linkButton = (href, label, attributes = {}) => el("a", { class: "button", href, ...attributes }, label);
/** A part of a view under its title. @param {string} title @param {Child} content */
export const section = (title, content, attributes = {}) =>
  el("section", { "aria-label": title, ...attributes }, [el("h3", title), content]);
// A part that is folded or not, and that is told when this changes.
/** @type {(title: Child, content: Child, isOpen: boolean, keep?: Keep, more?: Attributes) => HTMLDetailsElement} */
export function fold(title, content, isOpen, keep = () => {}, attributes = {}) {
  const node = el("details", { open: isOpen, ...attributes }, [el("summary", title), content]);
  node.addEventListener("toggle", () => keep(node.open));
  return node;
}
// A box to tick, with its label.
/** @type {(id: string, label: string, isOn: boolean, keep: Keep, attributes?: Attributes) => HTMLElement} */
export function checkbox(id, label, isOn, onChange, attributes = {}) {
  const box = el("input", { type: "checkbox", id, checked: isOn });
  box.addEventListener("change", () => onChange(box.checked));
  return el("label", { class: "control", ...attributes }, [box, " ", label]);
}
/** @param {Child[]} items */
export const bullets = (items, attributes = {}) =>
  el(
    "ul",
    attributes,
    items.map((item) => el("li", { dir: "auto" }, item)),
  );

/**
 * @param {Column[]} columns Only screen readers read the headings of boxes and actions.
 * @param {(Child[] | HTMLElement)[]} rows What the cells of each row hold, or a row.
 */
export function table(columns, rows, attributes = {}) {
  const isHidden = (/** @type {string} */ kind) => kind === "box" || kind === "action";
  const headings = columns.map(([text, kind = ""]) =>
    el("th", { class: kind }, isHidden(kind) ? el("span", { class: "hidden" }, text) : text),
  );
  const body = rows.map((cells) => (Array.isArray(cells) ? tableRow(columns, cells) : cells));
  return el("table", attributes, [el("thead", el("tr", headings)), el("tbody", body)]);
}
/** @param {Column[]} columns @param {Child[]} cells */
export const tableRow = (columns, cells, attributes = {}) =>
  el(
    "tr",
    attributes,
    cells.map((child, k) => el("td", { class: columns[k][1] ?? "" }, child)),
  );

/**
 * Do only the last of several things that follow each other quickly.
 * @param {number} milliseconds To wait for another one.
 */
export function lastOf(milliseconds) {
  /** @type {number | undefined} */
  let timer;
  return (/** @type {() => unknown} */ act) => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}
