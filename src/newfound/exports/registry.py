"""The export formats by name. A format is one file here and one entry in `EXPORTS`.

Help texts, the HTTP schema, the page and the documentation read this registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
        home: Module and function that makes the file's bytes.
        suffix: Of the file.
        folder: Module and function that makes the files of a folder, where the format is a folder on disk.
    """

    title: str
    home: str
    suffix: str
    folder: str = ""

    def content(self, corpus: Corpus, *, name: str = "newfound", language: str = LANGUAGE) -> bytes:
        """Return the exported file's bytes; of a folder, a zip of it."""
        write: Writer = _function(self.home)
        return write(corpus, name, language)


EXPORTS: dict[str, ExportFormat] = {
    "rasa": ExportFormat("Rasa", "newfound.exports.rasa:to_rasa", ".yml"),
    "dialogflow-es": ExportFormat("Dialogflow ES", "newfound.exports.dialogflow:to_dialogflow_es", ".zip"),
    "dialogflow-cx": ExportFormat("Dialogflow CX", "newfound.exports.dialogflow:to_dialogflow_cx", ".json"),
    "clu": ExportFormat("Azure conversational language understanding", "newfound.exports.clu:to_clu", ".json"),
    "botpress": ExportFormat("Botpress", "newfound.exports.botpress:to_botpress", ".json"),
    "csv": ExportFormat("CSV", "newfound.exports.tables:to_csv", ".csv"),
    "csv-safe": ExportFormat("CSV for spreadsheets", "newfound.exports.tables:to_csv_safe", ".csv"),
    "jsonl": ExportFormat("JSON lines", "newfound.exports.tables:to_jsonl", ".jsonl"),
    "parquet": ExportFormat("Parquet", "newfound.exports.tables:to_parquet", ".parquet"),
    "datasets": ExportFormat(
        "Hugging Face datasets",
        "newfound.exports.datasets:to_datasets",
        ".zip",
        folder="newfound.exports.datasets:dataset_files",
    ),
}
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _function(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def export_format(name: str) -> ExportFormat:
    """Return a format, or raise a `SettingsError` that lists the names."""
    if name not in EXPORTS:
        raise SettingsError(f"no format {name!r}; one of {', '.join(EXPORTS)}")
    return EXPORTS[name]


def check_language(language: str) -> None:
    if not LANGUAGE_CODE.fullmatch(language):
        raise SettingsError(f"language {language!r}: give a language code, for instance en or pt-br")


def write_export(corpus: Corpus, format: str, path: Path, *, name: str = "newfound", language: str = LANGUAGE) -> None:
    """Write a labelled corpus; a file is replaced whole or not at all, an existing folder is refused.

    Args:
        corpus: The utterances with their intents.
        format: One of `EXPORTS`.
        path: Where to write.
        name: What the project is called on the platform.
        language: The utterances' language code.
    """
    chosen = export_format(format)
    check_language(language)
    if not chosen.folder:
        write_atomically(path, chosen.content(corpus, name=name, language=language))
        return
    if path.exists():
        raise TargetExists(path, replaceable=False)
    files: FolderWriter = _function(chosen.folder)
    with folder_atomically(path) as target:
        for inner, content in files(corpus).items():
            (target / inner).write_bytes(content)
