// Files of utterances: chosen or dropped, sent to the server, and shown before anything is learned from them.
import { api, problem } from "./api.js";
import { attempt } from "./decisions.js";
import { bullets, button, el, fill, heading, row, table } from "./dom.js";
import { selectControl } from "./parts.js";
import { go } from "./router.js";
import { t } from "./strings.js";

const COMPRESSIBLE = [".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".txt", ".log"]; // text is sent compressed
const MAX_NOTES = 3;
const MILLISECONDS_AFTER_A_DRAG = 800; // browsers tell of a drag more often than that

/**
 * A place for one file. What was chosen stays while other views are shown.
 * @typedef {object} Slot
 * @property {string} id
 * @property {"known" | "logs"} use
 * @property {File | null} file
 * @property {FilePreview | null} preview What the server has read; null while it reads.
 * @property {boolean} isTaken Whether a job has taken what was sent.
 * @property {Child} refused Why the file was not sent or not read.
 * @property {{ text_column?: string, label_column?: string, header?: string }} options
 * @property {() => void} onChange
 */

/**
 * @param {string} id
 * @param {"known" | "logs"} use
 * @returns {Slot}
 */
export const slot = (id, use) => ({
  id,
  use,
  file: null,
  preview: null,
  isTaken: false,
  refused: null,
  options: {},
  onChange: () => {},
});

/** @param {Slot} s */
export const isReady = (s) => Boolean(s.preview?.id);

/** @param {Slot} s */
export function empty(s) {
  Object.assign(s, { file: null, preview: null, refused: null, options: {} });
  s.onChange();
}

/**
 * @param {Slot} s
 * @param {File} file
 * @param {number} maxBytes
 */
export async function put(s, file, maxBytes) {
  Object.assign(s, { file, options: {} });
  await read(s, maxBytes);
}

/**
 * Send the file and keep what the server says about it.
 * @param {Slot} s
 * @param {number} maxBytes
 */
export async function read(s, maxBytes) {
  const { file, options } = s;
  if (!file) return;
  const readBefore = s.preview?.id;
  Object.assign(s, { preview: null, refused: null, isTaken: false });
  s.onChange();
  try {
    const content = await packed(file);
    if (content.size > maxBytes) throw new Error(t("file.tooLarge", { name: file.name, most: megabytes(maxBytes) }));
    const earlier = readBefore && { replaces: readBefore };
    const query = new URLSearchParams({ name: file.name.slice(-200), use: s.use, ...options, ...earlier });
    const preview = await api(`/v1/files?${query}`, content);
    if (s.file === file) s.preview = preview;
  } catch (error) {
    if (s.file === file) s.refused = problem(error);
  }
  s.onChange();
}

/** @param {number} bytes */
const megabytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MB`;

/**
 * @param {File} file
 * @returns {Promise<Blob>}
 */
async function packed(file) {
  const name = file.name.toLowerCase();
  try {
    if (!COMPRESSIBLE.some((ending) => name.endsWith(ending))) return new Blob([await file.arrayBuffer()]);
    const stream = new Blob([await file.arrayBuffer()]).stream().pipeThrough(new CompressionStream("gzip"));
    return await new Response(stream).blob();
  } catch {
    throw new Error(t("file.unreadable", { name: file.name })); // moved, or changed since it was chosen
  }
}

/**
 * The place for a file as it is shown: a field to choose one, or what the chosen one holds.
 * @param {Slot} s
 * @param {string} label
 * @param {Training} training
 */
export function slotView(s, label, { endings, max_bytes: maxBytes }) {
  const node = el("div", { class: "slot" });
  const take = (/** @type {File | undefined} */ file) => file && put(s, file, maxBytes);
  node.addEventListener("dragover", (event) => {
    event.preventDefault();
    event.stopPropagation(); // the page would say that it takes the file for newer logs
    endDrag();
    node.classList.add("over");
  });
  node.addEventListener("dragleave", () => node.classList.remove("over"));
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    node.classList.remove("over");
    endDrag();
    take(event.dataTransfer?.files[0]);
  });
  const input = el("input", { type: "file", id: s.id, class: "file", accept: endings.join(",") });
  input.addEventListener("change", () => take(input.files?.[0]));
  const chooser = el("label", { class: "choose", for: s.id }, [
    el("strong", label),
    el("span", { class: "act wide" }, t("file.dropOrChoose")),
    el("span", { class: "act narrow" }, t("file.choose")),
    el("span", { class: "quiet" }, t("file.formats")),
  ]);
  fill(node, s.file ? chosen(s, label, maxBytes) : [input, chooser]);
  return node;
}

/**
 * @param {Slot} s
 * @param {string} label
 * @param {number} maxBytes
 */
function chosen(s, label, maxBytes) {
  const name = s.file?.name ?? "";
  const remove = button(t("file.remove"), () => empty(s), {
    class: "small",
    "aria-label": t("file.removeNamed", { name }),
  });
  const head = el("div", { class: "row between" }, [
    el("span", [el("span", { class: "quiet" }, `${label}: `), el("strong", name)]),
    remove,
  ]);
  if (s.refused) return [head, el("p", { class: "refused", role: "alert" }, s.refused)];
  if (!s.preview) return [head, el("p", { role: "status" }, t("file.reading"))];
  return [head, s.preview.id ? holds(s, s.preview, maxBytes) : isUnclear(s, s.preview, maxBytes)];
}

/**
 * What a usable file holds.
 * @param {Slot} s
 * @param {FilePreview} p
 * @param {number} maxBytes
 */
function holds(s, p, maxBytes) {
  const hasLabels = p.label_column !== null;
  const headings = [
    heading(p.columns.length ? (p.text_column ?? "") : t("file.utterance")),
    hasLabels && heading(p.label_column ?? ""),
  ];
  const rows = p.first.map(({ text, label }) => el("tr", [el("td", text), hasLabels && el("td", label ?? "")]));
  const all = el("strong", t("utterances", { n: p.utterances }));
  const notes = p.notes.slice(0, MAX_NOTES);
  return [
    el("p", { role: "status" }, [all, p.intents > 0 && t("file.ofIntents", { n: p.intents })]),
    columnChoices(s, p, p.columns.length > 1 ? ["text", hasLabels && "label"] : [], maxBytes),
    table({ class: "preview", "aria-label": t("file.first") }, headings, rows),
    notes.length > 0 && bullets(notes, { class: "quiet notes" }),
  ];
}

/**
 * Why a file cannot be used as it is, and what would make it usable.
 * @param {Slot} s
 * @param {FilePreview} p
 * @param {number} maxBytes
 */
function isUnclear(s, p, maxBytes) {
  const roles = ["text", "label"].filter((role) => p.columns.length > 1 && p.remedies.includes(`${role}_column`));
  const hasNoHeader = () => {
    s.options = { header: "false" };
    read(s, maxBytes);
  };
  return [
    el("p", { class: "refused", role: "alert" }, `${p.problem}.`),
    columnChoices(s, p, roles, maxBytes),
    p.remedies.includes("no_header") && row(button(t("file.noHeader"), hasNoHeader)),
  ];
}

/**
 * @param {Slot} s
 * @param {FilePreview} p
 * @param {Child[]} roles
 * @param {number} maxBytes
 */
function columnChoices(s, p, roles, maxBytes) {
  const choice = (/** @type {Child} */ role) => {
    if (role !== "text" && role !== "label") return null;
    const key = /** @type {const} */ (`${role}_column`);
    const now = p[key] ?? s.options[key] ?? "";
    const names = p.columns.map((name) => [name, name]);
    const options = Object.fromEntries(now === "" ? [["", t("file.chooseColumn")], ...names] : names);
    return selectControl(`${s.id}-${role}`, t(`file.column.${role}`), options, now, (column) => {
      s.options = { ...s.options, [key]: column };
      read(s, maxBytes);
    });
  };
  return roles.some(Boolean) && row(roles.map(choice));
}

// ---------------------------------------------------------------- a file that is dropped anywhere on the page

const hint = el("div", { class: "drop-hint", hidden: true }, el("p", t("file.dropHere")));

/** @type {number | undefined} */
let hintTimer;
function endDrag() {
  clearTimeout(hintTimer);
  hint.hidden = true;
}

/**
 * Take a file that is dropped anywhere, and show it in the view that uses it.
 * @param {Slot} s
 * @param {() => Promise<number>} maxBytes
 */
export function acceptDrops(s, maxBytes) {
  document.body.append(hint);
  const isFile = (/** @type {DragEvent} */ event) => Boolean(event.dataTransfer?.types.includes("Files"));
  addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault(); // otherwise the browser would open the file
    clearTimeout(hintTimer);
    hint.hidden = false;
    hintTimer = setTimeout(endDrag, MILLISECONDS_AFTER_A_DRAG); // no event tells that a drag was given up
  });
  addEventListener("drop", async (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    endDrag();
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    go("#train");
    await attempt(async () => put(s, file, await maxBytes()));
  });
}
