"""The export formats by name. A format is one function and one entry in `EXPORTS`.

Help texts, the HTTP schema, the page and the documentation read this registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from newfound.data.corpus import Corpus
from newfound.errors import SettingsError
from newfound.exports import formats
from newfound.exports.formats import Project


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format as the registry knows it."""

    title: str  # what the platform is called
    about: str  # what the platform or the reader gets, as the page says it
    suffix: str  # of the exported file, with its dot
    write: Callable[[Corpus, Project], bytes]
    names: Callable[[Sequence[str]], dict[str, str]] | None = None  # of the intents, if not all names are allowed

    def content(self, corpus: Corpus, project: Project) -> bytes:
        """Return the file of a corpus, in which intents have names that are allowed."""
        names = renamed_intents(self, corpus)
        labels = tuple(None if label is None else names.get(label, label) for label in corpus.labels)
        descriptions = {names.get(intent, intent): text for intent, text in project.descriptions.items()}
        return self.write(replace(corpus, labels=labels), replace(project, descriptions=descriptions))


# Rasa takes what follows a slash for the response to choose: `faq/hours` is the intent `faq`.
without_slash = partial(formats.plain_names, pattern=f"{formats.QUOTED}|/")
EXPORTS: dict[str, ExportFormat] = {
    "rasa": ExportFormat("Rasa", "NLU training data", ".yml", formats.to_rasa, names=without_slash),
    "dialogflow-es": ExportFormat(
        "Dialogflow ES", "an agent, for “Import from zip”", ".zip", formats.to_dialogflow_es, names=formats.plain_names
    ),
    "dialogflow-cx": ExportFormat(
        "Dialogflow CX", "Intent resources of the v3 API", ".json", formats.to_dialogflow_cx, names=formats.plain_names
    ),
    "clu": ExportFormat(
        "Azure conversational language understanding",
        "a project to import",
        ".json",
        formats.to_clu,
        names=formats.plain_names,
    ),
    "botpress": ExportFormat("Botpress", "intents of its NLU", ".json", formats.to_botpress),
    "csv": ExportFormat("CSV", "a table of text and label", ".csv", formats.to_csv),
    "csv-safe": ExportFormat(
        "CSV for spreadsheets",
        "the same for Excel and the like: no cell can run as a formula",
        ".csv",
        formats.to_csv_safe,
    ),
    "jsonl": ExportFormat("JSON lines", "one object per line", ".jsonl", formats.to_jsonl),
    "parquet": ExportFormat("Parquet", "a table for data tools", ".parquet", formats.to_parquet),
    "semantic-router": ExportFormat("semantic-router", "routes for load_router", ".json", formats.to_semantic_router),
    "label-studio": ExportFormat("Label Studio", "tasks to import", ".json", formats.to_label_studio),
}
MODEL_EXPORTS: dict[str, str] = {"onnx": "newfound.exports.onnx"}
"""Formats that hold the classifier itself, and not utterances: the module of each. They are folders."""
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def export_format(name: str) -> ExportFormat:
    if name not in EXPORTS:
        raise SettingsError(f"no format {name!r}; one of {', '.join([*EXPORTS, *MODEL_EXPORTS])}")
    return EXPORTS[name]


def check_language(language: str) -> None:
    if not LANGUAGE_CODE.fullmatch(language):
        raise SettingsError(f"language {language!r}: give a language code, for instance en or pt-br")


def renamed_intents(format: ExportFormat, corpus: Corpus) -> dict[str, str]:
    """Return the intents that have another name in a format, with that name."""
    names = {} if format.names is None else format.names(corpus.intents)
    return {intent: name for intent, name in names.items() if name != intent}
