"""Intents of Botpress's NLU as JSON."""

from __future__ import annotations

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent, file_name
from newfound.files import to_json


def to_botpress(corpus: Corpus, project: Project) -> bytes:
    intents = [
        {"name": file_name(intent), "contexts": ["global"], "utterances": {project.language: texts}, "slots": []}
        for intent, texts in by_intent(corpus).items()
    ]
    return to_json({"intents": intents, "entities": []})
