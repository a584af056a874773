// The types that the page's scripts share: answers of the HTTP API, views, and texts with named parameters.

type Child = Node | string | number | false | null | undefined | Child[];
type Status = "known" | "new" | "accepted";
type Shares = [string, number][]; // names of intents with a probability

interface Seen {
  version: number;
  model: string;
}

interface Limits {
  low_certainty: number;
  min_separation: number;
  max_typical_outlier: number;
  max_name_length: number;
  max_comment_length: number;
  max_texts_to_classify: number;
  max_utterances_to_move: number;
  max_queue: number;
  seconds_between_news: number;
  language_pattern: string;
}

interface Intent {
  name: string;
  path: string | null;
  status: Status;
  size: number;
  certainty: number | null; // null without utterances
  number: number;
  comments: number;
  share: number; // of the logs
  volume: Volume | null;
}

interface Volume {
  first_week: string;
  counts: number[];
  trend: "rising" | "fading" | "new" | "steady" | null;
}

// Of the held-out labels that are right: the share by a plain classifier, and the share now.
interface KnownCheck {
  labels: number;
  plain: number;
  now: number;
  seen_before: boolean;
  falls: boolean;
}

interface State extends Seen {
  name: string;
  intents: Intent[];
  progress: {
    logs: number;
    new_share: number;
    known_share: number;
    accepted: number;
    new: number;
    checked: number;
    expected_error: number;
    without_intent: number;
    known_check: KnownCheck | null;
  };
  limits: Limits;
}

interface News extends Seen {
  name: string;
  events: { at: string; author: string; words: string }[];
  job: Job["status"];
}

interface Details {
  name: string;
  keywords: string[];
  examples: string[];
  merge: string | null;
  overlap: number | null;
  separation: number | null;
}

interface Utterance {
  id: number;
  text: string;
  intent: string | null;
  labelled: boolean;
  probability: number;
  count: number;
  checked: boolean;
}

interface UtterancePage {
  utterances: Utterance[];
  total: number; // of different texts
  occurrences: number; // of utterances
  ids: number[]; // of all, or of the first ones if there are more than can be moved at once
}

interface Loss {
  intent: string | null;
  taken: number;
  size: number;
}

interface SelectionLosses {
  losses: Loss[];
  labelled: number;
}

interface Part {
  name: string;
  size: number;
  utterances: string[];
}

interface IntentPage extends UtterancePage {
  status: Status;
  size: number;
  labelled: number;
  certainty: number | null; // null without utterances
  keywords: string[];
  exemplars: string[];
  border: string[];
  volume: Volume | null;
  merges: { name: string; status: Status; overlap: number; evidence: [string, string][] }[];
  split: { separation: number; parts: Part[] } | null;
  comments: { author: string; at: string; text: string }[];
  n_comments: number;
}

interface QueueItem extends Utterance {
  candidates: Shares;
  stands_for: number;
  asks_about: string | null;
}

interface Entry {
  id: number;
  at: string;
  author: string;
  kind: string;
  words: string;
  arguments: Record<string, string>;
  undone_at: string;
  undone_by: string | null;
}

interface Prediction {
  intent: string | null;
  probability: number;
  outlier: number;
}

interface Explanation extends Prediction {
  intents: Shares;
  runner_up: { intent: string; probability: number } | null;
  utterances: (Utterance & { similarity: number; labelled_by: string })[];
  words: { word: string; start: number; end: number; intent: string | null; probability: number }[];
}

interface Estimate {
  value: number;
  low: number;
  high: number;
}

interface AuditQuestion {
  text: string;
  intent: string;
  id: string;
  examples: string[];
}

interface AuditResult {
  answered: number;
  accuracy: Estimate;
  more_questions: number;
  intents: { name: string; accuracy: Estimate; answered: number; yes: number }[];
  questions: AuditQuestion[];
}

// Columns are numbers in base64.
interface LogMap {
  version: number;
  names: string[];
  status: Status[];
  positions: string;
  intents: string;
  counts: string;
  ids: string;
  probabilities: string;
  checked: string;
  is_final: boolean;
}

interface ResizeChange {
  kind: "merge" | "split";
  before: Part[];
  after: Part[];
}

interface Resizing {
  version: number;
  n_new: number;
  fewest: number;
  most: number;
  estimate: { n_new: number; low: number; high: number; is_unsure: boolean } | null;
  changes: ResizeChange[];
}

interface ExportCounts {
  intents: number;
  utterances: number;
  labelled: number;
  accepted: number;
  guesses: number;
  left_out: number;
  new_intents: number;
}

type ExportChoice = "default" | "accepted" | "all";

interface Exports extends Record<ExportChoice, ExportCounts> {
  formats: { name: string; title: string; about: string; suffix: string }[];
}

interface Changes {
  intents_before: number;
  intents_after: number;
  now_known: string[];
  gone: string[];
  expected_error_before: number;
  expected_error_after: number;
  utterances: number;
  moved: number;
  examples: { text: string; before: string | null; after: string | null }[];
  reclustered: number;
  answers: number;
  known_check: KnownCheck | null;
}

interface Discovered {
  new: string[];
  known: number;
  utterances: number;
  known_check: KnownCheck | null;
  changes: UpdateChanges | null;
}

interface UpdateChanges {
  new: string[];
  found_again: string[];
  lost: string[];
  answers: number;
  expected_error_before: number;
  expected_error_after: number;
}

interface Job {
  kind: "refit" | "update" | "discover";
  version: number;
  discovered: Discovered | null;
  status: "idle" | "running" | "done" | "failed" | "cancelled";
  author: string;
  step: string;
  steps: string[];
  step_titles: Record<string, string>;
  done: number;
  total: number;
  message: string;
  folder: string | null;
  seconds: number;
  changes: Changes | null;
  warnings: string[];
}

interface Training {
  version: number;
  name: string;
  earlier: string | null;
  decided: Record<"answers" | "accepted" | "merged" | "renamed" | "split" | "rejected", number>;
  undecided: number;
  job: Job;
  max_bytes: number;
  endings: string[];
}

interface FilePreview {
  id: string | null;
  name: string;
  problem: string | null;
  remedies: string[];
  columns: string[];
  text_column: string | null;
  label_column: string | null;
  utterances: number;
  intents: number;
  first: { text: string; label: string | null }[];
  notes: string[];
}

interface EarlierTraining {
  kind: string;
  model: string;
  at: string;
  author: string | null;
  total: number;
  entries: Entry[];
}

interface View {
  title?: string;
  content?: Child;
  keys?: Record<string, () => unknown>;
  asks?: unknown; // what is to be read before a key or a click answers it; another value is another question
  isFailure?: boolean; // whether it only says what went wrong
  onNews?: () => boolean | Promise<boolean>; // returns whether the view is drawn again
  onShown?: () => void;
  seen?: Seen;
}

// Texts: `{name}` is a parameter, and `{n|one|other}` is chosen by a number. The parameters of a text that is put
// together with `+` are not checked, since its type is only `string`.
type Braced<S> = S extends `${string}{${infer P}}${infer Rest}` ? P | Braced<Rest> : never;
type NameIn<B> = B extends `${infer P}|${string}` ? P : B & string;
type Named<T, V> = { [B in Braced<T> as NameIn<B>]: V } & {
  [B in Extract<Braced<T>, `${string}|${string}`> as NameIn<B>]: number;
};
type Arguments<T, V> = string extends T ? [Record<string, V>?] : Braced<T> extends never ? [] : [Named<T, V>];
