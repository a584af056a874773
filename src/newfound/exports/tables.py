"""Plain tables with the columns text and label: CSV, CSV for spreadsheets, JSON lines, Parquet and datasets."""

from __future__ import annotations

import csv
import io
import json

from newfound.data.corpus import Corpus
from newfound.errors import MissingExtra
from newfound.exports.common import zip_files
from newfound.files import csv_bytes

CARD, UTTERANCES = "README.md", "train.jsonl"
DATASET_FILES = frozenset({CARD, UTTERANCES})
# Spreadsheets may run a cell that begins with one of these; some take the wide forms of East Asian keyboards as well.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def to_csv(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the corpus as CSV, with every text and label as it is."""
    return csv_bytes([("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)])


def to_csv_safe(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the corpus as CSV that is safe to open in a spreadsheet.

    A cell that begins with `=`, `+`, `-`, `@`, one of their wide forms, a tab or a line end gets an apostrophe before
    it, so that spreadsheets show it as text instead of running it as a formula. Reading the file does not remove the
    apostrophe. Every cell is quoted, so that a carriage return inside a cell does not begin a new row.
    """
    rows = zip(corpus.texts, corpus.labels, strict=True)
    safe = [(_without_formula(text), _without_formula(label)) for text, label in rows]
    return csv_bytes([("text", "label"), *safe], csv.QUOTE_ALL)


def _without_formula(cell: str | None) -> str | None:
    return f"'{cell}" if cell is not None and cell.startswith(FORMULA_STARTS) else cell


def to_jsonl(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the corpus as JSON lines."""
    rows = zip(corpus.texts, corpus.labels, strict=True)
    return "".join(json.dumps({"text": t, "label": y}, ensure_ascii=False) + "\n" for t, y in rows).encode()


def to_parquet(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the corpus as a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise MissingExtra("parquet", "pyarrow", "parquet") from None
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": list(corpus.texts), "label": list(corpus.labels)}), sink)
    return sink.getvalue()


def to_datasets(corpus: Corpus, name: str, language: str) -> bytes:
    """Return a zip of a folder for Hugging Face's `load_dataset` (datasets 5), as SetFit and others train on it.

    It has the utterances, with the columns text and label, and a dataset card, which names the labels (`ClassLabel`).
    """
    import yaml

    names = {str(i): intent for i, intent in enumerate(corpus.intents)}
    about = {
        "language": [language],
        "task_categories": ["text-classification"],
        "tags": ["newfound", "setfit"],
        "configs": [{"config_name": "default", "data_files": UTTERANCES}],
        "dataset_info": {
            "features": [
                {"name": "text", "dtype": "string"},
                {"name": "label", "dtype": {"class_label": {"names": names}}},
            ]
        },
    }
    front_matter = yaml.safe_dump(about, allow_unicode=True, sort_keys=False)
    card = f"---\n{front_matter}---\n\nIntents and utterances, exported by newfound.\n"
    return zip_files({UTTERANCES: to_jsonl(corpus.labelled(), name, language), CARD: card.encode()})
