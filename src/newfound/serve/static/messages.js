// Messages to the reviewer: what was just done, in sight wherever the page is scrolled, and notices that stay.
import { byId, fill } from "./dom.js";

const SECONDS_OF_A_MESSAGE = 8;
let timer = null, isForNextView = false;

export function say(message, { bad = false, undo = null, forNextView = false } = {}) {
  clearTimeout(timer);
  isForNextView = forNextView;
  const toast = byId("toast"), takeBack = byId("undo-said");
  fill(byId("said"), message);
  byId("said").className = bad ? "bad" : "";
  takeBack.hidden = !undo;
  takeBack.onclick = undo;
  toast.hidden = !message || message.length === 0;
  if (!bad) timer = setTimeout(hush, 1000 * SECONDS_OF_A_MESSAGE); // a problem stays until it is closed or out of date
}

export function hush() {
  clearTimeout(timer);
  fill(byId("said"));
  byId("toast").hidden = true;
}

export function leaveView() { // what was said about the view that is left is out of date
  if (!isForNextView) hush();
  isForNextView = false;
}

export function notice(...content) { // at the top of the page, until it is no longer true
  const bar = byId("notice");
  fill(bar, ...content);
  bar.hidden = !content.length;
}

byId("close-said").addEventListener("click", hush);
