"""Plain tables: CSV, CSV for spreadsheets, JSON lines and Parquet, with the columns text and label."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Literal

from newfound.data.corpus import Corpus
from newfound.errors import MissingExtra

# Spreadsheets may run a cell that begins with one of these; some take the wide forms of East Asian keyboards as well.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def to_csv(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the corpus as CSV, with every text and label as it is."""
    return _csv_rows(zip(corpus.texts, corpus.labels, strict=True))


def to_csv_safe(corpus: Corpus, name: str, language: str) -> bytes:
    """Return the corpus as CSV that is safe to open in a spreadsheet.

    A cell that begins with `=`, `+`, `-`, `@`, one of their wide forms, a tab or a line end gets an apostrophe before
    it, so that spreadsheets show it as text instead of running it as a formula. Reading the file does not remove the
    apostrophe. Every cell is quoted, so that a carriage return inside a cell does not begin a new row.
    """
    rows = zip(corpus.texts, corpus.labels, strict=True)
    return _csv_rows(((_without_formula(text), _without_formula(label)) for text, label in rows), csv.QUOTE_ALL)


def _without_formula(cell: str | None) -> str | None:
    return f"'{cell}" if cell is not None and cell.startswith(FORMULA_STARTS) else cell


def _csv_rows(rows: Iterable[tuple[str | None, str | None]], quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=quoting)
    writer.writerows([("text", "label"), *rows])
    return text.getvalue().encode()


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
