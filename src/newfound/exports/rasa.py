"""Rasa NLU training data in YAML, version 3.1."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent, one_line, stable_id


def to_rasa(corpus: Corpus, project: Project) -> bytes:
    """Return a corpus as Rasa NLU training data: one `- utterance` a line.

    A space is put between brackets that Rasa would read as an annotated entity, and a slash in the name of an intent
    becomes an underscore (`names_without_slash`).
    """
    lines = ['version: "3.1"', "nlu:"]
    names = names_without_slash(corpus.intents)
    for intent, texts in by_intent(corpus).items():
        lines += [f"- intent: {_quote(names[intent])}", "  examples: |"]
        lines += ["    - " + re.sub(r"\](?=[({\[])", "] ", text) for text in texts]
    return ("\n".join(lines) + "\n").encode()


def names_without_slash(intents: Sequence[str]) -> dict[str, str]:
    """Return a name for each intent that Rasa reads as one intent.

    Rasa takes what follows a slash for the response to choose: `faq/hours` is the intent `faq`. A slash becomes an
    underscore; if the result is the name of another intent, it gets a suffix that is the same in every export.
    """
    names: dict[str, str] = {}
    taken = {intent for intent in intents if "/" not in intent}
    for intent in intents:
        name = intent.replace("/", "_")
        if name != intent and name in taken:
            name = f"{name}_{stable_id(intent)[:6]}"
        taken.add(name)
        names[intent] = name
    return names


def _quote(name: str) -> str:
    """Return a name as a YAML string; characters that end a line in YAML are escaped."""
    quoted = json.dumps(one_line(name), ensure_ascii=False)
    return re.sub("[\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match[0]):04x}", quoted)
