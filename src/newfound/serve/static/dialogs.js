// Questions to the reviewer. A dialog stays open, with what was typed, until its answer is recorded or it is cancelled.
import { problem } from "./api.js";
import { carryOut, explainConflict, forgetSeen, keepSeen, move, once } from "./decisions.js";
import { button, byId, el, fill, quiet } from "./dom.js";
import { askAbout, losses } from "./losses.js";
import { say } from "./messages.js";
import { nearest } from "./names.js";
import { dot, tag } from "./parts.js";
import { intentNamed, intents, isIntent, mine, setName } from "./review.js";
import { store } from "./store.js";
import { rich, t } from "./strings.js";

const dialog = byId("ask");
const input = byId("ask-value");
const MAX_QUOTES = 8;
const MAX_CHOICES = 6;
const MAX_CORRECTIONS = 3;

const state = store.dialog;

/** Ask the reviewer's name, once; returns whether it was given. */
export async function askName() {
  await pose({
    title: t("name.title"),
    label: t("name.label"),
    ok: t("name.ok"),
    note: t("name.why"),
    submit: setName,
  });
  return mine() !== "";
}

/** @param {Question} question */
export async function ask(question) {
  if (mine() || (await askName())) await pose(question);
}

/** @param {Question} question @returns {Promise<void>} Resolves when the dialog is closed. */
async function pose(question) {
  const { hasInput = true, onInput, submit } = question;
  state.refused = null;
  fillDialog(question);
  input.oninput = () => {
    fill(byId("ask-problem"));
    onInput?.(input.value.trim());
  };
  let isSending = false;
  const send = async (/** @type {string} */ given) => {
    if (isSending || (hasInput && !given)) return;
    isSending = true;
    await closeAfter(() => submit(given));
    isSending = false;
  };
  state.choose = send;
  byId("ask-form").onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send(input.value.trim());
  };
  byId("ask-cancel").onclick = () => dialog.close();
  keepSeen();
  dialog.showModal();
  onInput?.(input.value.trim());
  if (hasInput) input.select();
  else byId("ask-ok").focus();
  await new Promise((resolve) => {
    dialog.onclose = resolve;
  });
  forgetSeen();
  if (state.refused) await explainConflict(state.refused);
}

/** @param {Question} question */
function fillDialog({ title, label = "", value = "", quotes = [], total, note, ok = t("ok"), hasInput = true }) {
  byId("ask-title").textContent = title;
  byId("ask-label").textContent = label;
  const shown = quotes.slice(0, MAX_QUOTES).map((quote) => el("li", quote));
  const rest = (total ?? quotes.length) - shown.length;
  fill(byId("ask-quotes"), shown, rest > 0 && el("li", { class: "quiet" }, t("dialog.andMore", { count: rest })));
  byId("ask-quotes").hidden = !quotes.length;
  fill(byId("ask-note"), note);
  byId("ask-ok").textContent = ok;
  byId("ask-ok").hidden = false;
  byId("ask-field").hidden = !hasInput;
  fill(byId("ask-choices"));
  fill(byId("ask-problem"));
  input.value = value;
}

/** Close the dialog unless an action fails or returns false. @param {() => Submitted} action */
async function closeAfter(action) {
  state.refused = null;
  try {
    if ((await action()) !== false) dialog.close();
  } catch (error) {
    if (!dialog.open) return say(problem(error), { bad: true });
    if (/** @type {any} */ (error).status === 409) state.refused = /** @type {any} */ (error);
    fill(byId("ask-problem"), problem(error));
  }
}

export const isOpen = () => dialog.open;

/**
 * Record what was answered; the dialog closes as soon as it is.
 * @param {Step} step
 * @param {() => void} [after] Called when it was recorded.
 */
export const conclude = (step, after) =>
  carryOut(step, () => {
    dialog.close();
    after?.();
  });

/** @param {Child} items */
function showChoices(items) {
  const list = byId("ask-choices");
  fill(list, items);
  list.onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...list.querySelectorAll("button")];
    if (!step) return;
    event.preventDefault();
    (buttons[buttons.indexOf(document.activeElement) + step] || input).focus();
  };
  input.onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    list.querySelector("button")?.focus();
  };
}

/** @param {Intent} i */
const choice = (i) =>
  button(
    [dot(i.name), " ", i.name, " ", tag(i.status), " ", quiet(t("utterances", { n: i.size }))],
    () => state.choose(i.name),
    { class: "choice" },
  );

/**
 * Ask for an intent. A name that does not exist is never made without a second, explicit answer.
 * @param {Omit<Question, "submit"> & {
 *   except?: string[], mayCreate?: boolean, submit: (name: string, create: boolean) => Submitted,
 *   likely?: Promise<string[]> }} question The likely ones come first as long as nothing is typed.
 */
export function askIntent({ except = [], mayCreate = true, submit, likely, ...question }) {
  /** @type {string[]} */
  let first = [];
  const rank = (/** @type {Intent} */ i) => (first.includes(i.name) ? first.indexOf(i.name) : first.length);
  const others = () =>
    intents()
      .filter((i) => !except.includes(i.name))
      .sort((a, b) => rank(a) - rank(b));
  likely?.then(
    (names) => {
      first = names;
      if (!input.value) showChoices(nearest("", others(), MAX_CHOICES).map(choice));
    },
    () => {}, // the choices stay as they are
  );
  const create = (/** @type {string} */ name) =>
    button(rich("dialog.create", { name: el("strong", name) }), () => closeAfter(() => submit(name, true)), {
      class: "choice",
    });
  return ask({
    label: t("dialog.toWhich"),
    ...question,
    onInput: (typed) => {
      byId("ask-ok").hidden = false;
      showChoices(nearest(typed, others(), MAX_CHOICES).map(choice));
    },
    submit: (name) => {
      if (isIntent(name) && !except.includes(name)) return submit(name, false);
      fill(byId("ask-problem"), except.includes(name) ? t("dialog.isThere") : t("dialog.noSuchIntent", { name }));
      const close = nearest(name, others(), MAX_CORRECTIONS).map(choice);
      showChoices([close, mayCreate && !isIntent(name) && create(name)]);
      byId("ask-ok").hidden = true;
      byId("ask-choices").querySelector("button")?.focus();
      return false;
    },
  });
}

/**
 * What is moved by its numbers, some texts of it as examples. `after` runs when the move was recorded; with `send`,
 * that records it, and the dialog closes at once. All of it is `from` an intent.
 * @typedef {{ ids: number[], after?: () => void, from?: string | null,
 *   send?: (to: string, create: boolean, said: string) => void }} MoveOptions
 */
/** @param {string} to @param {boolean} create @param {MoveOptions} options @param {Promise<Chosen>} selection */
async function put(to, create, { after, ids, send }, selection) {
  if (send) return send(to, create, create ? t("said.made", { name: to }) : t("said.moved", { name: to }));
  const { losses: all } = await selection;
  const n = all.reduce((sum, { intent, taken }) => sum + (intent === to ? 0 : taken), 0); // others are there
  const moved = n === 1 ? t("said.moved", { name: to }) : t("said.movedSeveral", { n, name: to });
  await conclude([[move({ ids }, to, create)], create ? t("said.made", { name: to }) : moved], after);
}

/**
 * What is shown of the utterances that a dialog is about.
 * @param {string[]} texts
 * @param {number[]} ids
 * @param {Promise<Chosen>} selection
 */
const about = (texts, ids, selection) => ({
  quotes: texts,
  total: ids.length,
  note: ids.length > 1 && [t("losses.title"), losses(selection)],
});

/** @type {(texts: string[], options: MoveOptions) => Promise<void>} */
export function askAndMove(texts, options) {
  const selection = askAbout(options.ids);
  return askIntent({
    title: t("dialog.move", { n: options.ids.length }),
    ...about(texts, options.ids, selection),
    except: options.from ? [options.from] : [],
    likely: selection.then((answer) => answer.likely.map(([name]) => name)),
    submit: (to, create) => put(to, create, options, selection),
  });
}

/** @type {(texts: string[], options: MoveOptions) => Promise<void>} */
export function askAndMake(texts, options) {
  const selection = askAbout(options.ids);
  return ask({
    title: t("dialog.make", { n: options.ids.length }),
    label: t("dialog.itsName"),
    ...about(texts, options.ids, selection),
    ok: t("dialog.makeIt"),
    submit: (name) => {
      const present = intentNamed(name);
      if (!present) return put(name, true, options, selection);
      fill(byId("ask-problem"), t("dialog.nameIsTaken", { name }));
      showChoices(choice(present));
      state.choose = () => closeAfter(() => put(name, false, options, selection));
      return false;
    },
  });
}

/** Put utterances into no intent; one alone without a question. @param {string[]} texts @param {MoveOptions} options */
export function askAndMoveToNone(texts, { ids, after }) {
  const submit = () => conclude([[move({ ids }, null)], t("said.noneNow", { n: ids.length })], after);
  if (ids.length === 1) return once(submit);
  return confirm({ title: t("dialog.moveToNone", { n: ids.length }), ...about(texts, ids, askAbout(ids)), submit });
}

/** @param {Question} question */
export const confirm = (question) => ask({ ...question, hasInput: false });
