// Downloads for bot platforms.
import { get } from "./api.js";
import { el, fill, linkButton, quiet, quietLine } from "./dom.js";
import { limits } from "./review.js";
import { store } from "./store.js";
import { t } from "./strings.js";

const MAX_LANGUAGE_LENGTH = 20;
const chosen = store.exports;
/** @type {Record<ExportChoice, Record<string, string>>} */
const QUERIES = { default: {}, accepted: { only: "accepted" }, all: { with_guesses: "true" } };

export const exportView = async () => ({ title: t("export.title"), content: downloads(await get("/v1/export")) });

/** @param {Exports} exports */
function downloads({ formats, ...counts }) {
  const links = el("div", { class: "downloads" });
  const rules = { size: 6, maxlength: MAX_LANGUAGE_LENGTH, pattern: limits().language_pattern, autocapitalize: "off" };
  const language = el("input", { id: "language", value: chosen.language, ...rules });
  const wrong = el("span", { class: "bad", role: "alert" });
  function update() {
    const isValid = language.validity.valid && language.value.trim() !== "";
    if (isValid) chosen.language = language.value.trim();
    wrong.textContent = isValid ? "" : t("export.badLanguage");
    const query = new URLSearchParams({ language: chosen.language, ...QUERIES[chosen.which] });
    const link = (/** @type {Exports["formats"][number]} */ { name, title, about, suffix }) => {
      const href = counts[chosen.which].utterances > 0 && `/v1/export/${name}?${query}`;
      const content = [el("strong", title), quiet(`${about || name} (${suffix})`)];
      return el("a", { class: "download", download: true, href }, content);
    };
    fill(links, formats.map(link));
  }
  const option = (/** @type {ExportChoice} */ which) => {
    const disabled = counts[which].utterances === 0;
    const radio = el("input", { type: "radio", name: "which", disabled, checked: chosen.which === which });
    radio.addEventListener("change", () => {
      chosen.which = which;
      update();
    });
    return el("label", { class: "option" }, [
      [radio, el("span", [el("strong", t(`export.${which}`)), ` ${countsInWords(counts[which])}`])],
    ]);
  };
  language.addEventListener("input", update);
  update();
  return [
    el("h2", t("export.title")),
    el("p", t("export.help")),
    el("fieldset", [el("legend", t("export.which")), option("default"), option("accepted"), option("all")]),
    leftOut(counts.default),
    el("p", { class: "row" }, [el("label", { for: "language" }, t("export.language")), language, wrong]),
    links,
  ];
}

/** @param {Exports["default"]} c */
const countsInWords = (c) =>
  t("export.counts", {
    intents: t("intents", { n: c.intents }),
    utterances: t("utterances", { n: c.utterances }),
    labelled: c.labelled,
    accepted: c.accepted,
    guesses: t("export.guesses", { n: c.guesses }),
  });

const toIntents = () => linkButton("#intents/show=new", t("queue.toIntents"));

/** @param {Exports["default"]} counts */
function leftOut({ left_out: n, new_intents: undecided, accepted }) {
  if (!n) return null;
  if (!accepted) return [el("p", { class: "warned" }, t("export.acceptFirst")), toIntents()];
  const guesses = t("export.guesses", { n });
  return quietLine(
    undecided ? t("export.leftOutAndUndecided", { n: undecided, guesses }) : t("export.leftOut", { guesses }),
  );
}
