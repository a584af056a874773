// Two wishes in one utterance: where the second one begins, and what both are. And where an utterance comes from.
import { post } from "./api.js";
import { conclude, confirm } from "./dialogs.js";
import { bullets, button, byId, el, fill, fold, quietLine } from "./dom.js";
import { intents } from "./review.js";
import { t } from "./strings.js";

/**
 * The turns before an utterance, and the message that it is a part of; nothing if it stands alone.
 * @param {{ said: Utterance["said"] }} u
 * @returns {Child}
 */
export function contextOf({ said: { before = [], message = "" } }) {
  if (!before.length && !message) return false;
  const title = t(before.length ? "context.conversation" : "context.message");
  const whole = message && el("p", { dir: "auto", class: "message" }, message);
  return fold(title, [bullets([...before], { class: "plain turns" }), whole], false, undefined, { class: "context" });
}

/**
 * Ask for the word with which the second wish begins, and for both intents; the model proposes them.
 * @param {string} text
 * @param {() => void} [after] Called when it was recorded.
 */
export function askToDivide(text, after) {
  const starts = [...text.matchAll(/\S+/g)].map((match) => match.index).slice(1);
  const names = intents().map(({ name }) => el("option", { value: name }, name));
  const selects = ["divide.first", "divide.second"].map((key) => {
    const options = names.map((option) => option.cloneNode(true));
    return el("select", { "aria-label": t(/** @type {any} */ (key)) }, [el("option", { value: "" }, "…"), options]);
  });
  const shown = selects.map(() => el("q", { dir: "auto" }));
  let parts = ["", ""];
  const words = starts.map((start, k) => {
    const word = text.slice(start, starts[k + 1]).trim();
    return button(word, () => cut(start), { class: "plain word", "aria-label": t("divide.before", { word }) });
  });

  /** @param {number} start */
  async function cut(start) {
    parts = [text.slice(0, start).trimEnd(), text.slice(start)];
    words.forEach((word, k) => word.setAttribute("aria-pressed", String(starts[k] === start)));
    shown.forEach((quote, k) => fill(quote, parts[k]));
    fill(byId("ask-problem"));
    const { predictions } = await post("/v1/predict", { texts: parts });
    predictions.forEach(({ intent }, k) => (selects[k].value = intent ?? ""));
  }
  const submit = () => {
    if (!parts[0] || selects.some((select) => !select.value)) throw new Error(t("divide.choose"));
    const named = Object.fromEntries(parts.map((part, k) => [part, selects[k].value]));
    return conclude([[{ divide: { text, parts: named } }], t("said.divided")], after);
  };
  const rows = selects.map((select, k) => el("div", { class: "row" }, [shown[k], select]));
  const start = el("p", { class: "words", dir: "auto" }, [text.slice(0, starts[0]), words]);
  return confirm({
    title: t("divide.title"),
    note: [quietLine(t("divide.help")), start, rows],
    ok: t("divide.ok"),
    submit,
  });
}
