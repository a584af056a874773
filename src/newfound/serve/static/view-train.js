// Training: on the decisions, on newer logs, or anew. One job runs at a time, and every open page shows the same.
import { api } from "./api.js";
import { attempt } from "./decisions.js";
import { button, byId, el, fill, quietLine, row } from "./dom.js";
import { acceptDrops, empty, isReady, read, slot, slotView } from "./files.js";
import { say } from "./messages.js";
import { who } from "./store.js";
import { t } from "./strings.js";
import { donePanel, endedPanel, runningPanel } from "./train-job.js";

const MILLISECONDS_BETWEEN_LOOKS = { running: 500, otherwise: 2500 };
const KINDS_OF_DECISIONS = /** @type {const} */ (["answers", "accepted", "merged", "split", "renamed", "rejected"]);
const newer = slot("newer-logs", "logs");
const anew = { logs: slot("other-logs", "logs"), known: slot("known-file", "known") };
const options = {
  update: { number: "", redact: false, isOpen: false },
  discover: { number: "", redact: false, isOpen: false },
};
let acceptsAll = false; // whether an update keeps the intents that nobody has accepted
/** @type {Training} */
let training;
let jobBox = el("div");
let cardBox = el("div");
/** @type {Job["status"]} */
let heardStatus = "idle";
/** @type {Job | null} */
let lostJob = null; // one that this page has seen run and that the server does not know any more

export async function trainView() {
  training = await look();
  [jobBox, cardBox] = [el("div", { "aria-live": "polite" }), el("div")];
  for (const s of [newer, anew.logs, anew.known]) s.onChange = drawCards;
  drawJob();
  drawCards();
  follow(jobBox);
  return { title: t("train.title"), onNews: () => false, content: [el("h2", t("train.title")), jobBox, cardBox] };
}

/** @returns {Promise<Training>} */
const look = () => api("/v1/review/training");

/**
 * Tell the end of a job where it is not shown anyway.
 * @param {Job["status"]} status
 */
export function hearOfJob(status) {
  if (heardStatus === "running" && status !== "running" && !jobBox.isConnected)
    say([t(`job.said.${status}`), " ", el("a", { href: "#train" }, t("job.look"))]);
  heardStatus = status;
}

export const acceptDroppedLogs = () => acceptDrops(newer, async () => (await look()).max_bytes);

/**
 * Look at the job again and again while the view is shown.
 * @param {HTMLElement} box The one of this view: a later view follows by itself.
 */
function follow(box) {
  const pause = MILLISECONDS_BETWEEN_LOOKS[isRunning() ? "running" : "otherwise"];
  setTimeout(async () => {
    if (box !== jobBox || !box.isConnected) return;
    try {
      update(await look());
    } catch {
      // the server is being started again, or the news say what is wrong
    }
    follow(box);
  }, pause);
}

/** @param {Training} latest */
function update(latest) {
  const withoutTime = (/** @type {Training} */ one) => JSON.stringify({ ...one, job: { ...one.job, seconds: 0 } });
  const isSame = withoutTime(training) === withoutTime(latest);
  const hasEnded = isRunning() && latest.job.status !== "running";
  if (latest.job.status !== "idle") lostJob = null;
  else if (isRunning()) lostJob = { ...training.job, status: "idle" };
  training = latest;
  if (hasEnded && latest.job.status === "done") forgetFiles(latest.job.kind);
  if (isRunning() || !isSame) drawJob();
  if (!isRunning() && !isSame) drawCards();
}

const isRunning = () => training.job.status === "running";

/**
 * @param {string} path
 * @param {object} body
 */
async function send(path, body) {
  await api(path, { author: who(), ...body });
  update(await look());
}
const refit = () => attempt(() => send("/v1/review/refit", {}));

// ---------------------------------------------------------------- the job

function drawJob() {
  cardBox.hidden = isRunning();
  const { job } = training;
  const follows = /** @type {any} */ (jobBox.firstChild)?.follow;
  if (isRunning() && follows) return follows(job);
  const ended = () => endedPanel(lostJob ?? job, startAgain((lostJob ?? job).kind));
  const panels = {
    idle: () => lostJob && ended(),
    running: () => runningPanel(job, cancel),
    failed: ended,
    cancelled: ended,
    done: () => donePanel(training, serve),
  };
  fill(jobBox, panels[job.status]());
}

const cancel = () => attempt(() => send("/v1/jobs/cancel", {}));
const serve = (/** @type {string} */ which) =>
  attempt(async () => {
    await api("/v1/review/serve", { author: who(), which });
    location.reload();
  });

/**
 * What starts a job of a kind again; null if its file is not here.
 * @param {Job["kind"]} kind
 */
const startAgain = (kind) =>
  ({ refit, update: newer.file && startUpdate, discover: anew.logs.file && startDiscovery })[kind];

// ---------------------------------------------------------------- what can be started

function drawCards() {
  const focused = document.activeElement?.id;
  fill(cardBox, decisionsCard(), el("div", { class: "cards" }, [newerLogsCard(), anewCard()]));
  if (focused) byId(focused)?.focus({ preventScroll: true });
}

/**
 * @param {import("./strings.js").Key} title
 * @param {Child[]} content
 */
const card = (title, ...content) =>
  el("section", { class: "card", "aria-label": t(title) }, [el("h3", t(title)), content]);

function decisionsCard() {
  const decided = KINDS_OF_DECISIONS.filter((kind) => training.decided[kind] > 0);
  const isElsewhere = jobBox.querySelector("button.main") !== null; // the next step is the job's
  if (!decided.length) {
    const links = [
      el("a", { href: "#intents", class: "button" }, t("train.toIntents")),
      el("a", { href: "#queue", class: "button" }, t("train.toQueue")),
    ];
    return card("train.decisions", el("p", t("train.nothing")), row(links));
  }
  const counts = decided.map((kind) => {
    const n = training.decided[kind];
    return el("li", [el("strong", String(n)), ` ${t(`train.${kind}`, { n })}`]);
  });
  return card(
    "train.decisions",
    quietLine(t("train.since", { name: training.name })),
    el("ul", { class: "counts" }, counts),
    el("p", t("train.help")),
    row(button(t("train.start"), refit, { class: isElsewhere ? "" : "main", id: "refit" })),
  );
}

function newerLogsCard() {
  const { decided, undecided } = training;
  const mustAccept = decided.accepted === 0 && undecided > 0;
  const keepAll = check("accept-all", t("update.acceptAll", { n: undecided }), acceptsAll, (isOn) => {
    acceptsAll = isOn;
    newer.onChange();
  });
  const canStart = isReady(newer) && (!mustAccept || acceptsAll);
  return card(
    "update.title",
    el("p", t("update.help")),
    slotView(newer, t("update.logs"), training),
    newer.file && undecided > 0 && el("p", keepAll),
    newer.file && mustAccept && !acceptsAll && quietLine(t("update.acceptFirst")),
    newer.file && choices("update"),
    newer.file &&
      row(button(t("update.start"), startUpdate, { class: "main", id: "start-update", disabled: !canStart })),
  );
}

function anewCard() {
  const hasLogs = anew.logs.file !== null;
  const canStart = isReady(anew.logs) && (anew.known.file === null || isReady(anew.known));
  return card(
    "discover.title",
    el("p", t("discover.help")),
    slotView(anew.logs, t("discover.logs"), training),
    slotView(anew.known, t("discover.known"), training),
    hasLogs && choices("discover"),
    hasLogs &&
      row(button(t("discover.start"), startDiscovery, { class: "main", id: "start-discovery", disabled: !canStart })),
  );
}

/** @param {"update" | "discover"} kind */
function choices(kind) {
  const chosen = options[kind];
  const number = el("input", { type: "number", id: `${kind}-number`, min: 1, max: 100_000, value: chosen.number });
  number.placeholder = t("options.auto");
  number.addEventListener("input", () => (chosen.number = number.value));
  const redact = check(`${kind}-redact`, t("options.redact"), chosen.redact, (isOn) => (chosen.redact = isOn));
  const details = el("details", { open: chosen.isOpen }, [
    el("summary", t("options.title")),
    el("p", el("label", { class: "control" }, [t("options.number"), " ", number])),
    el("p", redact),
  ]);
  details.addEventListener("toggle", () => (chosen.isOpen = details.open));
  return details;
}

/**
 * @param {string} id
 * @param {string} label
 * @param {boolean} isOn
 * @param {(isOn: boolean) => void} onChange
 */
function check(id, label, isOn, onChange) {
  const box = el("input", { type: "checkbox", id });
  box.checked = isOn;
  box.addEventListener("change", () => onChange(box.checked));
  return el("label", { class: "check" }, [box, " ", label]);
}

/** @param {"update" | "discover"} kind */
const chosenOptions = (kind) => ({ n_new: Number(options[kind].number) || "auto", redact: options[kind].redact });

/**
 * The id of a slot's file. A job takes its files with it, so one that was taken is sent again.
 * @param {import("./files.js").Slot} s
 */
async function idOf(s) {
  if (!s.file) return null;
  if (s.isTaken) await read(s, training.max_bytes);
  if (!s.preview?.id) throw new Error(t("file.notUsable", { name: s.file.name }));
  return s.preview.id;
}

const startUpdate = () =>
  attempt(async () => {
    const file = await idOf(newer);
    newer.isTaken = true; // even if it is refused: it is then sent again
    await send("/v1/update", { logs_file: file, accept_all: acceptsAll, ...chosenOptions("update") });
  });

const startDiscovery = () =>
  attempt(async () => {
    const files = { logs_file: await idOf(anew.logs), known_file: await idOf(anew.known) };
    anew.logs.isTaken = anew.known.isTaken = true;
    await send("/v1/discover", { ...files, ...chosenOptions("discover") });
  });

/**
 * What has been learned need not be learned again.
 * @param {string} kind
 */
function forgetFiles(kind) {
  if (kind === "update") empty(newer);
  if (kind === "discover") Object.values(anew).forEach(empty);
}
