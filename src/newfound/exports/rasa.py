"""Rasa NLU training data in YAML, version 3.1."""

from __future__ import annotations

import json
import re

from newfound.data.corpus import Corpus
from newfound.exports.common import by_intent


def to_rasa(corpus: Corpus, name: str, language: str) -> bytes:
    """Examples are block text, one `- utterance` a line; what would read as an entity mark is taken apart."""
    lines = ['version: "3.1"', "nlu:"]
    for intent, texts in by_intent(corpus).items():
        lines += [f"- intent: {json.dumps(intent, ensure_ascii=False)}", "  examples: |"]
        lines += ["    - " + re.sub(r"\](?=[({\[])", "] ", text) for text in texts]
    return ("\n".join(lines) + "\n").encode()
