// Downloads for bot platforms, and the refit: its progress, what it changed, and serving its result.
import { api, problem } from "./api.js";
import { attempt } from "./decisions.js";
import { bullets, button, el, fill, heading, quietLine, row, table } from "./dom.js";
import { percent } from "./format.js";
import { term } from "./parts.js";
import { limits, who } from "./store.js";
import { rich, t } from "./strings.js";

const MAX_LANGUAGE_LENGTH = 20;
const MILLISECONDS_BETWEEN_LOOKS = 400; // at a running job
const chosen = { which: /** @type {ExportChoice} */ ("default"), language: "en" };
/** @type {Record<ExportChoice, Record<string, string>>} */
const QUERIES = { default: {}, accepted: { only: "accepted" }, all: { with_guesses: "true" } };

export async function exportView() {
  /** @type {Exports} */
  const answer = await api("/v1/export");
  return { title: t("export.title"), onNews: () => false, content: [downloads(answer), refit()] };
}

/** @param {Exports} exports */
function downloads({ formats, ...counts }) {
  const links = formats.map((f) =>
    el("a", { class: "download", download: true }, [
      el("strong", f.title),
      el("span", { class: "quiet" }, `${f.about || f.name} (${f.suffix})`),
    ]),
  );
  const language = el("input", {
    id: "language",
    size: 6,
    maxlength: MAX_LANGUAGE_LENGTH,
    pattern: limits().language_pattern,
    value: chosen.language,
    autocapitalize: "off",
  });
  const wrong = el("span", { class: "bad", role: "alert" });
  function update() {
    const isValid = language.validity.valid && language.value.trim() !== "";
    if (isValid) chosen.language = language.value.trim();
    wrong.textContent = isValid ? "" : t("export.badLanguage");
    const query = new URLSearchParams({ language: chosen.language, ...QUERIES[chosen.which] });
    const isEmpty = counts[chosen.which].utterances === 0;
    formats.forEach((f, k) => {
      if (isEmpty) links[k].removeAttribute("href");
      else links[k].href = `/v1/export/${f.name}?${query}`;
    });
  }
  const option = (/** @type {ExportChoice} */ which) => {
    const disabled = counts[which].utterances === 0;
    const radio = el("input", { type: "radio", name: "which", value: which, disabled });
    radio.checked = chosen.which === which;
    radio.addEventListener("change", () => {
      chosen.which = which;
      update();
    });
    return el("label", { class: "option" }, [
      [radio, " ", el("strong", t(`export.${which}`))],
      ` ${countsInWords(counts[which])}`,
    ]);
  };
  language.addEventListener("input", update);
  update();
  return [
    el("h2", t("export.heading")),
    el("p", t("export.help")),
    el("fieldset", [el("legend", t("export.which")), option("default"), option("accepted"), option("all")]),
    leftOut(counts.default),
    el("p", { class: "row" }, [el("label", { for: "language" }, t("export.language")), language, wrong]),
    el("div", { class: "downloads" }, links),
  ];
}

/** @param {ExportCounts} c */
const countsInWords = (c) =>
  t("export.counts", {
    intents: t("intents", { n: c.intents }),
    utterances: t("utterances", { n: c.utterances }),
    labelled: c.labelled,
    accepted: c.accepted,
    guesses: t("export.guesses", { n: c.guesses }),
  });

/** @param {ExportCounts} counts */
function leftOut({ left_out: n, new_intents: undecided }) {
  if (!n) return null;
  const guesses = t("export.guesses", { n });
  return quietLine(
    undecided ? t("export.leftOutAndUndecided", { n: undecided, guesses }) : t("export.leftOut", { guesses }),
  );
}

function refit() {
  const box = el("div", { "aria-live": "polite" });
  const begin = () =>
    attempt(async () => {
      draw(await api("/v1/review/refit", { author: who() }));
      follow();
    });
  const start = button(t("refit.start"), begin, { class: "main", id: "refit" });
  const cancel = () => attempt(async () => draw(await api("/v1/jobs/cancel", { author: who() })));
  async function follow() {
    try {
      /** @type {[Job, News]} */
      const [job, news] = await Promise.all([api("/v1/jobs"), api("/v1/review/news?since=0")]);
      draw(job, news);
      if (job.status === "running") setTimeout(() => box.isConnected && follow(), MILLISECONDS_BETWEEN_LOOKS);
    } catch (error) {
      fill(box, el("p", { class: "bad" }, problem(error)));
    }
  }
  /**
   * @param {Job} job
   * @param {News} [news]
   */
  function draw(job, news) {
    start.disabled = job.status === "running";
    const parts = {
      idle: () => null,
      running: () => [progress(job), row(button(t("cancel"), cancel))],
      failed: () => el("p", { class: "bad" }, t("refit.failed", { why: job.message })),
      cancelled: () => el("p", job.message),
      done: () => [el("p", doneLine(job)), job.changes && changes(job.changes)],
    };
    fill(
      box,
      parts[job.status](),
      job.warnings.length > 0 && bullets(job.warnings, { class: "bad", "aria-label": t("refit.warnings") }),
      serving(job, news),
    );
  }
  queueMicrotask(follow);
  return [el("h2", t("refit.heading")), el("p", t("refit.help")), row(start), box];
}

/** @param {Job} job */
const doneLine = ({ message, seconds }) =>
  rich("refit.done", {
    message: el("strong", message),
    seconds: seconds < 10 ? seconds.toFixed(1) : Math.round(seconds),
  });

/** @param {Job} job */
function progress(job) {
  const at = job.steps.indexOf(job.step);
  const bar = (/** @type {string} */ title) =>
    el("progress", { max: 1, value: job.total ? job.done / job.total : 0, "aria-label": title });
  const line = (/** @type {string} */ step, /** @type {number} */ k) => {
    const title = job.step_titles[step] ?? step;
    return el("li", { class: k < at ? "done" : k === at ? "now" : "" }, [
      title,
      k === at && [" ", bar(title), ` ${t("refit.doneOf", { done: job.done, total: job.total })}`],
    ]);
  };
  const { step, done, total } = job;
  return [
    quietLine(t("refit.started", { who: job.author, seconds: Math.round(job.seconds) })),
    job.steps.length
      ? el("ol", { class: "steps" }, job.steps.map(line))
      : el("p", `${step} ${t("refit.doneOf", { done, total })}`),
  ];
}

/** @param {Changes} c */
function changes(c) {
  const fact = (/** @type {Child} */ label, /** @type {string} */ value) => [el("dt", label), el("dd", value)];
  const error = { before: percent(c.expected_error_before), now: percent(c.expected_error_after) };
  return el("section", { class: "card", "aria-label": t("changes.title") }, [
    el("h3", t("changes.title")),
    el("dl", [
      fact(t("changes.intents"), t("changes.beforeAndNow", { before: c.intents_before, now: c.intents_after })),
      c.now_known.length > 0 && fact(t("changes.known"), c.now_known.join(", ")),
      c.gone.length > 0 && fact(t("changes.gone"), c.gone.join(", ")),
      fact(term("expectedError", t("changes.expectedError")), t("changes.beforeAndNow", error)),
      c.reclustered > 0 && fact(t("changes.followed"), t("changes.followers", { n: c.reclustered })),
      fact(t("changes.moved"), t("refit.doneOf", { done: c.moved, total: c.utterances })),
    ]),
    c.examples.length > 0 && movedExamples(c),
  ]);
}

/** @param {Changes} c */
function movedExamples({ examples, moved }) {
  const headings = [heading(t("changes.utterance")), heading(t("changes.before")), heading(t("changes.now"))];
  const rows = examples.map(({ text, before, after }) =>
    el("tr", [el("td", text), el("td", before ?? t("noIntent")), el("td", after ?? t("noIntent"))]),
  );
  const title = moved > examples.length ? t("changes.first", { count: examples.length }) : t("changes.which");
  return el("details", [el("summary", title), table({}, headings, rows)]);
}

/**
 * @param {Job} job
 * @param {News} [news]
 */
function serving(job, news) {
  const serve = (/** @type {string} */ which) =>
    attempt(async () => {
      await api("/v1/review/serve", { author: who(), which });
      location.reload();
    });
  const isServed = news && job.folder === news.name;
  const canServe = job.status === "done" && job.folder && !isServed;
  return row(
    canServe && button(t("refit.serve", { name: job.folder ?? "" }), () => serve("result"), { class: "main" }),
    isServed && el("p", rich("refit.served", { name: el("strong", news.name) })),
    news?.can_go_back && button(t("refit.serveEarlier"), () => serve("earlier")),
  );
}
