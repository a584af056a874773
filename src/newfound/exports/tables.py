"""Plain tables: CSV, CSV for spreadsheets, JSON lines, Parquet and datasets.

Their columns are text and label, and path if the intents are in groups; datasets have the first two.
"""

from __future__ import annotations

import csv
import io
import json

from newfound.data.corpus import Corpus
from newfound.exports.platforms import Project, zip_files
from newfound.exports.predictions import check_pyarrow
from newfound.files import csv_bytes

CARD, UTTERANCES = "README.md", "train.jsonl"
DATASET_FILES = frozenset({CARD, UTTERANCES})
# Spreadsheets may run a cell that begins with one of these; some take the wide forms of East Asian keyboards as well.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def to_csv(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as CSV, with every text and label as it is."""
    return csv_bytes(_rows(corpus))


def _rows(corpus: Corpus) -> list[tuple[str | None, ...]]:
    """Return the names of the columns and all rows."""
    if not any(corpus.paths.values()):
        return [("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)]
    paths = [None if label is None else corpus.paths.get(label) for label in corpus.labels]
    return [("text", "label", "path"), *zip(corpus.texts, corpus.labels, paths, strict=True)]


def to_csv_safe(corpus: Corpus, project: Project) -> bytes:
    """Return the corpus as CSV that is safe to open in a spreadsheet.

    A cell that begins with `=`, `+`, `-`, `@`, one of their wide forms, a tab or a line end gets an apostrophe before
    it, so that spreadsheets show it as text instead of running it as a formula. Reading the file does not remove the
    apostrophe. Every cell is quoted, so that a carriage return inside a cell does not begin a new row.
    """
    safe = (
        [f"'{cell}" if cell is not None and cell.startswith(FORMULA_STARTS) else cell for cell in row]
        for row in _rows(corpus)
    )
    return csv_bytes(safe, csv.QUOTE_ALL)


def to_jsonl(corpus: Corpus, project: Project) -> bytes:
    names, *rows = _rows(corpus)
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode()


def to_parquet(corpus: Corpus, project: Project) -> bytes:
    check_pyarrow()
    import pyarrow
    from pyarrow import parquet

    sink = io.BytesIO()
    names, *rows = _rows(corpus)
    columns = [[row[i] for row in rows] for i in range(len(names))]
    parquet.write_table(pyarrow.table(columns, list(names)), sink)
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
