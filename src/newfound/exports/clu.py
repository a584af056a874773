"""A project of Azure's conversational language understanding, version 2022-10-01-preview."""

from __future__ import annotations

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent
from newfound.files import to_json

MAX_TEXT_LENGTH = 500  # characters; a longer text makes the import fail


def to_clu(corpus: Corpus, project: Project) -> bytes:
    grouped = by_intent(corpus)
    utterances = [
        {
            "text": text[:MAX_TEXT_LENGTH],
            "intent": intent,
            "language": project.language,
            "dataset": "Train",
            "entities": [],
        }
        for intent, texts in grouped.items()
        for text in texts
    ]
    return to_json(
        {
            "projectFileVersion": "2022-10-01-preview",
            "stringIndexType": "Utf16CodeUnit",
            "metadata": {
                "projectKind": "Conversation",
                "projectName": project.name,
                "multilingual": False,
                "description": "exported by newfound",
                "language": project.language,
                "settings": {"confidenceThreshold": 0},
            },
            "assets": {
                "projectKind": "Conversation",
                "intents": [{"category": intent} for intent in grouped],
                "entities": [],
                "utterances": utterances,
            },
        }
    )
