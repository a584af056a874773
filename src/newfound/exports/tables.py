"""Plain tables: CSV, JSON lines and Parquet, with the columns text and label."""

from __future__ import annotations

import csv
import io
import json

from newfound.data.corpus import Corpus
from newfound.errors import MissingExtra


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
        raise MissingExtra("parquet", "pyarrow", "parquet") from None
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": list(corpus.texts), "label": list(corpus.labels)}), sink)
    return sink.getvalue()
