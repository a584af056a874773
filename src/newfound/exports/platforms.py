"""Writers for bot platforms and labelling tools: training data that they import. `newfound.data.platforms` reads most.

- Azure's conversational language understanding: a project, version 2022-10-01-preview.
- Botpress: intents of its NLU as JSON.
- Dialogflow: an ES agent as a zip, and Intent resources of the CX API (v3) as JSON.
- Label Studio: tasks as JSON, for a project whose labelling interface has `Text` and `Choices`.
- Rasa: NLU training data in YAML, version 3.1.
- semantic-router 1.1: a router's file as JSON, for `load_router`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent, file_name, one_line, stable_id, zip_files
from newfound.files import to_json

MAX_TEXT_LENGTH_OF_CLU = 500  # characters; a longer text makes the import fail
TEXT_FIELD = "text"  # of Label Studio: <Text name="text" value="$text"/>
CHOICES_NAME = "intent"  # <Choices name="intent" toName="text" choice="single">


def to_clu(corpus: Corpus, project: Project) -> bytes:
    grouped = by_intent(corpus)
    utterances = [
        {
            "text": text[:MAX_TEXT_LENGTH_OF_CLU],
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


def to_botpress(corpus: Corpus, project: Project) -> bytes:
    intents = [
        {"name": file_name(intent), "contexts": ["global"], "utterances": {project.language: texts}, "slots": []}
        for intent, texts in by_intent(corpus).items()
    ]
    return to_json({"intents": intents, "entities": []})


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
            "trainingPhrases": [{"parts": [{"text": text}], "repeatCount": 1} for text in texts],
            "priority": 500000,
            "isFallback": False,
        }
        for intent, texts in by_intent(corpus).items()
    ]
    return to_json({"languageCode": project.language, "intents": intents})


def to_label_studio(corpus: Corpus, project: Project) -> bytes:
    """Return a corpus as tasks of Label Studio.

    What a person labelled is an annotation of its task; what the model assigned is a prediction, which Label Studio
    shows to the annotator as a proposal.
    """
    tasks = []
    for text, intent, origin in zip(corpus.texts, corpus.labels, corpus.origins, strict=True):
        if intent is None or not one_line(text):
            continue
        choice = {
            "id": stable_id(text, intent)[:8],
            "from_name": CHOICES_NAME,
            "to_name": TEXT_FIELD,
            "type": "choices",
            "value": {"choices": [intent]},
        }
        task: dict[str, Any] = {"data": {TEXT_FIELD: one_line(text)}}
        if origin.labelled:
            task["annotations"] = [{"result": [choice]}]
        else:
            task["predictions"] = [{"model_version": project.name, "result": [choice]}]
        tasks.append(task)
    return to_json(tasks)


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


def to_semantic_router(corpus: Corpus, project: Project) -> bytes:
    """Return a corpus as an indexed router: one route for each intent, and the model's encoder.

    The least probability of an intent (`newfound thresholds`) is in its route's metadata, and not yet its
    `confidence_threshold` (`score_threshold` before version 1): the confidence of a router is a similarity until the
    router is fitted, and few similarities reach a threshold that is a probability (docs/howto/export.md).
    """
    routes = []
    for intent, texts in by_intent(corpus).items():
        metadata: dict[str, Any] = {"status": project.statuses.get(intent, "known")}
        if intent in project.thresholds:
            metadata["threshold"] = project.thresholds[intent]
        routes.append({"name": intent, "utterances": texts, "metadata": metadata})
    return to_json({"router_type": "indexed", "encoder": {"type": "local", "name": project.encoder}, "routes": routes})
