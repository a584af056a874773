// A job as it is shown: its steps while it runs, how it ended, and what came of it.
import { sentence } from "./api.js";
import { bullets, button, el, fill, fold, quietLine, row, section, table } from "./dom.js";
import { knownCheck, term } from "./parts.js";
import { state } from "./review.js";
import { t } from "./strings.js";

const MAX_NAMES = 12;

/** A job under way. `follow` of the panel shows a later state of it. @param {Job} job @param {() => unknown} cancel */
export function runningPanel(job, cancel) {
  const steps = el("ol", { class: "steps" });
  const passed = el("span", { class: "quiet" });
  const told = el("p", { class: "hidden", role: "status" });
  const content = [
    el("div", { "aria-live": "off" }, [el("p", passed), steps]),
    told,
    row(button(t("cancel"), cancel), quietLine(t("job.goOn"))),
  ];
  const node = section(t(`job.title.${job.kind}`), content, { class: "card job" });
  const follow = (/** @type {Job} */ now) => {
    passed.textContent = t("job.passed", { who: now.author, time: clock(now.seconds) });
    const title = now.steps.at(-1) ?? "";
    if (told.textContent !== title) {
      told.textContent = title;
      fill(steps, stepLines(now));
    }
    const bar = steps.querySelector("progress");
    if (bar && now.done && now.total) bar.value = now.done / now.total; // otherwise it only shows that work goes on
  };
  follow(job);
  return Object.assign(node, { follow });
}

/** @param {number} seconds */
function clock(seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** @param {Job} job */
function stepLines(job) {
  const at = job.steps.length - 1;
  return job.steps.map((title, k) => {
    return el("li", { class: k < at ? "done" : "now", "aria-current": k === at && "step" }, [
      el("span", title),
      k < at && el("span", { class: "hidden" }, t("job.stepDone")),
      k === at && el("progress", { max: 1, "aria-label": title }),
    ]);
  });
}

/**
 * How a job has ended without a result, and a way to begin again.
 * @param {Job} job
 * @param {(() => unknown) | null} again
 */
export function endedPanel(job, again) {
  const [title, why] = ending(job);
  const begin = again ? row(button(t("job.again"), again, { class: "main" })) : quietLine(t("job.againBelow"));
  return section(title, [el("p", { role: "alert" }, why), warnings(job), begin], { class: "card job" });
}

/** @param {Job} job @returns {[string, Child]} A title, and what happened. */
function ending({ status, message }) {
  if (status === "cancelled") return [t("job.cancelled"), message];
  if (status === "failed") return [t("job.failed"), [sentence(message), " ", t("job.nothingWritten")]];
  return [t("job.lost"), t("job.lostWhy")];
}

/** @param {Job} job */
const warnings = (job) =>
  job.warnings.length > 0 && fold(t("job.warnings", { n: job.warnings.length }), bullets([...job.warnings]), false);

/**
 * What came of a job, and the way to the new model and back.
 * @param {Training} training
 * @param {(which: "result" | "earlier") => unknown} serve
 */
export function donePanel(training, serve) {
  const { job } = training;
  const name = job.folder ?? "";
  const since = training.version - job.version; // decisions
  const isServed = training.name === name;
  const title = t(isServed ? "job.inUse" : "job.ready", { name });
  const content = [
    job.changes ? changes(job.changes) : job.discovered && discovered(job.discovered),
    warnings(job),
    !isServed && job.kind !== "discover" && since > 0 && el("p", t("job.decidedSince", { n: since })),
    el("p", isServed ? t("job.served", { name }) : t("job.notServed", { name: training.name })),
    row(
      !isServed && button(t("job.use", { name }), () => serve("result"), { class: "main", id: "use-model" }),
      training.earlier &&
        button(t("job.goBack", { name: training.earlier }), () => serve("earlier"), { id: "go-back" }),
    ),
    quietLine(t("job.took", { who: job.author, time: clock(job.seconds) })),
  ];
  return section(title, content, { class: "card job ready" });
}

const fact = (/** @type {Child} */ label, /** @type {Child} */ value) => [el("dt", label), el("dd", value)];

/**
 * @param {{ expected_error_before: number, expected_error_after: number }} c
 * @param {number} n The number of utterances now.
 */
const probablyWrong = ({ expected_error_before: before, expected_error_after: now }, n) => {
  const counts = { before: Math.round(before * state().progress.logs), now: Math.round(now * n) };
  return fact(term("wrong"), t("changes.beforeAndNow", counts));
};

/** @param {Changes} c */
function changes(c) {
  return [
    el("p", { class: "lead" }, [
      c.answers > 0 ? t("changes.answers", { n: c.answers }) : t("changes.noAnswers"),
      c.now_known.length > 0 && ` ${t("changes.knownNow", { n: c.now_known.length })}`,
    ]),
    el("dl", [
      fact(t("intents.title"), t("changes.beforeAndNow", { before: c.intents_before, now: c.intents_after })),
      c.now_known.length > 0 && fact(t("changes.known"), names(c.now_known)),
      c.gone.length > 0 && fact(t("changes.gone"), names(c.gone)),
      probablyWrong(c, c.utterances),
      c.reclustered > 0 && fact(t("changes.followed"), t("changes.followers", { n: c.reclustered })),
      fact(t("changes.moved"), t("changes.of", { some: c.moved, all: c.utterances })),
    ]),
    knownCheck(c.known_check),
    c.examples.length > 0 && movedExamples(c),
  ];
}

/** @param {string[]} all */
const names = (all) =>
  all.slice(0, MAX_NAMES).join(", ") +
  (all.length > MAX_NAMES ? ` ${t("changes.andMore", { n: all.length - MAX_NAMES })}` : "");

/** @param {Changes} c */
function movedExamples({ examples, moved }) {
  const rows = examples.map(({ text, before, after }) => [text, before ?? t("noIntent"), after ?? t("noIntent")]);
  const title = moved > examples.length ? t("changes.first", { count: examples.length }) : t("changes.which");
  return fold(title, table([[t("file.utterance")], [t("changes.before")], [t("changes.now")]], rows), false);
}

/** @type {(c: NonNullable<Discovered["changes"]>, n: number) => HTMLElement} */
const updated = (c, n) =>
  el("dl", [
    c.new.length > 0 && fact(t("changes.new"), names(c.new)),
    c.found_again.length > 0 && fact(t("changes.foundAgain"), names(c.found_again)),
    c.lost.length > 0 && fact(t("changes.lost"), names(c.lost)),
    c.answers > 0 && fact(t("changes.keptAnswers"), String(c.answers)),
    probablyWrong(c, n),
  ]);

/** @param {Discovered} d */
const discovered = ({ changes: c, ...d }) => [
  el("p", { class: "lead" }, [
    (c ?? d).new.length ? t("discovered.new", { n: (c ?? d).new.length }) : t("discovered.none"),
    ` ${t("discovered.in", { n: d.utterances })}`,
    d.known > 0 && ` ${t("discovered.known", { n: d.known })}`,
  ]),
  c ? updated(c, d.utterances) : d.new.length > 0 && el("p", names(d.new)),
  knownCheck(d.known_check),
];
