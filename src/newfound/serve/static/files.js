// Files of utterances: chosen or dropped, sent to the server, and shown before anything is learned from them.
import { post, problem } from "./api.js";
import { attempt } from "./decisions.js";
import { bullets, button, el, fill, lastOf, quiet, row, table } from "./dom.js";
import { selectControl } from "./parts.js";
import { go } from "./router.js";
import { t } from "./strings.js";

const COMPRESSIBLE = [".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".txt", ".log"]; // text is sent compressed
const ROLES = /** @type {const} */ (["text", "label"]); // of columns
const MAX_NOTES = 3;
const MILLISECONDS_AFTER_A_DRAG = 800; // browsers tell of a drag more often than that

/** @typedef {import("./store.js").Slot} Slot */

/** @param {Slot} s @param {File} file */
function put(s, file) {
  Object.assign(s, { file, options: {} });
  return read(s);
}

/** Send the file of a slot and keep what the server says about it. @param {Slot} s */
export async function read(s, options = s.options) {
  const { file, maxBytes } = s;
  if (!file) return;
  const replaces = s.preview?.id;
  Object.assign(s, { options, preview: null, refused: null, isTaken: false });
  s.onChange();
  try {
    const content = await packed(file);
    if (content.size > maxBytes) throw new Error(t("file.tooLarge", { name: file.name, most: megabytes(maxBytes) }));
    const query = { name: file.name.slice(-200), use: s.use, replaces, ...options };
    const preview = await post("/v1/files", content, query);
    if (s.file === file) s.preview = preview;
  } catch (error) {
    if (s.file === file) s.refused = problem(error);
  }
  s.onChange();
}

/** @param {number} bytes */
const megabytes = (bytes) => `${Math.round(bytes / 2 ** 20)} MB`;

/** @param {File} file @returns {Promise<Blob>} */
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
  s.maxBytes = maxBytes;
  const node = el("div", { class: "slot" });
  const take = (/** @type {File | undefined} */ file) => file && put(s, file);
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
    quiet(t("file.formats")),
  ]);
  fill(node, s.file ? chosen(s, s.file.name, label) : [input, chooser]);
  return node;
}

function chosen(/** @type {Slot} */ s, /** @type {string} */ name, /** @type {string} */ label) {
  const naming = { class: "small", "aria-label": t("file.removeNamed", { name }) };
  const head = el("div", { class: "row between" }, [
    el("span", [quiet(`${label}: `), el("strong", name)]),
    button(t("file.remove"), () => s.empty(), naming),
  ]);
  if (s.refused) return [head, el("p", { class: "refused", role: "alert" }, s.refused)];
  if (!s.preview) return [head, el("p", { role: "status" }, t("file.reading"))];
  return [head, s.isReady ? holds(s, s.preview) : isUnclear(s, s.preview)];
}

/** What a usable file holds. @param {Slot} s @param {FilePreview} p */
function holds(s, p) {
  const hasLabels = p.label_column !== null;
  const columns = [p.columns.length ? p.text_column : t("file.utterance"), p.label_column];
  const rows = p.first.map(([text, label]) => (hasLabels ? [text, label] : [text]));
  const all = el("strong", t("utterances", { n: p.utterances }));
  const notes = p.notes.slice(0, MAX_NOTES);
  return [
    el("p", { role: "status" }, [all, p.intents > 0 && t("file.ofIntents", { n: p.intents })]),
    columnChoices(s, p, hasLabels ? ["text", "label"] : ["text"]),
    table(
      columns.slice(0, hasLabels ? 2 : 1).map((name) => [name]),
      rows,
      {
        class: "preview",
        "aria-label": t("file.first"),
      },
    ),
    notes.length > 0 && bullets(notes, { class: "quiet notes" }),
  ];
}

/** Why a file cannot be used as it is, and what would make it usable. @param {Slot} s @param {FilePreview} p */
function isUnclear(s, p) {
  const roles = ROLES.filter((role) => p.remedies.includes(`${role}_column`));
  return [
    el("p", { class: "refused", role: "alert" }, `${p.problem}.`),
    columnChoices(s, p, roles),
    p.remedies.includes("no_header") && row(button(t("file.noHeader"), () => read(s, { header: false }))),
  ];
}

/** @param {Slot} s @param {FilePreview} p @param {(typeof ROLES)[number][]} roles */
function columnChoices(s, p, roles) {
  if (p.columns.length < 2 || !roles.length) return null;
  const choice = (/** @type {(typeof ROLES)[number]} */ role) => {
    const key = /** @type {const} */ (`${role}_column`);
    const now = p[key] ?? s.options[key] ?? "";
    const names = p.columns.map((name) => [name, name]);
    const options = Object.fromEntries(now === "" ? [["", t("file.chooseColumn")], ...names] : names);
    return selectControl(`${s.id}-${role}`, t(`file.column.${role}`), options, now, (column) =>
      read(s, { ...s.options, [key]: column }),
    );
  };
  return row(roles.map(choice));
}

// ---------------------------------------------------------------- a file that is dropped anywhere on the page

const hint = el("div", { class: "drop-hint", hidden: true }, el("p", t("file.dropHere")));
const endDrag = () => (hint.hidden = true);
const endDragLater = lastOf(MILLISECONDS_AFTER_A_DRAG); // no event tells that a drag was given up

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
    hint.hidden = false;
    endDragLater(endDrag);
  });
  addEventListener("drop", async (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    endDrag();
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    go("#train");
    await attempt(async () => {
      s.maxBytes = await maxBytes();
      await put(s, file);
    });
  });
}
