// Classify texts with an exported model, with onnxruntime-node and @huggingface/tokenizers.
//
// node predict.mjs FOLDER TEXT [TEXT ...]     prints one JSON line per text

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ort from "onnxruntime-node";
import { Tokenizer } from "@huggingface/tokenizers";

const [folder, ...texts] = process.argv.slice(2);
const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf-8"));
const about = read("intents.json");
const tokenizer = new Tokenizer(read(about.tokenizer), {});
const session = await ort.InferenceSession.create(join(folder, about.graph));

// This tokenizer does not cut texts; the last token of a text marks its end and has to stay.
const rows = texts.map((text) => {
  const { ids } = tokenizer.encode(text.replace(/^[\p{Cc}\p{Cf}\p{Z}]*$/u, "")); // a text of which nothing can be seen
  return ids.length > about.max_length ? [...ids.slice(0, about.max_length - 1), ids.at(-1)] : ids;
});
const length = about.pad_to === "max_length" ? about.max_length : Math.max(...rows.map((row) => row.length));
const padded = rows.flatMap((row) => [...row, ...Array(length - row.length).fill(about.pad_id)]);
const mask = rows.flatMap((row) => Array.from({ length }, (_, i) => (i < row.length ? 1 : 0)));
const tensor = (values) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), [rows.length, length]);

const { probabilities, similarity } = await session.run({ input_ids: tensor(padded), attention_mask: tensor(mask) });
const count = about.intents.length;
texts.forEach((_, i) => {
  const row = Array.from(probabilities.data.slice(i * count, (i + 1) * count));
  const best = row.indexOf(Math.max(...row));
  const noIntent = 1 - row.reduce((sum, p) => sum + p, 0); // what rejected intents would have got
  const isNone = noIntent > row[best];
  console.log(JSON.stringify({
    intent: isNone ? null : about.intents[best].name,
    probability: Number((isNone ? noIntent : row[best]).toFixed(4)),
    outlier: about.outlier_similarity !== null && similarity.data[i] < about.outlier_similarity,
  }));
});
