"""Rasa NLU training data in YAML, version 3.1."""

from __future__ import annotations

import json
import re

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent, one_line


def to_rasa(corpus: Corpus, project: Project) -> bytes:
    """Return a corpus as Rasa NLU training data: one `- utterance` a line.

    A space is put between brackets that Rasa would read as an annotated entity.
    """
    lines = ['version: "3.1"', "nlu:"]
    for intent, texts in by_intent(corpus).items():
        lines += [f"- intent: {_quote(intent)}", "  examples: |"]
        lines += ["    - " + re.sub(r"\](?=[({\[])", "] ", text) for text in texts]
    return ("\n".join(lines) + "\n").encode()


def _quote(name: str) -> str:
    """Return a name as a YAML string; characters that end a line in YAML are escaped."""
    quoted = json.dumps(one_line(name), ensure_ascii=False)
    return re.sub("[\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match[0]):04x}", quoted)
