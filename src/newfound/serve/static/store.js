// All that the page remembers, in one place: no other file has a variable of its own that changes. What is drawn is
// made from it and from the answers of the server.
import { QueueModel } from "./queue-model.js";

/** A place for one file. */
export class Slot {
  /** @type {File | null} */ file = null;
  /** @type {FilePreview | null} What the server has read; null while it reads. */ preview = null;
  /** @type {Child} Why the file was not sent or not read. */ refused = null;
  /** @type {{ text_column?: string, label_column?: string, header?: boolean }} */ options = {};
  isTaken = false; // whether a job has taken what was sent
  maxBytes = 0;
  onChange = () => {};

  constructor(/** @type {string} */ id, /** @type {"known" | "logs"} */ use) {
    this.id = id;
    this.use = use;
  }

  get isReady() {
    return Boolean(this.preview?.id);
  }

  empty() {
    Object.assign(this, { file: null, preview: null, refused: null, options: {} });
    this.onChange();
  }
}

export const LIST = { words: "", show: /** @type {Shown} */ ("all"), sort: /** @type {SortBy} */ ("attention") };

export const store = {
  review: {
    /** @type {State | null} */ state: null,
    /** @type {Map<string, Details>} */ details: new Map(),
    /** @type {number | null} */ detailsVersion: null,
    /** @type {Set<string>} */ doubtful: new Set(), // the fifth of the new intents that is probably wrong most often
    othersDecidedAt: -Infinity,
  },
  server: { isAway: false, failures: 0 }, // whether it did not answer last, and how many news were not heard
  sending: {
    isBusy: false, // whether a decision is under way; keys that are pressed meanwhile are dropped
    underWay: 0, // answers that are sent while the next question is shown
    allSent: Promise.resolve(),
    /** @type {Seen | null} */ seenByDialog: null,
    isBehind: false, // whether news came while a dialog was open
  },
  shown: {
    drawn: 0, // the number of the latest rendering: slower, older ones are dropped
    isArriving: false, // whether a view was gone to and is not drawn yet, even if another rendering took over
    /** @type {View} */ view: {},
    /** @type {unknown} */ asked: undefined, // what the question in sight is about
    inSightSince: -Infinity,
    address: location.hash,
    /** @type {Map<string, number>} */ places: new Map(), // how far each list was scrolled, by its address
    /** @type {ReturnType<typeof setTimeout> | undefined} */ messageEnds: undefined,
    isMessageForNextView: false,
    terms: 0, // that explain themselves, so that each has an id of its own
  },
  dialog: {
    /** @type {(name: string) => unknown} What a click on a choice does with its name. */ choose: () => {},
    /** @type {import("./api.js").Refusal | null} */ refused: null, // why, if somebody else had decided otherwise
  },
  jump: { targets: /** @type {Target[]} */ ([]), at: 0 },
  /** @type {Map<string, string>} What was typed and not sent. */ drafts: new Map(),
  /** @type {Map<string, { of: string, ids: Set<number> }>} Utterances, by view. */ selections: new Map(),
  logsOnly: { "/v1/review/search": true, "/v1/review/intent": false, "/v1/review/without-intent": false },
  list: {
    chosen: { ...LIST },
    /** @type {Set<string>} */ selection: new Set(),
    /** @type {Set<string>} */ unfolded: new Set(), // groups
    showsKnown: false,
    showsResizing: false,
    /** @type {string | null} */ marked: null, // the intent that the keys are about
  },
  resizing: {
    /** @type {number | null} */ wanted: null, // the number that was chosen
    /** @type {Map<number | null, Resizing>} */ previews: new Map(), // of one version, by number
    of: "", // that version
  },
  queue: new QueueModel(),
  pair: { names: "", side: 0, at: 0 }, // the utterance that is marked
  map: {
    camera: { scale: 1, x: 0, y: 0 },
    ...{ by: /** @type {"intent" | "certainty" | "decision"} */ ("intent"), knownNames: false, words: "", week: 0 },
    groups: /** @type {boolean | null} */ (null), // by default with many intents
    /** @type {Map<number, string>} */ texts: new Map(), // of utterances, by their numbers
    dispose: () => {}, // a browser has few contexts of WebGL
  },
  audit: {
    /** @type {Set<string>} */ skipped: new Set(),
    /** @type {AuditResult | null} */ latest: null, // what the last answer was answered with
    /** @type {AuditQuestion[]} */ given: [], // what was answered on this page, so that it can be undone
    /** @type {string | undefined} */ undone: undefined, // it is asked about again
  },
  exports: { which: /** @type {ExportChoice} */ ("default"), language: "en" },
  train: {
    kind: /** @type {"refit" | "update" | "discover"} */ ("refit"),
    newer: new Slot("newer-logs", "logs"),
    logs: new Slot("other-logs", "logs"),
    known: new Slot("known-file", "known"),
    update: { number: "", redact: false, isOpen: false },
    discover: { number: "", redact: false, isOpen: false },
    acceptsAll: false, // whether an update keeps the intents that nobody has accepted
    training: /** @type {Training} */ (/** @type {unknown} */ (null)), // until the view is drawn
    jobBox: document.createElement("div"), // of the view that was drawn last
    cardBox: document.createElement("div"),
    heardStatus: "idle", // of the job
    /** @type {Job | null} */ lostJob: null, // seen running here, and not known to the server any more
  },
};
