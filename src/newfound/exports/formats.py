"""The writers of all formats: training data for bot platforms and labelling tools, and plain tables.

A writer returns the file for a corpus and a `Project`, of which most formats say only a part. `newfound.data.platforms`
reads most of the platforms' formats.

- Azure's conversational language understanding: a project, version 2022-10-01-preview.
- Botpress: intents of its NLU as JSON.
- Dialogflow: an ES agent as a zip, and Intent resources of the CX API (v3) as JSON.
- Label Studio: tasks as JSON, for a project whose labelling interface has `Text` and `Choices`.
- Rasa: NLU training data in YAML, version 3.1.
- semantic-router 1.1: a router's file as JSON, for `load_router`.
- Tables (CSV, CSV for spreadsheets, JSON lines, Parquet): the columns text and label, and path if the intents are in
  groups.
"""

from __future__ import annotations

import csv
import io
import json
import re
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from newfound.data.corpus import Corpus
from newfound.defaults import LANGUAGE
from newfound.encoders.registry import RELEASES
from newfound.exports.predictions import check_pyarrow
from newfound.files import csv_bytes, to_json
from newfound.model.types import Status

QUOTED = "[“”…]"  # of names that quote an utterance (docs/names.md)
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time of the format, so that equal content gives equal files
MAX_TEXT_LENGTH_OF_CLU = 500  # characters; a longer text makes the import fail
TEXT_FIELD = "text"  # of Label Studio: <Text name="text" value="$text"/>
CHOICES_NAME = "intent"  # <Choices name="intent" toName="text" choice="single">
# Spreadsheets may run a cell that begins with one of these; some take the wide forms of East Asian keyboards as well.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True, slots=True)
class Project:
    """What a format may say of a model besides its utterances."""

    name: str = "newfound"  # of the project on the platform
    language: str = LANGUAGE  # of the utterances, a code
    encoder: str = RELEASES["minilm"].repo  # as sentence-transformers loads it
    statuses: Mapping[str, Status] = field(default_factory=dict)  # of the intents; known by default
    thresholds: Mapping[str, float] = field(default_factory=dict)  # least probabilities at which they are trusted
    descriptions: Mapping[str, str] = field(default_factory=dict)  # a sentence about each
    paths: Mapping[str, str | None] = field(default_factory=dict)  # the groups that they are in, as `travel/flights`


def by_intent(corpus: Corpus) -> dict[str, list[str]]:
    """Return the utterances of each intent, each on one line, without repeats and without control characters."""
    texts_of: dict[str, dict[str, None]] = {intent: {} for intent in corpus.intents}
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        if label is not None:
            texts_of[label][one_line(text)] = None
    return {intent: [text for text in texts if text] for intent, texts in texts_of.items()}


def one_line(text: str) -> str:
    """Return a text on one line; control characters, which the platforms' formats do not allow, become spaces."""
    return " ".join(CONTROL_CHARACTERS.sub(" ", text).split())


def zip_files(files: dict[str, bytes]) -> bytes:
    """Return a zip of files, given by path; equal content gives an equal zip."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def stable_id(*parts: str) -> str:
    """Return an id (UUID) that is the same for the same parts, so that an intent keeps it in later exports."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "newfound:" + "\0".join(parts)))


def file_name(intent: str) -> str:
    """Return an intent's name as a file name: all but letters, digits, dashes and underscores become underscores.

    A name that had to be changed gets a suffix, so that two intents never have the same file name.
    """
    clean = re.sub(r"[^\w-]+", "_", intent).strip("_") or "intent"
    return clean if clean == intent else f"{clean}_{stable_id(intent)[:6]}"


def plain_names(intents: Sequence[str], pattern: str = QUOTED) -> dict[str, str]:
    """Return names without what a pattern finds; one that another intent has gets a suffix that stays the same."""
    names: dict[str, str] = {}
    taken = {intent for intent in intents if not re.search(pattern, intent)}
    for intent in intents:
        is_quoted, name = re.search(QUOTED, intent), re.sub(pattern, "_", intent)
        name = re.sub(r"[\W_]+", "_", name).strip("_").lower() if is_quoted else name
        if name != intent and (name in taken or not name):
            name = f"{name or 'intent'}_{stable_id(intent)[:6]}"
        taken.add(name)
        names[intent] = name
    return names


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
            "description": project.descriptions.get(intent, ""),
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
        about = {"description": project.descriptions[intent]} if intent in project.descriptions else {}
        routes.append({"name": intent, "utterances": texts, **about, "metadata": metadata})
    return to_json({"router_type": "indexed", "encoder": {"type": "local", "name": project.encoder}, "routes": routes})


def to_csv(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as CSV, with every text and label as it is."""
    return csv_bytes(_rows(corpus, project))


def _rows(corpus: Corpus, project: Project) -> list[tuple[str | None, ...]]:
    """Return the names of the columns and all rows."""
    if not any(project.paths.values()):
        return [("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)]
    paths = [None if label is None else project.paths.get(label) for label in corpus.labels]
    return [("text", "label", "path"), *zip(corpus.texts, corpus.labels, paths, strict=True)]


def to_csv_safe(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as CSV that is safe to open in a spreadsheet.

    A cell that begins with `=`, `+`, `-`, `@`, one of their wide forms, a tab or a line end gets an apostrophe before
    it, so that spreadsheets show it as text instead of running it as a formula. Reading the file does not remove the
    apostrophe. Every cell is quoted, so that a carriage return inside a cell does not begin a new row.
    """
    safe = (
        [f"'{cell}" if cell is not None and cell.startswith(FORMULA_STARTS) else cell for cell in row]
        for row in _rows(corpus, project)
    )
    return csv_bytes(safe, csv.QUOTE_ALL)


def to_jsonl(corpus: Corpus, project: Project) -> bytes:
    names, *rows = _rows(corpus, project)
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode()


def to_parquet(corpus: Corpus, project: Project) -> bytes:
    check_pyarrow()
    import pyarrow
    from pyarrow import parquet

    sink = io.BytesIO()
    names, *rows = _rows(corpus, project)
    columns = [[row[i] for row in rows] for i in range(len(names))]
    parquet.write_table(pyarrow.table(columns, list(names)), sink)
    return sink.getvalue()
