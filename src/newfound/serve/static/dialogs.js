// Questions to the reviewer. A dialog stays open, with what was typed, until its answer is accepted or it is cancelled.
import { problem } from "./api.js";
import { dropKeys, forgetSeen, keepSeen, record, settle } from "./decisions.js";
import { button, byId, el, fill, quiet } from "./dom.js";
import { plural } from "./format.js";
import { say } from "./messages.js";
import { dot, tag } from "./parts.js";
import { intents, isIntent, who } from "./store.js";
import { nearest } from "./names.js";

const dialog = byId("ask"), input = byId("ask-value");
const MAX_QUOTES = 8, MAX_CHOICES = 6;

// submit(value) resolves when it is done; if it throws, the dialog shows the error. It may return false to stay open.
export function ask({ title, label, value = "", quotes = [], note = "", ok = "OK", hasInput = true, onInput = null, submit }) {
  try { who(); } catch (error) { say(error.message, { bad: true }); return Promise.resolve(false); }
  dropKeys(); // what was typed after the key that opened the dialog was meant for the dialog
  byId("ask-title").textContent = title;
  byId("ask-label").textContent = label || "";
  fill(byId("ask-quotes"), quotes.slice(0, MAX_QUOTES).map((q) => el("li", {}, q)),
    quotes.length > MAX_QUOTES && el("li", { class: "quiet" }, `and ${quotes.length - MAX_QUOTES} more`));
  byId("ask-quotes").hidden = !quotes.length;
  byId("ask-note").textContent = note;
  byId("ask-ok").textContent = ok;
  byId("ask-ok").hidden = false;
  byId("ask-field").hidden = !hasInput;
  fill(byId("ask-choices"));
  fill(byId("ask-problem"));
  input.value = value;
  input.oninput = () => { fill(byId("ask-problem")); onInput?.(input.value.trim()); };
  return new Promise((resolve) => {
    let isDone = false, isSending = false;
    const send = async (given) => {
      if (isSending || (hasInput && !given)) return;
      isSending = true;
      try {
        if (await submit(given) !== false) { isDone = true; dialog.close(); }
      } catch (error) {
        fill(byId("ask-problem"), problem(error));
      } finally {
        isSending = false;
      }
    };
    ask.send = send;
    byId("ask-form").onsubmit = (event) => { event.preventDefault(); send(input.value.trim()); };
    byId("ask-cancel").onclick = () => dialog.close();
    dialog.onclose = () => { forgetSeen(); resolve(isDone); };
    keepSeen();
    dialog.showModal();
    onInput?.(input.value.trim());
    if (hasInput) input.select(); else byId("ask-ok").focus();
  });
}

export const isOpen = () => dialog.open;

function choices(items) {
  const list = byId("ask-choices");
  fill(list, items);
  list.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...list.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    if (!step) return;
    event.preventDefault();
    (buttons[at + step] || input).focus();
  };
  input.onkeydown = (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    list.querySelector("button")?.focus();
  };
}

const choice = (i) => button([dot(i.name), " ", i.name, " ", tag(i.status), " ", quiet(plural(i.size, "utterance"))], () => ask.send(i.name), { class: "choice", "data-name": i.name });

// Ask for an intent. A name that does not exist is never made without a second, explicit answer.
export function askIntent({ title, label = "To which intent?", quotes, except = [], value = "", mayCreate = true, note = "", submit }) {
  const others = () => intents().filter((i) => !except.includes(i.name));
  return ask({
    title, label, quotes, value, note,
    onInput: (typed) => { byId("ask-ok").hidden = false; choices(nearest(typed, others(), MAX_CHOICES).map(choice)); },
    submit: async (name) => {
      if (isIntent(name) && !except.includes(name)) return submit(name, false);
      const close = nearest(name, others(), 3);
      fill(byId("ask-problem"), except.includes(name) ? "It is there already." : `There is no intent “${name}”. Did you mean one of these?`);
      choices([close.map(choice), mayCreate && !isIntent(name) && button(["Make the new intent ", el("strong", {}, name)], () => make(name), { class: "choice", id: "ask-create" })]);
      byId("ask-ok").hidden = true;
      byId("ask-choices").querySelector("button")?.focus();
      return false;
    },
  });
  async function make(name) {
    try {
      if (await submit(name, true) !== false) dialog.close();
    } catch (error) {
      fill(byId("ask-problem"), problem(error));
    }
  }
}

export async function askAndMove(texts, { after, except = [] } = {}) {
  await askIntent({
    title: texts.length === 1 ? "Move the utterance" : `Move ${plural(texts.length, "utterance")}`,
    quotes: texts,
    except,
    submit: async (to, create) => {
      const entries = await record([{ move: create ? { texts, to, create: true } : { texts, to } }]);
      after?.();
      await settle(create ? `Made ${to}.` : `Moved to ${to}.`, entries);
    },
  });
}

export async function askAndMake(texts, { after } = {}) {
  await ask({
    title: texts.length === 1 ? "A new intent" : `A new intent of ${plural(texts.length, "utterance")}`,
    label: "Its name",
    quotes: texts,
    ok: "Make it",
    submit: async (name) => {
      if (isIntent(name)) {
        fill(byId("ask-problem"), `There is an intent ${name} already. Choose it below to move there, or another name.`);
        choices([choice(intents().find((i) => i.name === name))]);
        ask.send = async () => {
          try { await put(name, false); dialog.close(); } catch (error) { fill(byId("ask-problem"), problem(error)); }
        };
        return false;
      }
      return put(name, true);
    },
  });
  async function put(to, create) {
    const entries = await record([{ move: create ? { texts, to, create: true } : { texts, to } }]);
    after?.();
    await settle(create ? `Made ${to}.` : `Moved to ${to}.`, entries);
  }
}

export const confirm = (title, quotes, ok, submit, note = "") => ask({ title, quotes, ok, note, hasInput: false, submit });
