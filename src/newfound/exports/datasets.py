"""A dataset folder for Hugging Face's `load_dataset`."""

from __future__ import annotations

import json

from newfound.data.corpus import Corpus
from newfound.exports.common import zipped
from newfound.exports.tables import to_jsonl


def dataset_files(corpus: Corpus) -> dict[str, bytes]:
    """Return the files of a dataset folder, by name: the utterances and a dataset card."""
    names = "".join(f"\n            '{i}': {json.dumps(intent)}" for i, intent in enumerate(corpus.intents))
    card = (
        "---\nconfigs:\n- config_name: default\n  data_files: train.jsonl\ndataset_info:\n  features:\n"
        "  - name: text\n    dtype: string\n  - name: label\n    dtype:\n      class_label:\n        names:"
        f"{names}\n---\n\nIntents and utterances, exported by newfound.\n"
    )
    return {"train.jsonl": to_jsonl(corpus.labelled(), "", ""), "README.md": card.encode()}


def to_datasets(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the files of a dataset folder as a zip, for downloads.

    Args:
        corpus: The utterances with their intents.
        name: Not used; the format has no name of a project.
        language: Not used; the format has no language code.
    """
    return zipped(dataset_files(corpus))
