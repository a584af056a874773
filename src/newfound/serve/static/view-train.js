// Training: on the decisions, on newer logs, or anew. One job runs at a time, and every open page shows the same.
import { get, post } from "./api.js";
import { attempt } from "./decisions.js";
import { button, byId, checkbox, el, fill, fold, linkButton, quietLine, row, section } from "./dom.js";
import { acceptDrops, read, slotView } from "./files.js";
import { say } from "./messages.js";
import { who } from "./review.js";
import { store } from "./store.js";
import { t } from "./strings.js";
import { donePanel, endedPanel, runningPanel } from "./train-job.js";

const MILLISECONDS_BETWEEN_LOOKS = { running: 500, otherwise: 2500 };
const KINDS_OF_DECISIONS = /** @type {const} */ (["answers", "accepted", "merged", "split", "renamed", "rejected"]);
const CARD = { class: "card" };
const CHECK = { class: "check" };
/** @typedef {import("./store.js").Slot} Slot */
const state = store.train;
const { newer } = state;

export async function trainView() {
  state.training = await look();
  [state.jobBox, state.cardBox] = [el("div", { "aria-live": "polite" }), el("div")];
  for (const s of [newer, state.logs, state.known]) s.onChange = drawCards;
  drawJob();
  drawCards();
  follow(state.jobBox);
  return {
    title: t("train.title"),
    onNews: () => false,
    content: [el("h2", t("train.title")), state.jobBox, state.cardBox],
  };
}

const look = () => /** @type {Promise<Training>} */ (get("/v1/review/training"));

/** Tell the end of a job where it is not shown anyway. @param {string} status */
export function hearOfJob(status) {
  if (state.heardStatus === "running" && status !== "running" && !state.jobBox.isConnected)
    say([
      t(`job.said.${/** @type {Exclude<Job["status"], "running">} */ (status)}`),
      " ",
      el("a", { href: "#train" }, t("job.look")),
    ]);
  state.heardStatus = status;
}

export const acceptDroppedLogs = () =>
  acceptDrops(newer, async () => {
    state.kind = "update";
    return (await look()).max_bytes;
  });

/**
 * Look at the job again and again while the view is shown.
 * @param {HTMLElement} box The one of this view: a later view follows by itself.
 */
function follow(box) {
  const pause = MILLISECONDS_BETWEEN_LOOKS[isRunning() ? "running" : "otherwise"];
  setTimeout(async () => {
    if (box !== state.jobBox || !box.isConnected) return;
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
  const isSame = withoutTime(state.training) === withoutTime(latest);
  const hasEnded = isRunning() && latest.job.status !== "running";
  if (latest.job.status !== "idle") state.lostJob = null;
  else if (isRunning()) state.lostJob = { ...state.training.job, status: "idle" };
  state.training = latest;
  if (hasEnded && latest.job.status === "done") forgetFiles(latest.job.kind);
  if (isRunning() || !isSame) drawJob();
  if (!isRunning() && !isSame) drawCards();
}

const isRunning = () => state.training.job.status === "running";

/** @param {keyof Posts} path @param {object} [body] */
async function send(path, body) {
  await post(path, { author: who(), ...body });
  update(await look());
}
const refit = () => attempt(() => send("/v1/review/refit"));

// ---------------------------------------------------------------- the job

function drawJob() {
  state.cardBox.hidden = isRunning();
  const { job } = state.training;
  const follows = /** @type {any} */ (state.jobBox.firstChild)?.follow;
  if (isRunning() && follows) return follows(job);
  const ended = () => endedPanel(state.lostJob ?? job, startAgain());
  const panels = {
    idle: () => state.lostJob && ended(),
    running: () => runningPanel(job, cancel),
    failed: ended,
    cancelled: ended,
    done: () => donePanel(state.training, serve),
  };
  fill(state.jobBox, panels[job.status]());
}

const cancel = () => attempt(() => send("/v1/jobs/cancel"));
const serve = (/** @type {string} */ which) =>
  attempt(async () => {
    await post("/v1/review/serve", { author: who(), which });
    location.reload();
  });

/** What starts a job of the kind again; null if its file is not here. */
const startAgain = () =>
  ({ refit, update: newer.file && startUpdate, discover: state.logs.file && startDiscovery })[
    (state.lostJob ?? state.training.job).kind
  ];

// ---------------------------------------------------------------- what can be started

function drawCards() {
  const focused = document.activeElement?.id;
  const cards = { refit: decisionsCard(), update: newerLogsCard(), discover: anewCard() };
  const kinds = /** @type {(keyof typeof cards)[]} */ (Object.keys(cards));
  const option = (/** @type {keyof typeof cards} */ kind) => {
    const radio = el("input", { type: "radio", name: "train", id: `train-${kind}`, checked: kind === state.kind });
    radio.addEventListener("change", () => choose(kind));
    cards[kind].hidden = kind !== state.kind;
    return el("label", { class: "control" }, [radio, t(`train.which.${kind}`)]);
  };
  fill(state.cardBox, el("fieldset", [el("legend", t("train.which")), kinds.map(option)]), Object.values(cards));
  if (focused) byId(focused)?.focus({ preventScroll: true });
}

/** @param {"refit" | "update" | "discover"} kind */
function choose(kind) {
  state.kind = kind;
  drawCards();
}

/** What a job needs, what it keeps, and its start. @param {string} title @param {[Child, Child, Child]} contents */
const steps = (title, [file, stays, start]) =>
  section(
    title,
    el("ol", { class: "three" }, [
      el("li", [el("h4", t("train.step.file")), file]),
      el("li", [el("h4", t("train.step.stays")), stays]),
      el("li", [el("h4", t("train.step.start")), start]),
    ]),
    CARD,
  );

function decisionsCard() {
  const decided = KINDS_OF_DECISIONS.filter((kind) => state.training.decided[kind] > 0);
  const isElsewhere = state.jobBox.querySelector("button.main") !== null; // the next step is the job's
  const links = row(linkButton("#intents", t("queue.toIntents")), linkButton("#queue", t("train.toQueue")));
  const counts = decided.map((kind) => {
    const n = state.training.decided[kind];
    return el("li", [el("strong", String(n)), ` ${t(`train.${kind}`, { n })}`]);
  });
  const start = { class: isElsewhere ? "" : "main", id: "refit" };
  return steps(t("train.decisions"), [
    decided.length
      ? [quietLine(t("train.since", { name: state.training.name })), el("ul", { class: "counts" }, counts)]
      : el("p", t("train.nothing")),
    el("p", t("train.help")),
    decided.length ? row(button(t("train.title"), refit, start)) : links,
  ]);
}

function newerLogsCard() {
  const { decided, undecided } = state.training;
  const mustAccept = decided.accepted === 0 && undecided > 0;
  const keep = (/** @type {boolean} */ isOn) => {
    state.acceptsAll = isOn;
    newer.onChange();
  };
  const keepAll = checkbox("accept-all", t("update.acceptAll", { n: undecided }), state.acceptsAll, keep, CHECK);
  const disabled = !newer.isReady || (mustAccept && !state.acceptsAll);
  return steps(t("update.title"), [
    slotView(newer, t("update.logs"), state.training),
    [
      el("p", t("update.help")),
      undecided > 0 && [
        !state.acceptsAll && el("p", { class: "warned" }, t("update.lost", { n: undecided })),
        el("p", keepAll),
      ],
      mustAccept && !state.acceptsAll && quietLine(t("update.acceptFirst")),
    ],
    [choices("update"), row(button(t("update.start"), startUpdate, { class: "main", id: "start-update", disabled }))],
  ]);
}

function anewCard() {
  const { logs, known } = state;
  const disabled = !logs.isReady || (known.file !== null && !known.isReady);
  return steps(t("discover.title"), [
    [slotView(logs, t("discover.logs"), state.training), slotView(known, t("discover.known"), state.training)],
    el("p", t("discover.help")),
    [
      choices("discover"),
      row(button(t("discover.start"), startDiscovery, { class: "main", id: "start-discovery", disabled })),
    ],
  ]);
}

/** @param {"update" | "discover"} kind */
function choices(kind) {
  const chosen = state[kind];
  const number = el("input", { type: "number", id: `${kind}-number`, min: 1, max: 100_000, value: chosen.number });
  number.placeholder = t("options.auto");
  number.addEventListener("input", () => (chosen.number = number.value));
  const keep = (/** @type {boolean} */ isOn) => (chosen.redact = isOn);
  const content = [
    el("p", el("label", { class: "control" }, [t("resize.number"), " ", number])),
    el("p", checkbox(`${kind}-redact`, t("options.redact"), chosen.redact, keep, CHECK)),
  ];
  return fold(t("options.title"), content, chosen.isOpen, (isOpen) => (chosen.isOpen = isOpen));
}

/** @param {"update" | "discover"} kind */
const chosenOptions = (kind) => ({ n_new: Number(state[kind].number) || "auto", redact: state[kind].redact });

/** The id of a slot's file. A job takes its files with it, so one that was taken is sent again. @param {Slot} s */
async function idOf(s) {
  if (!s.file) return null;
  if (s.isTaken) await read(s);
  if (!s.preview?.id) throw new Error(t("file.notUsable", { name: s.file.name }));
  return s.preview.id;
}

const startUpdate = () =>
  attempt(async () => {
    const file = await idOf(newer);
    newer.isTaken = true; // even if it is refused: it is then sent again
    await send("/v1/update", { logs_file: file, accept_all: state.acceptsAll, ...chosenOptions("update") });
  });

const startDiscovery = () =>
  attempt(async () => {
    const files = { logs_file: await idOf(state.logs), known_file: await idOf(state.known) };
    state.logs.isTaken = state.known.isTaken = true;
    await send("/v1/discover", { ...files, ...chosenOptions("discover") });
  });

/** What has been learned need not be learned again. @param {string} kind */
function forgetFiles(kind) {
  const used = kind === "update" ? [newer] : kind === "discover" ? [state.logs, state.known] : [];
  for (const s of used) s.empty();
}
