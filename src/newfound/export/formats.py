"""One writer per format: a labelled corpus in, a file (or folder) out. `data/platforms.py` reads the same formats.

rasa            NLU training data in YAML, version 3.1
dialogflow-es   an agent as a zip, for "Import from zip"
dialogflow-cx   Intent resources of the v3 API as JSON
clu             a project of Azure's conversational language understanding, version 2022-10-01-preview
botpress        intents of Botpress's NLU as JSON
datasets        a folder that Hugging Face's `load_dataset` opens
csv, jsonl, parquet
"""

from __future__ import annotations

import csv
import io
import json
import re
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from newfound.data.corpus import Corpus
from newfound.errors import SettingsError
from newfound.files import folder_atomically, to_json, write_atomically

Writer = Callable[[Corpus, str, str], bytes]  # corpus, name of the project, language -> the file's bytes
LONGEST_CLU_TEXT = 500  # longer ones fail the import
UNDATED = (1980, 1, 1, 0, 0, 0)


def by_intent(corpus: Corpus) -> dict[str, list[str]]:
    """Utterances of each intent on one line each, without repeats."""
    found: dict[str, dict[str, None]] = {intent: {} for intent in corpus.intents}
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        if label is not None:
            found[label][" ".join(text.split())] = None
    return {intent: list(texts) for intent, texts in found.items()}


def to_csv(corpus: Corpus, name: str, language: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)])
    return text.getvalue().encode()


def to_jsonl(corpus: Corpus, name: str, language: str) -> bytes:
    rows = zip(corpus.texts, corpus.labels, strict=True)
    return "".join(json.dumps({"text": t, "label": y}, ensure_ascii=False) + "\n" for t, y in rows).encode()


def to_parquet(corpus: Corpus, name: str, language: str) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise SettingsError("parquet needs pyarrow; install it with: pip install 'newfound[parquet]'") from None
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": list(corpus.texts), "label": list(corpus.labels)}), sink)
    return sink.getvalue()


def to_rasa(corpus: Corpus, name: str, language: str) -> bytes:
    """Examples are block text, one `- utterance` a line; what would read as an entity mark is taken apart."""
    lines = ['version: "3.1"', "nlu:"]
    for intent, texts in by_intent(corpus).items():
        lines += [f"- intent: {json.dumps(intent, ensure_ascii=False)}", "  examples: |"]
        lines += ["    - " + re.sub(r"\](?=[({\[])", "] ", text) for text in texts]
    return ("\n".join(lines) + "\n").encode()


def to_dialogflow_es(corpus: Corpus, name: str, language: str) -> bytes:
    files: dict[str, Any] = {
        "package.json": {"version": "1.0.0"},
        "agent.json": {"displayName": name, "language": language, "defaultTimezone": "Etc/UTC"},
    }
    for intent, texts in by_intent(corpus).items():
        about = {
            "id": _id(name, intent),
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
                "id": _id(name, intent, text),
                "data": [{"text": text, "userDefined": False}],
                "isTemplate": False,
                "count": 0,
                "lang": language,
            }
            for text in texts
        ]
        files[f"intents/{_file_name(intent)}.json"] = about
        files[f"intents/{_file_name(intent)}_usersays_{language}.json"] = phrases
    return zipped({path: to_json(content) for path, content in files.items()})


def to_dialogflow_cx(corpus: Corpus, name: str, language: str) -> bytes:
    intents = [
        {
            "displayName": intent,
            "trainingPhrases": [{"parts": [{"text": text}], "repeatCount": 1} for text in texts],
            "priority": 500000,
            "isFallback": False,
        }
        for intent, texts in by_intent(corpus).items()
    ]
    return to_json({"languageCode": language, "intents": intents})


def to_clu(corpus: Corpus, name: str, language: str) -> bytes:
    grouped = by_intent(corpus)
    utterances = [
        {"text": text[:LONGEST_CLU_TEXT], "intent": intent, "language": language, "dataset": "Train", "entities": []}
        for intent, texts in grouped.items()
        for text in texts
    ]
    return to_json(
        {
            "projectFileVersion": "2022-10-01-preview",
            "stringIndexType": "Utf16CodeUnit",
            "metadata": {
                "projectKind": "Conversation",
                "projectName": name,
                "multilingual": False,
                "description": "exported by newfound",
                "language": language,
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


def to_botpress(corpus: Corpus, name: str, language: str) -> bytes:
    intents = [
        {"name": _file_name(intent), "contexts": ["global"], "utterances": {language: texts}, "slots": []}
        for intent, texts in by_intent(corpus).items()
    ]
    return to_json({"intents": intents, "entities": []})


WRITERS: dict[str, tuple[Writer, str]] = {
    "rasa": (to_rasa, ".yml"),
    "dialogflow-es": (to_dialogflow_es, ".zip"),
    "dialogflow-cx": (to_dialogflow_cx, ".json"),
    "clu": (to_clu, ".json"),
    "botpress": (to_botpress, ".json"),
    "csv": (to_csv, ".csv"),
    "jsonl": (to_jsonl, ".jsonl"),
    "parquet": (to_parquet, ".parquet"),
}
FORMATS = (*WRITERS, "datasets")


def export(corpus: Corpus, format: str, path: Path, *, name: str = "newfound", language: str = "en") -> None:
    """Write a labelled corpus; a file is replaced whole or not at all, an existing `datasets` folder is refused."""
    if format not in FORMATS:
        raise SettingsError(f"no format {format!r}; one of {', '.join(FORMATS)}")
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", language):
        raise SettingsError(f"--language {language}: give a language code, for instance en or pt-br")
    if format == "datasets":
        _write_dataset_folder(corpus, path)
        return
    write_atomically(path, WRITERS[format][0](corpus, name, language))


def dataset_files(corpus: Corpus) -> dict[str, bytes]:
    """The files of a folder that `load_dataset` opens."""
    names = "".join(f"\n            '{i}': {json.dumps(intent)}" for i, intent in enumerate(corpus.intents))
    card = (
        "---\nconfigs:\n- config_name: default\n  data_files: train.jsonl\ndataset_info:\n  features:\n"
        "  - name: text\n    dtype: string\n  - name: label\n    dtype:\n      class_label:\n        names:"
        f"{names}\n---\n\nIntents and utterances, exported by newfound.\n"
    )
    return {"train.jsonl": to_jsonl(corpus.labelled(), "", ""), "README.md": card.encode()}


def _write_dataset_folder(corpus: Corpus, folder: Path) -> None:
    if folder.exists():
        raise SettingsError(f"{folder} exists; choose another place")
    with folder_atomically(folder) as target:
        for name, content in dataset_files(corpus).items():
            (target / name).write_bytes(content)


def zipped(files: dict[str, bytes]) -> bytes:
    """The same content gives the same zip."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, UNDATED), content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def _id(*parts: str) -> str:
    """The same intent keeps its id from export to export."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "newfound:" + "\0".join(parts)))


def _file_name(intent: str) -> str:
    """A name that is a file in every system: what is no letter, digit, dash or underscore becomes an underscore."""
    clean = re.sub(r"[^\w-]+", "_", intent).strip("_") or "intent"
    return clean if clean == intent else f"{clean}_{_id(intent)[:6]}"
