"""A dataset folder for Hugging Face's `load_dataset`."""

from __future__ import annotations

import yaml

from newfound.data.corpus import Corpus
from newfound.exports.common import zip_files
from newfound.exports.tables import to_jsonl


def dataset_files(corpus: Corpus) -> dict[str, bytes]:
    """Return the files of a dataset folder, by name: the utterances and a dataset card."""
    names = {str(i): intent for i, intent in enumerate(corpus.intents)}
    about = {
        "configs": [{"config_name": "default", "data_files": "train.jsonl"}],
        "dataset_info": {
            "features": [
                {"name": "text", "dtype": "string"},
                {"name": "label", "dtype": {"class_label": {"names": names}}},
            ]
        },
    }
    front_matter = yaml.safe_dump(about, allow_unicode=True, sort_keys=False)
    card = f"---\n{front_matter}---\n\nIntents and utterances, exported by newfound.\n"
    return {"train.jsonl": to_jsonl(corpus.labelled(), "", ""), "README.md": card.encode()}


def to_datasets(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the files of a dataset folder as a zip, for downloads.

    Args:
        corpus: The utterances with their intents.
        name: Not used; the format has no name of a project.
        language: Not used; the format has no language code.
    """
    return zip_files(dataset_files(corpus))
