// Requests to the server.
import { el } from "./dom.js";

let csrf = document.querySelector("meta[name=csrf]").content;

async function send(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": csrf },
    body: JSON.stringify(body),
  };
  try {
    return await fetch(path, options);
  } catch {
    const error = new Error("The server does not answer. Is it still running?");
    error.status = 0;
    throw error;
  }
}

// A server that was started anew has another secret; its page tells it.
async function renewSecret() {
  const response = await send("/");
  if (!response.ok || new URL(response.url).pathname !== "/") return false;
  const found = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("meta[name=csrf]");
  const isNew = Boolean(found) && found.content !== csrf;
  if (isNew) csrf = found.content;
  return isNew;
}

export async function api(path, body) {
  let response = await send(path, body);
  if (response.status === 403 && body !== undefined && await renewSecret()) response = await send(path, body);
  if (response.ok) return response.json();
  let detail = response.statusText;
  try {
    const found = (await response.json()).detail;
    detail = typeof found === "string" ? found : found.map((f) => f.what).join("; ");
  } catch { /* no JSON: the status says it */ }
  const error = new Error(response.status === 401 ? "You are logged out." : sentence(detail));
  error.status = response.status;
  throw error;
}

const sentence = (text) => text ? text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".") : "";

// What to show of an error. After a restart the server does not know the login any more; the link leads back here.
export const problem = (error) => [error.message, error.status === 401 && [" ", el("a", { href: "/login", onclick: rememberPlace }, "Log in again")]];

export function rememberPlace() {
  sessionStorage.setItem("newfound-place", location.hash);
}
