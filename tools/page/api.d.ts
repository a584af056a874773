// What the server answers and which parameters it takes. Made from /openapi.json by api_types.py; not changed by hand.

declare namespace Api {
  interface AllDetails {
    version: number;
    intents: Array<Api.IntentDetails>;
  }

  interface AuditQuestion {
    text: string;
    intent: string;
    id: string;
    examples: Array<string>;
  }

  interface AuditResult {
    answered: number;
    accuracy: Api.Estimate | null;
    more_questions: number;
    intents: Array<Api.AuditedIntent>;
    wrong: Array<[string, string]>;
    questions: Array<Api.AuditQuestion>;
  }

  interface AuditedIntent {
    name: string;
    id: string;
    accuracy: Api.Estimate;
    answered: number;
    yes: number;
  }

  interface Change {
    kind: "merge" | "split";
    before: Array<Api.Part>;
    after: Array<Api.Part>;
  }

  interface ConfusedPair {
    first: string;
    second: string;
    expected: number;
  }

  interface Decided {
    version: number;
    entries: Array<Api.Entry>;
  }

  interface Decision {
    kind: string;
    arguments: Record<string, unknown>;
  }

  type DecisionKind = "rename" | "merge" | "split" | "reject" | "accept" | "move" | "divide" | "comment";

  interface Discovered {
    new: Array<string>;
    known: number;
    utterances: number;
    known_check: Api.KnownCheck | null;
    changes: Api.UpdateChanges | null;
  }

  interface EarlierTraining {
    kind: string;
    model: string;
    at: string;
    author: string | null;
    entries: Array<Api.Entry>;
    total: number;
  }

  interface Entry {
    id: number;
    at: string;
    author: string;
    kind: string;
    arguments: Record<string, unknown>;
    undone_at: string | null;
    undone_by: string | null;
    words: string;
  }

  interface Estimate {
    value: number;
    low: number;
    high: number;
  }

  interface EstimatedNumber {
    n_new: number;
    low: number;
    high: number;
    is_unsure: boolean;
  }

  interface Event {
    at: string;
    author: string;
    words: string;
    id: number;
    is_undo: boolean;
  }

  interface Explanation {
    text: string;
    intent: string | null;
    known: boolean;
    probability: number;
    outlier: number;
    status: "known" | "accepted" | "new" | null;
    top: Array<Api.RankedIntent>;
    intent_id: string | null;
    path: string | null;
    above_threshold: boolean | null;
    intents: Array<Api.MessagePart> | null;
    runner_up: Api.RankedIntent | null;
    utterances: Array<Api.NearUtterance>;
    words: Array<Api.WordEffect>;
  }

  interface ExportCounts {
    labelled: number;
    accepted: number;
    guesses: number;
    left_out: number;
    new_intents: number;
    utterances: number;
    intents: number;
  }

  interface Exports {
    formats: Array<Record<string, string>>;
    default: Api.ExportCounts;
    accepted: Api.ExportCounts;
    all: Api.ExportCounts;
  }

  interface FilePreview {
    id: string | null;
    name: string;
    problem: string | null;
    remedies: Array<string>;
    columns: Array<string>;
    text_column: string | null;
    label_column: string | null;
    utterances: number;
    intents: number;
    first: Array<[string, string | null]>;
    notes: Array<string>;
  }

  interface Intent {
    name: string;
    known: boolean;
    size: number;
    exemplars: Array<string>;
    keywords: Array<string>;
    border: Array<string>;
    accepted: boolean;
    labelled: number;
    certainty: number | null;
    overlaps: Array<Api.Overlap>;
    min_similarity: number;
    takes_wordless: boolean;
    takes_small_talk: boolean;
    volume: Api.Volume | null;
    conversations: number;
    users: number;
    means: Array<Api.Mean>;
    id: string;
    path: string | null;
    status: "known" | "accepted" | "new";
    expected_error: number | null;
    description: string;
  }

  interface IntentDetails {
    name: string;
    keywords: Array<string>;
    examples: Array<string>;
    merge: string | null;
    separation: number | null;
    description: string;
  }

  interface IntentPage {
    name: string;
    known: boolean;
    size: number;
    exemplars: Array<string>;
    keywords: Array<string>;
    border: Array<string>;
    accepted: boolean;
    labelled: number;
    certainty: number | null;
    overlaps: Array<Api.Overlap>;
    min_similarity: number;
    takes_wordless: boolean;
    takes_small_talk: boolean;
    volume: Api.Volume | null;
    conversations: number;
    users: number;
    means: Array<Api.Mean>;
    id: string;
    path: string | null;
    status: "known" | "accepted" | "new";
    expected_error: number | null;
    description: string;
    merges: Array<Api.MergeProposal>;
    split: Api.SplitProposal | null;
    total: number;
    occurrences: number;
    utterances: Array<Api.ListedUtterance>;
    ids: Array<number>;
    comments: Array<Api.Entry>;
  }

  interface JobState {
    kind: string;
    status: "idle" | "running" | "done" | "failed" | "cancelled";
    author: string;
    done: number;
    total: number;
    message: string;
    folder: string | null;
    steps: Array<string>;
    seconds: number;
    changes: Api.RefitChanges | null;
    discovered: Api.Discovered | null;
    warnings: Array<string>;
    version: number;
  }

  interface KnownCheck {
    labels: number;
    plain: number;
    now: number;
    lost: number;
    gained: number;
    seen_before: boolean;
    falls: boolean;
  }

  interface Limits {
    min_separation: number;
    max_typical_outlier: number;
    max_name_length: number;
    max_comment_length: number;
    max_texts_to_classify: number;
    max_utterances_to_move: number;
    max_queue: number;
    language_pattern: string;
    seconds_between_news: number;
  }

  interface ListedIntent {
    name: string;
    known: boolean;
    size: number;
    exemplars: Array<string>;
    keywords: Array<string>;
    border: Array<string>;
    accepted: boolean;
    labelled: number;
    certainty: number | null;
    overlaps: Array<Api.Overlap>;
    min_similarity: number;
    takes_wordless: boolean;
    takes_small_talk: boolean;
    volume: Api.Volume | null;
    conversations: number;
    users: number;
    means: Array<Api.Mean>;
    id: string;
    path: string | null;
    status: "known" | "accepted" | "new";
    expected_error: number | null;
    description: string;
    colour: number;
    comments: number;
    share: number;
  }

  interface ListedUtterance {
    text: string;
    intent: string | null;
    labelled: boolean;
    probability: number;
    count: number;
    source: string;
    days: Array<[string, number]>;
    said: Api.Said;
    id: number;
    checked: boolean;
  }

  interface Log {
    total: number;
    entries: Array<Api.Entry>;
    earlier: Array<Api.EarlierTraining>;
  }

  interface LogMap {
    version: number;
    names: Array<string>;
    status: Array<"known" | "accepted" | "new">;
    positions: string;
    intents: string;
    counts: string;
    ids: string;
    probabilities: string;
    checked: string;
    weeks: string;
    is_final: boolean;
  }

  interface Loss {
    intent: string | null;
    taken: number;
    size: number;
  }

  interface Mean {
    column: string;
    value: number;
    count: number;
  }

  interface MergeProposal {
    name: string;
    status: "known" | "accepted" | "new";
    overlap: number;
    evidence: Array<[string, string]>;
  }

  interface MessagePart {
    intent: string;
    probability: number;
    start: number;
    end: number;
  }

  interface MovedUtterance {
    text: string;
    before: string | null;
    after: string | null;
  }

  interface NearUtterance {
    text: string;
    intent: string | null;
    similarity: number;
    labelled_by: string;
  }

  interface News {
    model: string;
    name: string;
    version: number;
    events: Array<Api.Event>;
    job: string;
  }

  interface Overlap {
    name: string;
    share: number;
  }

  interface Page {
    total: number;
    occurrences: number;
    utterances: Array<Api.ListedUtterance>;
    ids: Array<number>;
  }

  interface PairPage {
    first: Array<Api.PairedUtterance>;
    second: Array<Api.PairedUtterance>;
  }

  interface PairedUtterance {
    text: string;
    intent: string | null;
    labelled: boolean;
    probability: number;
    count: number;
    source: string;
    days: Array<[string, number]>;
    said: Api.Said;
    id: number;
    checked: boolean;
    other: number;
  }

  interface Part {
    name: string;
    size: number;
    utterances: Array<string>;
  }

  interface Prediction {
    text: string;
    intent: string | null;
    known: boolean;
    probability: number;
    outlier: number;
    status: "known" | "accepted" | "new" | null;
    top: Array<Api.RankedIntent>;
    intent_id: string | null;
    path: string | null;
    above_threshold: boolean | null;
    intents: Array<Api.MessagePart> | null;
  }

  interface Predictions {
    predictions: Array<Api.Prediction>;
  }

  interface Progress {
    logs: number;
    new_share: number;
    known_share: number;
    accepted: number;
    new: number;
    checked: number;
    expected_error: number;
    without_intent: number;
    known_check: Api.KnownCheck | null;
  }

  interface Queue {
    version: number;
    items: Array<Api.QueueItem>;
    expected_error: number;
  }

  interface QueueItem {
    text: string;
    intent: string | null;
    labelled: boolean;
    probability: number;
    count: number;
    source: string;
    days: Array<[string, number]>;
    said: Api.Said;
    id: number;
    checked: boolean;
    candidates: Array<[string, number]>;
    stands_for: number;
    asks_about: string | null;
  }

  interface RankedIntent {
    intent: string;
    probability: number;
  }

  interface RefitChanges {
    intents_before: number;
    intents_after: number;
    now_known: Array<string>;
    gone: Array<string>;
    expected_error_before: number;
    expected_error_after: number;
    utterances: number;
    moved: number;
    examples: Array<Api.MovedUtterance>;
    reclustered: number;
    answers: number;
    known_check: Api.KnownCheck | null;
  }

  interface Resizing {
    version: number;
    present: number;
    n_new: number;
    fewest: number;
    most: number;
    estimate: Api.EstimatedNumber | null;
    changes: Array<Api.Change>;
    decisions: Array<Api.Decision>;
  }

  interface Said {
    conversation: string;
    turn: number;
    before: Array<string>;
    message: string;
    openings: number;
    answers: number;
    conversations: Array<string>;
    users: Array<string>;
    values: Array<[string, number, number]>;
  }

  interface Selection {
    losses: Array<Api.Loss>;
    labelled: number;
    likely: Array<[string, number]>;
  }

  interface Served {
    model: string;
    name: string;
  }

  interface ServedState {
    version: number;
    intents: Array<Api.ListedIntent>;
    progress: Api.Progress;
    model: string;
    name: string;
    limits: Api.Limits;
  }

  interface SplitProposal {
    separation: number;
    parts: Array<Api.Part>;
  }

  interface TrainingState {
    version: number;
    name: string;
    earlier: string | null;
    decided: Record<string, number>;
    undecided: number;
    job: Api.JobState;
    max_bytes: number;
    endings: Array<string>;
  }

  interface UpdateChanges {
    new: Array<string>;
    found_again: Array<string>;
    lost: Array<string>;
    answers: number;
    expected_error_before: number;
    expected_error_after: number;
  }

  interface Volume {
    first_week: string;
    counts: Array<number>;
    trend: "rising" | "fading" | "new" | "steady" | null;
    partial: Array<number>;
    change: number | null;
  }

  interface WordEffect {
    word: string;
    intent: string | null;
    probability: number;
  }
}

interface Gets {
  "/healthz": { query: {}; answer: Record<string, string> };
  "/v1/audit": { query: { questions?: number }; answer: Api.AuditResult };
  "/v1/export": { query: {}; answer: Api.Exports };
  "/v1/intents": { query: {}; answer: Array<Api.Intent> };
  "/v1/jobs": { query: {}; answer: Api.JobState };
  "/v1/review/details": { query: {}; answer: Api.AllDetails };
  "/v1/review/intent": { query: { name: string; start?: number; logs_only?: boolean }; answer: Api.IntentPage };
  "/v1/review/log": { query: { kind?: Api.DecisionKind | null }; answer: Api.Log };
  "/v1/review/map": { query: {}; answer: Api.LogMap };
  "/v1/review/news": { query: { since?: number }; answer: Api.News };
  "/v1/review/pair": { query: { first: string; second: string }; answer: Api.PairPage };
  "/v1/review/pairs": { query: {}; answer: Array<Api.ConfusedPair> };
  "/v1/review/queue": { query: { most?: number; shown?: number | null }; answer: Api.Queue };
  "/v1/review/resize": { query: { to?: number | null }; answer: Api.Resizing };
  "/v1/review/search": { query: { q: string; start?: number; logs_only?: boolean; by_meaning?: boolean }; answer: Api.Page };
  "/v1/review/state": { query: {}; answer: Api.ServedState };
  "/v1/review/training": { query: {}; answer: Api.TrainingState };
  "/v1/review/utterances": { query: { id: Array<number> }; answer: Api.Page };
  "/v1/review/without-intent": { query: { start?: number; logs_only?: boolean }; answer: Api.Page };
}

interface Posts {
  "/v1/audit": { query: {}; answer: Api.AuditResult };
  "/v1/discover": { query: {}; answer: Api.JobState };
  "/v1/files": { query: { name: string; use?: "known" | "logs"; text_column?: string | null; label_column?: string | null; header?: boolean; replaces?: string | null }; answer: Api.FilePreview };
  "/v1/jobs/cancel": { query: {}; answer: Api.JobState };
  "/v1/predict": { query: {}; answer: Api.Predictions };
  "/v1/review/decisions": { query: {}; answer: Api.Decided };
  "/v1/review/explain": { query: {}; answer: Api.Explanation };
  "/v1/review/refit": { query: {}; answer: Api.JobState };
  "/v1/review/resize": { query: {}; answer: Api.Decided };
  "/v1/review/selection": { query: {}; answer: Api.Selection };
  "/v1/review/serve": { query: {}; answer: Api.Served };
  "/v1/review/undo": { query: {}; answer: Api.Decided };
  "/v1/update": { query: {}; answer: Api.JobState };
}
