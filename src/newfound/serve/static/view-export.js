// Downloads for bot platforms, and the refit: its progress, what it changed, and serving its result.
import { api, problem } from "./api.js";
import { attempt } from "./decisions.js";
import { button, el, fill } from "./dom.js";
import { percent, plural } from "./format.js";
import { term } from "./parts.js";
import { who } from "./store.js";

const ABOUT = {
  rasa: "NLU training data", "dialogflow-es": "an agent, for “Import from zip”", "dialogflow-cx": "Intent resources of the v3 API", clu: "a project to import",
  botpress: "intents of its NLU", csv: "a table of text and label", "csv-safe": "the same for Excel and the like: no cell can run as a formula", jsonl: "one object per line", parquet: "a table for data tools", datasets: "a folder for load_dataset",
};
const STEPS = { encoding: "Read the vectors", training: "Train", comparing: "Compare with the model so far", writing: "Write the model" };
const chosen = { which: "default", language: "en" };
const QUERIES = { default: {}, accepted: { only: "accepted" }, all: { with_guesses: "true" } };
const countsOf = (c) => `${plural(c.intents, "intent")}, ${plural(c.utterances, "utterance")}: ${c.labelled.toLocaleString("en")} labelled by people, ${c.accepted.toLocaleString("en")} in accepted intents, ${plural(c.guesses, "guess", "guesses")}`;

export async function exportView() {
  const answer = await api("/v1/export");
  return { title: "Export & refit", onNews: () => false, content: [downloads(answer), refit()] };
}

function downloads({ formats, ...counts }) {
  const links = formats.map((f) => el("a", { class: "download", download: true, id: "export-" + f.name }, el("strong", {}, f.title), el("span", { class: "quiet" }, `${ABOUT[f.name] || f.name} (${f.suffix})`)));
  const language = el("input", { id: "language", size: 6, maxlength: 20, pattern: "[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", value: chosen.language, autocapitalize: "off" });
  const wrong = el("span", { class: "bad", role: "alert" });
  function update() {
    const isValid = language.validity.valid && language.value.trim() !== "";
    if (isValid) chosen.language = language.value.trim();
    wrong.textContent = isValid ? "" : "A language code, for instance en or pt-br.";
    const query = new URLSearchParams({ language: chosen.language, ...QUERIES[chosen.which] });
    const isEmpty = counts[chosen.which].utterances === 0;
    formats.forEach((f, k) => isEmpty ? links[k].removeAttribute("href") : links[k].setAttribute("href", `/v1/export/${f.name}?${query}`));
  }
  const option = (which, label) => {
    const radio = el("input", { type: "radio", name: "which", id: `only-${which}`, value: which, disabled: counts[which].utterances === 0, onchange: () => { chosen.which = which; update(); } });
    radio.checked = chosen.which === which;
    return el("label", { class: "option" }, radio, " ", el("strong", {}, label), ` ${countsOf(counts[which])}`);
  };
  const { left_out: guesses, new_intents: undecided } = counts.default;
  language.addEventListener("input", update);
  update();
  return [el("h2", {}, "Export"), el("p", {}, "What people labelled, and what the model put into accepted intents. The rest are guesses of the model."),
    el("fieldset", {}, el("legend", {}, "Which utterances"), option("default", "Labelled and accepted"), option("accepted", "Accepted new intents only"), option("all", "With the guesses of the model")),
    guesses > 0 && el("p", { class: "quiet", id: "left-out" }, `${plural(guesses, "guess", "guesses")} would be left out${undecided ? `; ${plural(undecided, "new intent is", "new intents are")} not accepted yet` : ""}.`),
    el("p", { class: "row" }, el("label", { for: "language" }, "Language of the utterances"), language, wrong),
    el("div", { class: "downloads" }, links)];
}

function refit() {
  const box = el("div", { id: "job", "aria-live": "polite" });
  const start = button("Refit", () => attempt(async () => { draw(await api("/v1/review/refit", { author: who() })); follow(); }), { class: "main", id: "refit" });
  const cancel = () => attempt(async () => draw(await api("/v1/jobs/cancel", { author: who() })));
  async function follow() {
    try {
      const [job, news] = await Promise.all([api("/v1/jobs"), api("/v1/review/news?since=0")]);
      draw(job, news);
      if (job.status === "running") setTimeout(() => { if (box.isConnected) follow(); }, 400);
    } catch (error) {
      fill(box, el("p", { class: "bad" }, problem(error)));
    }
  }
  function draw(job, news) {
    start.disabled = job.status === "running";
    fill(box, job.status === "running" && [running(job), el("div", { class: "row" }, button("Cancel", cancel, { id: "cancel-job" }))],
      job.status === "failed" && el("p", { class: "bad" }, `It failed: ${job.message}`), job.status === "cancelled" && el("p", {}, job.message),
      job.status === "done" && [el("p", {}, el("strong", {}, job.message), ` It took ${job.seconds < 10 ? job.seconds.toFixed(1) : Math.round(job.seconds)} s.`), job.changes && changes(job.changes)],
      warnings(job), serving(job, news));
  }
  queueMicrotask(follow);
  return [el("h2", {}, "Refit"), el("p", {}, "Train a classifier on your decisions, into a folder beside the model. The model itself stays as it is. Accepted intents are known to the new one."),
    el("div", { class: "row" }, start), box];
}

function running(job) {
  const at = job.steps.indexOf(job.step);
  const share = job.total ? job.done / job.total : 0;
  const line = (step, k) => el("li", { class: k < at ? "done" : k === at ? "now" : "" }, STEPS[step] || step,
    k === at && [" ", el("progress", { max: 1, value: share, "aria-label": STEPS[step] || step }), ` ${job.done.toLocaleString("en")} of ${job.total.toLocaleString("en")}`]);
  const steps = job.steps.length ? el("ol", { class: "steps" }, job.steps.map(line)) : el("p", {}, `${job.step} ${job.done} of ${job.total}`);
  return [el("p", { class: "quiet" }, `Started by ${job.author}, ${Math.round(job.seconds)} s ago.`), steps];
}

function warnings(job) {
  return job.warnings.length > 0 && el("ul", { id: "warnings", class: "bad" }, job.warnings.map((warning) => el("li", {}, warning)));
}

function changes(c) {
  const fact = (label, value) => [el("dt", {}, label), el("dd", {}, value)];
  return el("div", { class: "card", id: "changes" }, el("h3", {}, "What changed"),
    el("dl", {}, fact("Intents", `${c.intents_before} before, ${c.intents_after} now`),
      c.now_known.length > 0 && fact("Known now", c.now_known.join(", ")), c.gone.length > 0 && fact("Gone, for want of utterances", c.gone.join(", ")),
      fact(term("expected error", "Expected error"), `${percent(c.expected_error_before)} before, ${percent(c.expected_error_after)} now`),
      c.reclustered > 0 && fact("Followed your moves", `${plural(c.reclustered, "similar utterance", "similar utterances")}, before the training`),
      fact("Moved utterances", `${c.moved} of ${c.utterances.toLocaleString("en")}`)),
    c.examples.length > 0 && el("details", {}, el("summary", {}, c.moved > c.examples.length ? `The first ${c.examples.length} of them` : "Which ones"),
      el("table", {}, el("thead", {}, el("tr", {}, ["Utterance", "Before", "Now"].map((t) => el("th", {}, t)))), el("tbody", {}, c.examples.map((m) => el("tr", {}, el("td", {}, m.text), el("td", {}, m.before ?? "no intent"), el("td", {}, m.after ?? "no intent")))))));
}

function serving(job, news) {
  const serve = (which) => attempt(async () => {
    await api("/v1/review/serve", { author: who(), which });
    location.reload();
  });
  const isServed = news && job.folder === news.name;
  return el("div", { class: "row" }, job.status === "done" && job.folder && !isServed && button(`Serve ${job.folder}`, () => serve("result"), { class: "main", id: "serve-result" }),
    isServed && el("p", {}, "This server now serves ", el("strong", {}, news.name), ". Name that folder when you start it the next time."),
    news?.can_go_back && button("Serve the earlier model again", () => serve("earlier"), { id: "serve-earlier" }));
}
