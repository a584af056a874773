"""The export formats by name. A format is one file here and one entry in `EXPORTS`.

Help texts, the HTTP schema, the page and the documentation read this registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from newfound.data.corpus import Corpus
from newfound.defaults import LANGUAGE
from newfound.errors import SettingsError, TargetExists
from newfound.files import folder_atomically, write_atomically

Writer = Callable[[Corpus, str, str], bytes]  # corpus, name of the project, language -> the file's bytes
FolderWriter = Callable[[Corpus], dict[str, bytes]]  # corpus -> contents by path


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format as the registry knows it.

    Attributes:
        title: What the platform is called.
        about: What the platform or the reader gets, as the page says it.
        home: Module and function that makes the file's bytes.
        suffix: The ending of the exported file, with its dot.
        folder: Module and function that makes the files of a folder, where the format is a folder on disk.
        names: Module and function that says which intents the platform needs other names for.
    """

    title: str
    about: str
    home: str
    suffix: str
    folder: str = ""
    names: str = ""

    @property
    def files(self) -> frozenset[str]:
        """The names of its files, where the format is a folder on disk."""
        return DATASET_FILES if self.folder else frozenset()

    def content(self, corpus: Corpus, *, name: str = "newfound", language: str = LANGUAGE) -> bytes:
        """Return the exported file's bytes; of a folder, a zip of it."""
        write: Writer = _function(self.home)
        return write(corpus, name, language)


EXPORTS: dict[str, ExportFormat] = {
    "rasa": ExportFormat(
        "Rasa",
        "NLU training data",
        "newfound.exports.rasa:to_rasa",
        ".yml",
        names="newfound.exports.rasa:names_without_slash",
    ),
    "dialogflow-es": ExportFormat(
        "Dialogflow ES", "an agent, for “Import from zip”", "newfound.exports.dialogflow:to_dialogflow_es", ".zip"
    ),
    "dialogflow-cx": ExportFormat(
        "Dialogflow CX", "Intent resources of the v3 API", "newfound.exports.dialogflow:to_dialogflow_cx", ".json"
    ),
    "clu": ExportFormat(
        "Azure conversational language understanding", "a project to import", "newfound.exports.clu:to_clu", ".json"
    ),
    "botpress": ExportFormat("Botpress", "intents of its NLU", "newfound.exports.botpress:to_botpress", ".json"),
    "csv": ExportFormat("CSV", "a table of text and label", "newfound.exports.tables:to_csv", ".csv"),
    "csv-safe": ExportFormat(
        "CSV for spreadsheets",
        "the same for Excel and the like: no cell can run as a formula",
        "newfound.exports.tables:to_csv_safe",
        ".csv",
    ),
    "jsonl": ExportFormat("JSON lines", "one object per line", "newfound.exports.tables:to_jsonl", ".jsonl"),
    "parquet": ExportFormat("Parquet", "a table for data tools", "newfound.exports.tables:to_parquet", ".parquet"),
    "datasets": ExportFormat(
        "Hugging Face datasets",
        "a folder for load_dataset",
        "newfound.exports.datasets:to_datasets",
        ".zip",
        folder="newfound.exports.datasets:dataset_files",
    ),
    "label-studio": ExportFormat(
        "Label Studio", "tasks to import", "newfound.exports.label_studio:to_label_studio", ".json"
    ),
}
MODEL_EXPORTS: dict[str, str] = {"onnx": "newfound.exports.onnx"}
"""Formats that hold the classifier itself, and not utterances: the module of each. They are folders."""
ALIASES: dict[str, str] = {"hf": "datasets", "dialogflow": "dialogflow-es"}
"""Other names of formats. `dialogflow` is `dialogflow-cx` if the file's name ends in .json."""
DATASET_FILES = frozenset({"train.jsonl", "README.md"})
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _function(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def export_format(name: str, path: Path | None = None) -> ExportFormat:
    """Return a format, or raise a `SettingsError` that lists the names.

    Args:
        name: One of `EXPORTS` or `ALIASES`.
        path: The file to be written, whose ending tells the two formats of Dialogflow apart.
    """
    if name == "dialogflow" and path is not None and path.suffix.lower() == ".json":
        return EXPORTS["dialogflow-cx"]
    if name not in EXPORTS and name not in ALIASES:
        raise SettingsError(f"no format {name!r}; one of {', '.join([*EXPORTS, *MODEL_EXPORTS, *ALIASES])}")
    return EXPORTS[ALIASES.get(name, name)]


def check_language(language: str) -> None:
    if not LANGUAGE_CODE.fullmatch(language):
        raise SettingsError(f"language {language!r}: give a language code, for instance en or pt-br")


def renamed_intents(format: ExportFormat, corpus: Corpus) -> dict[str, str]:
    """Return the intents that have another name in a format, with that name."""
    if not format.names:
        return {}
    names: dict[str, str] = _function(format.names)(corpus.intents)
    return {intent: name for intent, name in names.items() if name != intent}


def check_target(path: Path, files: Collection[str], *, overwrite: bool) -> None:
    """Check that an export may be written.

    Args:
        path: Where to write.
        files: The names of the files of an export that is a folder; none for one that is a file.
        overwrite: Whether an earlier export there may be replaced.

    Raises:
        TargetExists: There is something that is not to be replaced, or that is no export of this kind.
    """
    if path.is_dir() and not (files and {inside.name for inside in path.iterdir()} <= set(files)):
        raise TargetExists(path, "is a folder and holds something else", replaceable=False)
    if files and path.is_file():
        raise TargetExists(path, "is a file, and this format is a folder", replaceable=False)
    if path.exists() and not overwrite:
        raise TargetExists(path)


def write_export(
    corpus: Corpus,
    format: str,
    path: Path,
    *,
    name: str = "newfound",
    language: str = LANGUAGE,
    overwrite: bool = False,
) -> None:
    """Write a labelled corpus: all of it, or nothing.

    Args:
        corpus: The utterances with their intents.
        format: One of `EXPORTS` or `ALIASES`.
        path: Where to write.
        name: What the project is called on the platform.
        language: The utterances' language code.
        overwrite: Replace an earlier export there.

    Raises:
        TargetExists: There is something that is not to be replaced.
    """
    chosen = export_format(format, path)
    check_language(language)
    check_target(path, chosen.files, overwrite=overwrite)
    if not chosen.folder:
        write_atomically(path, chosen.content(corpus, name=name, language=language))
        return
    files: FolderWriter = _function(chosen.folder)
    with folder_atomically(path) as target:
        for inner, content in files(corpus).items():
            (target / inner).write_bytes(content)
