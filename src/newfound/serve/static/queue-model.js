// The queue without the page: what was fetched, answered, skipped and undone, and whether it is out of date.

/** @typedef {QueueItem & { seen: number }} Question `seen` is the version that it was fetched at. */

const ANSWERS_IN_A_ROUND = 40;
const ANSWERS_BEFORE_ASKING_AGAIN = 8; // later questions depend on earlier answers

/** All intents that a question names. @param {Question} u */
const namesIn = (u) => [...u.candidates.map(([name]) => name), u.intent, u.asks_about].filter((name) => name !== null);

export class QueueModel {
  /** @type {Question[]} What is not answered yet. */ waiting = [];
  /** @type {Question[]} So that what is undone comes back. */ answered = [];
  /** @type {Set<number>} */ skipped = new Set();
  /** @type {Set<number>} Answered, and perhaps not known to the server when it made the queue. */ underWay = new Set();
  fetched = { model: "", version: -1, answered: 0 }; // the version counts one's own answers since
  round = { model: "", done: 0, of: 0, errorAtStart: 0 };
  /** @type {number | undefined} */ shownId;

  show() {
    const shown = this.next();
    this.shownId = shown?.id;
    return shown;
  }

  next = () => this.waiting.find((u) => !this.skipped.has(u.id));

  /** Whether somebody, in another view or elsewhere, has decided since the queue was fetched, or it is used up. */
  isOld(/** @type {Seen} */ { model, version }, isSending = false) {
    if (this.fetched.model !== model) return true;
    return !isSending && (version > this.fetched.version || (!this.next() && this.fetched.answered > 0));
  }

  mustAskAgain = () => this.fetched.answered >= ANSWERS_BEFORE_ASKING_AGAIN;

  /**
   * Take a queue that was fetched. What is under the reviewer's eyes stays there as it is, while it is to be answered.
   * @param {string} model
   * @param {{ version: number, items: QueueItem[] }} queue
   * @param {(name: string) => boolean} isIntent
   * @param {number} [place] Where to begin, while somebody else decides as well.
   */
  take(model, { version, items }, isIntent, place = 0) {
    const kept = this.waiting.find((u) => u.id === this.shownId && namesIn(u).every(isIntent));
    const first = items.filter((u) => u.id === this.shownId).map((u) => kept ?? u);
    const others = items.filter((u) => u.id !== this.shownId);
    this.waiting = [...first, ...others.slice(place), ...others.slice(0, place)]
      .filter((u) => !this.underWay.has(u.id))
      .map((u) => ({ ...u, seen: version }));
    this.fetched = { model, version, answered: 0 };
  }

  /** Begin a round of answers if there is none. @param {string} model @param {number} error */
  beginRound(model, error) {
    if (this.round.model !== model) this.round = { model, done: 0, of: 0, errorAtStart: error };
    const { done, of } = this.round;
    if (done >= of) Object.assign(this.round, { done: 0, of: Math.min(ANSWERS_IN_A_ROUND, this.waiting.length) });
  }

  /** @param {Question} u */
  forget(u) {
    this.answered.push(u);
    this.underWay.add(u.id);
    this.waiting = this.waiting.filter((item) => item.id !== u.id);
    if (this.shownId === u.id) this.shownId = undefined;
    this.round.done += 1;
    this.fetched.answered += 1;
  }

  /** One's own answer is recorded: it makes nothing out of date. @param {number} version Of the review since. */
  recorded(version) {
    if (version === this.fetched.version + 1) this.fetched.version += 1;
  }

  /** Ask again what was undone, or after what is shown now if an answer was refused. @param {Question} u */
  bringBack(u, isRefused = false) {
    this.answered.splice(this.answered.indexOf(u), 1);
    this.underWay.delete(u.id);
    const others = this.waiting.filter((item) => item.id !== u.id);
    const shown = isRefused ? others.filter((item) => item.id === this.shownId) : [];
    this.waiting = [...shown, u, ...others.filter((item) => !shown.includes(item))];
    this.shownId = this.waiting[0].id;
    this.round.done = Math.max(0, this.round.done - 1);
  }
}
