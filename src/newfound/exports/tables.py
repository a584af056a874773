"""Plain tables: CSV, CSV for spreadsheets, JSON lines, Parquet and datasets.

Their columns are text and label, and path if the intents are in groups; datasets have the first two.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from newfound.data.corpus import Corpus
from newfound.errors import MissingExtra
from newfound.exports.common import Project, zip_files
from newfound.files import csv_bytes

CARD, UTTERANCES = "README.md", "train.jsonl"
DATASET_FILES = frozenset({CARD, UTTERANCES})
# Spreadsheets may run a cell that begins with one of these; some take the wide forms of East Asian keyboards as well.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def to_csv(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as CSV, with every text and label as it is."""
    columns = _columns(corpus)
    return csv_bytes([tuple(columns), *zip(*columns.values(), strict=True)])


def _columns(corpus: Corpus) -> dict[str, Sequence[str | None]]:
    columns: dict[str, Sequence[str | None]] = {"text": corpus.texts, "label": corpus.labels}
    if any(corpus.paths.values()):
        columns["path"] = [None if label is None else corpus.paths.get(label) for label in corpus.labels]
    return columns


def to_csv_safe(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as CSV that is safe to open in a spreadsheet.

    A cell that begins with `=`, `+`, `-`, `@`, one of their wide forms, a tab or a line end gets an apostrophe before
    it, so that spreadsheets show it as text instead of running it as a formula. Reading the file does not remove the
    apostrophe. Every cell is quoted, so that a carriage return inside a cell does not begin a new row.
    """
    columns = _columns(corpus)
    safe = (map(_without_formula, row) for row in zip(*columns.values(), strict=True))
    return csv_bytes([tuple(columns), *safe], csv.QUOTE_ALL)


def _without_formula(cell: str | None) -> str | None:
    return f"'{cell}" if cell is not None and cell.startswith(FORMULA_STARTS) else cell


def to_jsonl(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as JSON lines."""
    columns = _columns(corpus)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def to_parquet(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise MissingExtra("parquet", "pyarrow", "parquet") from None
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({name: list(values) for name, values in _columns(corpus).items()}), sink)
    return sink.getvalue()


def to_datasets(corpus: Corpus, project: Project) -> bytes:
    """Return a zip of a folder for Hugging Face's `load_dataset` (datasets 5), as SetFit and others train on it.

    It has the utterances, with the columns text and label, and a dataset card, which names the labels (`ClassLabel`).
    """
    import yaml

    names = {str(i): intent for i, intent in enumerate(corpus.intents)}
    about = {
        "language": [project.language],
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
    return zip_files({UTTERANCES: to_jsonl(corpus.labelled(), project), CARD: card.encode()})
