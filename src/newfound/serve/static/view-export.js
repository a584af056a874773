// Downloads for bot platforms.
import { api } from "./api.js";
import { el, quietLine } from "./dom.js";
import { limits } from "./store.js";
import { t } from "./strings.js";

const MAX_LANGUAGE_LENGTH = 20;
const chosen = { which: /** @type {ExportChoice} */ ("default"), language: "en" };
/** @type {Record<ExportChoice, Record<string, string>>} */
const QUERIES = { default: {}, accepted: { only: "accepted" }, all: { with_guesses: "true" } };

export async function exportView() {
  /** @type {Exports} */
  const answer = await api("/v1/export");
  return { title: t("export.title"), content: downloads(answer) };
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
