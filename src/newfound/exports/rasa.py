"""Rasa NLU training data in YAML, version 3.1."""

from __future__ import annotations

import json
import re

from newfound.data.corpus import Corpus
from newfound.exports.common import by_intent


def to_rasa(corpus: Corpus, name: str, language: str) -> bytes:
    """Return a corpus as Rasa NLU training data: one `- utterance` a line.

    A space is put between brackets that Rasa would read as an annotated entity.

    Args:
        corpus: The utterances with their intents.
        name: Not used; the format has no name of a project.
        language: Not used; the format has no language code.
    """
    lines = ['version: "3.1"', "nlu:"]
    for intent, texts in by_intent(corpus).items():
        lines += [f"- intent: {json.dumps(intent, ensure_ascii=False)}", "  examples: |"]
        lines += ["    - " + re.sub(r"\](?=[({\[])", "] ", text) for text in texts]
    return ("\n".join(lines) + "\n").encode()
