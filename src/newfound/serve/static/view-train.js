// Training: on the decisions, on newer logs, or anew. One job runs at a time, and every open page shows the same.
import { api } from "./api.js";
import { attempt } from "./decisions.js";
import { bullets, button, byId, el, fill, heading, quietLine, row, table } from "./dom.js";
import { acceptDrops, empty, isReady, read, slot, slotView } from "./files.js";
import { percent } from "./format.js";
import { term } from "./parts.js";
import { who } from "./store.js";
import { t } from "./strings.js";

const MILLISECONDS_BETWEEN_LOOKS = { running: 500, otherwise: 2500 };
const MAX_NAMES = 12;
const KINDS_OF_DECISIONS = /** @type {const} */ (["answers", "accepted", "merged", "split", "renamed", "rejected"]);
const newer = slot("newer-logs", "logs");
const anew = { logs: slot("other-logs", "logs"), known: slot("known-file", "known") };
const options = {
  update: { number: "", redact: false, acceptAll: false },
  discover: { number: "", redact: false, acceptAll: false },
};
/** @type {Training} */
let training;
let jobBox = el("div");
let cardBox = el("div");
/** @type {Job | null} */
let lostJob = null; // one that this page has seen run and that the server does not know any more

export async function trainView() {
  training = await look();
  [jobBox, cardBox] = [el("div"), el("div")];
  for (const s of [newer, anew.logs, anew.known]) s.onChange = drawCards;
  drawJob();
  drawCards();
  follow(jobBox);
  return { title: t("train.title"), onNews: () => false, content: [el("h2", t("train.title")), jobBox, cardBox] };
}

/** @returns {Promise<Training>} */
const look = () => api("/v1/review/training");

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
  else if (isRunning()) lostJob = training.job;
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
  const draw = { idle: lost, running, failed, cancelled, done };
  fill(jobBox, draw[job.status](job));
}

/** @param {Job} job */
function running(job) {
  const cancel = () => attempt(() => send("/v1/jobs/cancel", {}));
  const steps = el("ol", { class: "steps" });
  const passed = el("span", { class: "quiet" });
  const told = el("p", { class: "hidden", role: "status" });
  const node = el("section", { class: "card job", "aria-label": t(`job.title.${job.kind}`) }, [
    el("h3", t(`job.title.${job.kind}`)),
    el("p", passed),
    steps,
    told,
    row(button(t("job.cancel"), cancel), quietLine(t("job.goOn"))),
  ]);
  const follow = (/** @type {Job} */ now) => {
    passed.textContent = t("job.passed", { who: now.author, time: clock(now.seconds) });
    fill(steps, stepLines(now));
    const title = titleOf(now, now.step);
    if (told.textContent !== title) told.textContent = title;
  };
  follow(job);
  return Object.assign(node, { follow });
}

/**
 * @param {Job} job
 * @param {string} step
 */
const titleOf = (job, step) => job.step_titles[step] ?? step[0].toUpperCase() + step.slice(1);

/** @param {number} seconds */
function clock(seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** @param {Job} job */
function stepLines(job) {
  const at = job.steps.indexOf(job.step);
  return job.steps.map((step, k) => {
    const title = titleOf(job, step);
    const state = k < at ? "done" : k === at ? "now" : "later";
    const bar = () =>
      el("progress", { max: 1, value: job.total && job.done ? job.done / job.total : null, "aria-label": title });
    return el("li", { class: state, "aria-current": k === at && "step" }, [
      el("span", title),
      k < at && el("span", { class: "hidden" }, t("job.stepDone")),
      k === at && bar(),
    ]);
  });
}

/**
 * How a job has ended without a result, and a way to begin again.
 * @param {Job} job
 * @param {string} title
 * @param {Child} why
 */
function ended(job, title, why) {
  const again = { refit, update: startUpdate, discover: startDiscovery }[job.kind];
  const canStart = { refit: true, update: newer.file, discover: anew.logs.file }[job.kind];
  return el("section", { class: "card job", "aria-label": title }, [
    el("h3", title),
    el("p", { role: "alert" }, why),
    warnings(job),
    canStart ? row(button(t("job.again"), again, { class: "main" })) : quietLine(t("job.againBelow")),
  ]);
}

/** @param {Job} job */
const failed = (job) => ended(job, t("job.failed"), [sentence(job.message), " ", t("job.nothingWritten")]);
/** @param {Job} job */
const cancelled = (job) => ended(job, t("job.cancelled"), job.message);
const lost = () => lostJob && ended(lostJob, t("job.lost"), t("job.lostWhy"));
/** @param {string} text */
const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");

/** @param {Job} job */
const warnings = (job) =>
  job.warnings.length > 0 &&
  el("details", [el("summary", t("job.warnings", { n: job.warnings.length })), bullets([...job.warnings])]);

/** @param {Job} job */
function done(job) {
  const name = job.folder ?? "";
  const isServed = training.name === name;
  const title = t(isServed ? "job.inUse" : "job.ready", { name });
  return el("section", { class: "card job ready", "aria-label": title }, [
    el("h3", title),
    job.changes ? changes(job.changes) : job.discovered && discovered(job.discovered),
    warnings(job),
    !isServed && job.kind !== "discover" && training.version > job.version && decidedSince(job),
    serving(name, isServed),
    quietLine(t("job.took", { who: job.author, time: clock(job.seconds) })),
  ]);
}

/** @param {Job} job */
const decidedSince = (job) => el("p", t("job.decidedSince", { n: training.version - job.version }));

/**
 * @param {string} name
 * @param {boolean} isServed
 */
function serving(name, isServed) {
  const serve = (/** @type {string} */ which) =>
    attempt(async () => {
      await api("/v1/review/serve", { author: who(), which });
      location.reload();
    });
  const { earlier } = training;
  return [
    el("p", isServed ? t("job.served", { name }) : t("job.notServed", { name: training.name })),
    row(
      !isServed && button(t("job.use", { name }), () => serve("result"), { class: "main", id: "use-model" }),
      earlier && button(t("job.goBack", { name: earlier }), () => serve("earlier"), { id: "go-back" }),
    ),
  ];
}

/** @param {Changes} c */
function changes(c) {
  const fact = (/** @type {Child} */ label, /** @type {Child} */ value) => [el("dt", label), el("dd", value)];
  const error = { before: percent(c.expected_error_before), now: percent(c.expected_error_after) };
  return [
    el("p", { class: "lead" }, [
      c.answers > 0 ? t("changes.answers", { n: c.answers }) : t("changes.noAnswers"),
      c.now_known.length > 0 && ` ${t("changes.knownNow", { n: c.now_known.length })}`,
    ]),
    el("dl", [
      fact(t("changes.intents"), t("changes.beforeAndNow", { before: c.intents_before, now: c.intents_after })),
      c.now_known.length > 0 && fact(t("changes.known"), names(c.now_known)),
      c.gone.length > 0 && fact(t("changes.gone"), names(c.gone)),
      fact(term("expectedError", t("changes.expectedError")), t("changes.beforeAndNow", error)),
      c.reclustered > 0 && fact(t("changes.followed"), t("changes.followers", { n: c.reclustered })),
      fact(t("changes.moved"), t("changes.of", { some: c.moved, all: c.utterances })),
    ]),
    c.examples.length > 0 && movedExamples(c),
  ];
}

/** @param {string[]} all */
const names = (all) =>
  all.slice(0, MAX_NAMES).join(", ") +
  (all.length > MAX_NAMES ? ` ${t("changes.andMore", { n: all.length - MAX_NAMES })}` : "");

/** @param {Changes} c */
function movedExamples({ examples, moved }) {
  const headings = [heading(t("changes.utterance")), heading(t("changes.before")), heading(t("changes.now"))];
  const rows = examples.map(({ text, before, after }) =>
    el("tr", [el("td", text), el("td", before ?? t("noIntent")), el("td", after ?? t("noIntent"))]),
  );
  const title = moved > examples.length ? t("changes.first", { count: examples.length }) : t("changes.which");
  return el("details", [el("summary", title), table({}, headings, rows)]);
}

/** @param {Discovered} d */
const discovered = (d) => [
  el("p", { class: "lead" }, [
    t("discovered.new", { n: d.new.length }),
    ` ${t("discovered.in", { n: d.utterances })}`,
    d.known > 0 && ` ${t("discovered.known", { n: d.known })}`,
  ]),
  el("p", names(d.new)),
];

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
  const main = training.job.status !== "done" || training.name === training.job.folder ? "main" : "";
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
    row(button(t("train.start"), refit, { class: main, id: "refit" })),
  );
}

function newerLogsCard() {
  const { decided, undecided } = training;
  const mustAccept = decided.accepted === 0 && undecided > 0;
  const keepAll = check("accept-all", t("update.acceptAll", { n: undecided }), options.update.acceptAll, (isOn) => {
    options.update.acceptAll = isOn;
    newer.onChange();
  });
  const canStart = isReady(newer) && (!mustAccept || options.update.acceptAll);
  return card(
    "update.title",
    el("p", t("update.help")),
    slotView(newer, t("update.logs"), training),
    newer.file && undecided > 0 && el("p", keepAll),
    newer.file && mustAccept && !options.update.acceptAll && quietLine(t("update.acceptFirst")),
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
  const isOpen = chosen.number !== "" || chosen.redact;
  return el("details", { open: isOpen }, [
    el("summary", t("options.title")),
    el("p", el("label", { class: "control" }, [t("options.number"), " ", number])),
    el("p", redact),
  ]);
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
    await send("/v1/update", { logs_file: file, accept_all: options.update.acceptAll, ...chosenOptions("update") });
    newer.isTaken = true;
  });

const startDiscovery = () =>
  attempt(async () => {
    const files = { logs_file: await idOf(anew.logs), known_file: await idOf(anew.known) };
    await send("/v1/discover", { ...files, ...chosenOptions("discover") });
    anew.logs.isTaken = anew.known.isTaken = true;
  });

/**
 * What has been learned need not be learned again.
 * @param {string} kind
 */
function forgetFiles(kind) {
  if (kind === "update") empty(newer);
  if (kind === "discover") Object.values(anew).forEach(empty);
}
