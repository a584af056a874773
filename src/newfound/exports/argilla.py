"""Argilla 2: a dataset's folder, for `rg.Dataset.from_disk`."""

from __future__ import annotations

import re
from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import ModelFacts, one_line, stable_id, zip_files
from newfound.files import to_json

SETTINGS_FOLDER, RECORDS = ".argilla", "records.json"
ARGILLA_FILES = frozenset({SETTINGS_FOLDER, RECORDS})
TEXT_FIELD, QUESTION = "text", "intent"


def to_argilla(corpus: Corpus, name: str, language: str, facts: ModelFacts) -> bytes:
    """Return a zip of a dataset's folder: one record for each utterance, with its intent as a suggestion.

    The score of a suggestion is the probability of the intent, and 1 if a person gave it. An answer of a person
    (`responses`) would need the id of a user of the server.
    """
    records = []
    for text, intent, origin in zip(corpus.texts, corpus.labels, corpus.origins, strict=True):
        if intent is None or not one_line(text):
            continue
        records.append(
            {
                "id": stable_id(text),
                "fields": {TEXT_FIELD: one_line(text)},
                "metadata": {"status": facts.of(intent).status, "labelled": "yes" if origin.labelled else "no"},
                "suggestions": {QUESTION: {"value": intent, "score": origin.probability, "agent": "newfound"}},
                "responses": {},
                "vectors": {},
            }
        )
    dataset = {"name": re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_-") or "newfound"}
    files = {"dataset.json": dataset, "settings.json": _settings(corpus.intents)}
    return zip_files(
        {f"{SETTINGS_FOLDER}/{file}": to_json(content) for file, content in files.items()} | {RECORDS: to_json(records)}
    )


def _settings(intents: tuple[str, ...]) -> dict[str, Any]:
    choices = {"type": "label_selection", "options": [{"value": intent, "text": intent} for intent in intents]}
    return {
        "guidelines": None,
        "fields": [{"name": TEXT_FIELD, "title": "Utterance", "required": True, "settings": {"type": "text"}}],
        "questions": [{"name": QUESTION, "title": "Intent", "required": True, "settings": choices}],
        "metadata": [{"name": name, "title": name, "settings": {"type": "terms"}} for name in ("status", "labelled")],
        "vectors": [],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
    }
