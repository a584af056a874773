"""Classify texts with an exported model, with onnxruntime and tokenizers alone.

python predict.py FOLDER TEXT [TEXT ...]     prints one JSON line per text
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


def is_blank(text: str) -> bool:
    """Return whether a text has only spaces, control and format characters."""
    return all(c.isspace() or category(c) in ("Cc", "Cf", "Zs", "Zl", "Zp") for c in text)


def classify(folder: Path, texts: list[str]) -> list[dict[str, Any]]:
    """Return the intent of each text; None if it belongs to a rejected intent, or if nothing of it can be seen."""
    about = json.loads((folder / "intents.json").read_text("utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / about["tokenizer"]))
    length = about["max_length"] if about["pad_to"] == "max_length" else None
    tokenizer.enable_padding(pad_id=about["pad_id"], length=length)
    session = onnxruntime.InferenceSession(folder / about["graph"], providers=["CPUExecutionProvider"])
    encoded = tokenizer.encode_batch(["" if is_blank(text) else text for text in texts])
    inputs = {
        "input_ids": np.array([e.ids for e in encoded], dtype=np.int64),
        "attention_mask": np.array([e.attention_mask for e in encoded], dtype=np.int64),
    }
    least = about["outlier_similarity"]  # None if the model does not know what is typical
    answers = []
    for row, similarity in zip(*session.run(["probabilities", "similarity"], inputs), strict=True):
        best, no_intent = int(row.argmax()), 1 - float(row.sum())  # what rejected intents would have got
        is_none = no_intent > row[best]
        answers.append(
            {
                "intent": None if is_none else about["intents"][best]["name"],
                "probability": round(no_intent if is_none else float(row[best]), 4),
                "outlier": least is not None and bool(similarity < least),
            }
        )
    return answers


if __name__ == "__main__":
    for answer in classify(Path(sys.argv[1]), sys.argv[2:]):
        print(json.dumps(answer, ensure_ascii=False))
