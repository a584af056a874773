// The types that the page's scripts share: answers of the HTTP API by their routes, views, and texts with parameters.

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

// Texts: `{name}` is a parameter, and `{n|one|other}` is chosen by a number. The parameters of a text that is put
// together with `+` are not checked, since its type is only `string`.
type Braced<S> = S extends `${string}{${infer P}}${infer Rest}` ? P | Braced<Rest> : never;
type NameIn<B> = B extends `${infer P}|${string}` ? P : B & string;
type Named<T, V> = { [B in Braced<T> as NameIn<B>]: V } & {
  [B in Extract<Braced<T>, `${string}|${string}`> as NameIn<B>]: number;
};
type Arguments<T, V> = string extends T ? [Record<string, V>?] : Braced<T> extends never ? [] : [Named<T, V>];
