// The types that the page's scripts share: answers of the HTTP API by their routes, views, and texts with parameters.

type Submitted = void | boolean | Promise<void | boolean>; // resolves when it is done; false: stay open
type Keep = (isOn: boolean) => unknown;
type Attributes = Record<string, any>;
type Child = Node | string | number | false | null | undefined | Child[];

type State = Gets["/v1/review/state"]["answer"];
type Seen = Pick<State, "version" | "model">;
type Intent = State["intents"][number];
type Status = Intent["status"];
type KnownCheck = NonNullable<State["progress"]["known_check"]>;
type Details = Gets["/v1/review/details"]["answer"]["intents"][number];
type UtterancePage = Gets["/v1/review/utterances"]["answer"];
type Utterance = UtterancePage["utterances"][number];
type IntentPage = Gets["/v1/review/intent"]["answer"];
type Part = NonNullable<IntentPage["split"]>["parts"][number];
type QueueItem = Gets["/v1/review/queue"]["answer"]["items"][number];
type PairedUtterance = Gets["/v1/review/pair"]["answer"]["first"][number];
type Log = Gets["/v1/review/log"]["answer"];
type Entry = Log["entries"][number];
type Prediction = Posts["/v1/predict"]["answer"]["predictions"][number];
type Explanation = Posts["/v1/review/explain"]["answer"];
type AuditResult = Gets["/v1/audit"]["answer"];
type AuditQuestion = AuditResult["questions"][number];
type Resizing = Gets["/v1/review/resize"]["answer"];
type Training = Gets["/v1/review/training"]["answer"] & { job: { kind: "refit" | "update" | "discover" } };
type Job = Training["job"];
type Changes = NonNullable<Job["changes"]>;
type Discovered = NonNullable<Job["discovered"]>;
type Chosen = Posts["/v1/review/selection"]["answer"];
type Exports = Gets["/v1/export"]["answer"];
type ExportChoice = "default" | "accepted" | "all";
type FilePreview = Posts["/v1/files"]["answer"];

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

type Place = [x: number, y: number]; // in pixels
interface Gestures {
  point: (place: Place | null) => void; // The pointer is there; null if it has left.
  press: (place: Place, isTouch: boolean) => void;
  pan: (dx: number, dy: number) => void;
  zoomAt: (factor: number, place: Place) => void;
  drawLasso: (line: Place[] | null) => void;
  closeLasso: (polygon: Place[]) => void;
  hint?: () => unknown; // The wheel was turned without Ctrl.
}

// A map: its points are named by their numbers.
interface MapOptions {
  colourOf: (point: number) => string; // As #rrggbb.
  nameOf: (intent: number) => string | null;
  isQuiet: (intent: number) => boolean; // Whether a name is left out while the map is not zoomed.
  onHover: (point: number | null, place: Place) => void; // Gets where the point is, in pixels.
  onSelect: (points: number[]) => void;
  onDraw?: (names: string[], scale: number) => void; // Gets the names that are drawn.
  onLasso?: () => void; // A lasso is begun.
  onHint?: () => unknown; // The wheel was turned without Ctrl.
  camera?: { scale: number; x: number; y: number };
}

// A point at x between 0 and 1 is `x * scale[0] + shift[0]` pixels from the left.
interface Drawing {
  size: number[]; // Width and height of the canvas in CSS pixels.
  scale: number[];
  shift: number[];
  radius: number;
  ink: number[]; // The colour of the ring around selected points, as three numbers from 0 to 255.
}

interface Painter {
  setPlaces: (x: Float32Array, y: Float32Array) => void;
  setLooks: (looks: Uint8Array) => void; // Red, green, blue and a kind for each point.
  draw: (drawing: Drawing) => void;
  dispose: () => void;
}

interface ListOptions {
  selection: Set<number>; // The numbers of the selected utterances.
  fetchPage: (start: number) => Promise<Pick<UtterancePage, "utterances" | "total" | "ids">>;
  withIntent?: boolean; // Whether each utterance has the name of its intent beside it.
  from?: string; // The intent that all of them belong to.
  mayLeave?: boolean; // Whether they can be put into no intent.
  mayLeaveOut?: "/v1/review/search" | "/v1/review/intent" | "/v1/review/without-intent"; // Where labelled ones can be left out.
  showsLosses?: boolean; // Whether what intents would lose is shown before a dialog is opened.
  onChange?: () => void; // Called when the selection has changed.
  empty?: string;
}

interface Question {
  title: string;
  label?: string;
  value?: string;
  quotes?: string[];
  total?: number; // Of what the quotes are examples of; by default there are no others.
  note?: Child;
  ok?: string;
  hasInput?: boolean;
  onInput?: (typed: string) => void;
  submit: (value: string) => Submitted; // If it throws, the dialog shows the error.
}

type Decision = Record<string, object>;
type Step = [decisions: Decision[], message: string, next?: string]; // what is done, said of it, and shown then
type Column = [heading: Child, kind?: string]; // the kind is the class of its cells
type SortBy = "attention" | "size" | "wrong" | "name" | "group";
type Shown = "all" | "attention" | "new" | "accepted" | "same" | "two" | "doubtful";
type Target = { label: Child; kind: string; act: () => unknown };

// Texts: `{name}` is a parameter, and `{n|one|other}` is chosen by a number. The parameters of a text that is put
// together with `+` are not checked, since its type is only `string`.
type Braced<S> = S extends `${string}{${infer P}}${infer Rest}` ? P | Braced<Rest> : never;
type NameIn<B> = B extends `${infer P}|${string}` ? P : B & string;
type Named<T, V> = { [B in Braced<T> as NameIn<B>]: V } & {
  [B in Extract<Braced<T>, `${string}|${string}`> as NameIn<B>]: number;
};
type Arguments<T, V> = string extends T ? [Record<string, V>?] : Braced<T> extends never ? [] : [Named<T, V>];
