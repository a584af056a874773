"""Dialogflow: an ES agent as a zip, and Intent resources of the CX API (v3) as JSON."""

from __future__ import annotations

from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent, file_name, stable_id, zip_files
from newfound.files import to_json


def to_dialogflow_es(corpus: Corpus, project: Project) -> bytes:
    files: dict[str, Any] = {
        "package.json": {"version": "1.0.0"},
        "agent.json": {"displayName": project.name, "language": project.language, "defaultTimezone": "Etc/UTC"},
    }
    for intent, texts in by_intent(corpus).items():
        about = {
            "id": stable_id(project.name, intent),
            "name": intent,
            "auto": True,
            "contexts": [],
            "responses": [{"resetContexts": False, "affectedContexts": [], "parameters": [], "messages": []}],
            "priority": 500000,
            "webhookUsed": False,
            "fallbackIntent": False,
            "events": [],
        }
        phrases = [
            {
                "id": stable_id(project.name, intent, text),
                "data": [{"text": text, "userDefined": False}],
                "isTemplate": False,
                "count": 0,
                "lang": project.language,
            }
            for text in texts
        ]
        files[f"intents/{file_name(intent)}.json"] = about
        files[f"intents/{file_name(intent)}_usersays_{project.language}.json"] = phrases
    return zip_files({path: to_json(content) for path, content in files.items()})


def to_dialogflow_cx(corpus: Corpus, project: Project) -> bytes:
    intents = [
        {
            "displayName": intent,
            "description": project.descriptions.get(intent, ""),
            "trainingPhrases": [{"parts": [{"text": text}], "repeatCount": 1} for text in texts],
            "priority": 500000,
            "isFallback": False,
        }
        for intent, texts in by_intent(corpus).items()
    ]
    return to_json({"languageCode": project.language, "intents": intents})
