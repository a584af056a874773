// Messages to the reviewer: what was just done, in sight wherever the page is scrolled, and notices that stay.
import { byId, fill } from "./dom.js";
import { store } from "./store.js";

const SECONDS_OF_A_MESSAGE = 8;
const { shown } = store;

/**
 * @param {Child} message
 * @param {{ bad?: boolean, undo?: (() => unknown) | null, forNextView?: boolean, actions?: Child[] }} [options]
 */
export function say(message, { bad = false, undo = null, forNextView = false, actions = [] } = {}) {
  clearTimeout(shown.messageEnds);
  shown.isMessageForNextView = forNextView;
  const [toast, takeBack] = [byId("toast"), byId("undo-said")];
  fill(byId("said"), message);
  fill(byId("said-actions"), actions);
  byId("said").className = bad ? "bad" : "";
  takeBack.hidden = !undo;
  takeBack.onclick = undo;
  toast.hidden = !message;
  if (bad || actions.length) return; // these stay until they are closed or out of date
  shown.messageEnds = setTimeout(hush, 1000 * SECONDS_OF_A_MESSAGE);
}

export function hush() {
  clearTimeout(shown.messageEnds);
  fill(byId("said"));
  byId("toast").hidden = true;
}

// What was said about the view that is left is out of date.
export function leaveView() {
  if (!shown.isMessageForNextView) hush();
  shown.isMessageForNextView = false;
}

/** Show something at the top of the page, until it is no longer true. @param {Child[]} content */
export function notice(...content) {
  const bar = byId("notice");
  fill(bar, ...content);
  bar.hidden = !content.length;
}

byId("close-said").addEventListener("click", hush);
