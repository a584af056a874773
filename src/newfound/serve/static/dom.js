// Building the document. All text from the model goes into it as text, never as markup.

export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...present(children));
  return node;
}

// Conditions in the views leave false, null or undefined among the children; the document would show them as words.
export const present = (children) => children.flat(Infinity).filter((child) => child !== false && child !== null && child !== undefined);
export const fill = (node, ...children) => node.replaceChildren(...present(children));
export const byId = (id) => document.getElementById(id);
export const button = (label, action, attributes) => el("button", { type: "button", onclick: action, ...attributes }, label);
export const quiet = (...children) => el("span", { class: "quiet" }, ...children);
