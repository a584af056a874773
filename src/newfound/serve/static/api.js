// Requests to the server.
import { el } from "./dom.js";
import { store } from "./store.js";
import { t } from "./strings.js";

/** What the server refused, with the status of its answer; 0 if there was none. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {number} status
   * @param {number | null} [entry] The decision of somebody else that is in the way.
   */
  constructor(message, status, entry = null) {
    super(message);
    this.status = status;
    this.entry = entry;
  }
}

/** The page hears this event when the server answers again. */
export const BACK = "newfound-back";

/** @param {Document} page @returns {HTMLMetaElement | null} */
const secretIn = (page) => page.querySelector("meta[name=csrf]");

/** @param {string} path @param {object} [body] */
async function send(path, body) {
  const isFile = body instanceof Blob;
  const type = isFile ? "application/octet-stream" : "application/json";
  const headers = { "content-type": type, "x-csrf-token": secretIn(document)?.content ?? "" };
  let response;
  try {
    response = await fetch(path, body && { method: "POST", headers, body: isFile ? body : JSON.stringify(body) });
  } catch {
    store.server.isAway = true;
    throw new Refusal(t("error.noServer"), 0);
  }
  if (store.server.isAway) dispatchEvent(new Event(BACK));
  store.server.isAway = false;
  return response;
}

// A server that was started anew has another secret; its page tells it.
async function renewSecret() {
  const response = await send("/");
  if (!response.ok || new URL(response.url).pathname !== "/") return false;
  const [present, renewed] = [document, new DOMParser().parseFromString(await response.text(), "text/html")].map(
    secretIn,
  );
  if (!present || !renewed || renewed.content === present.content) return false;
  present.content = renewed.content;
  return true;
}

/** @type {<P extends keyof Gets>(path: P, query?: Gets[P]["query"]) => Promise<Gets[P]["answer"]>} */
export const get = (path, query) => request(path + inAddress(query));

// A body that is a Blob is sent as it is, and all else as JSON.
/** @type {<P extends keyof Posts>(path: P, body: object, query?: Posts[P]["query"]) => Promise<Posts[P]["answer"]>} */
export const post = (path, body, query) => request(path + inAddress(query), body);

/** @param {Record<string, any>} query A list is a parameter that is given several times. */
function inAddress(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const pairs = given.flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

/** @param {string} path @param {object} [body] Without it, the request is a GET. */
export async function request(path, body) {
  let response = await send(path, body);
  if (response.status === 403 && body !== undefined && (await renewSecret())) response = await send(path, body);
  if (response.ok) return response.json();
  const { detail, entry } = await problemIn(response);
  throw new Refusal(response.status === 401 ? t("error.loggedOut") : sentence(detail), response.status, entry);
}

/** @param {Response} response */
async function problemIn(response) {
  try {
    const { detail, entry } = await response.json();
    if (typeof detail === "string") return { detail, entry };
    return { detail: detail.map((/** @type {{ what: string }} */ d) => d.what).join("; ") };
  } catch {
    return { detail: response.statusText }; // no JSON: the status says it
  }
}

/** @param {string} text */
export const sentence = (text) =>
  text ? text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".") : "";

/**
 * What to show of an error. After a restart the server does not know the login any more; the link leads back here.
 * @param {any} error
 * @returns {Child[]}
 */
export const problem = (error) => [
  error.message,
  error.status === 401 && [" ", el("a", { href: "/login", onclick: rememberPlace }, t("login.again"))],
];

export function rememberPlace() {
  sessionStorage.setItem("newfound-place", location.hash);
}
