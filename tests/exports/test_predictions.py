"""Predictions are the same in every format, and can be read while they are written."""

from __future__ import annotations

import csv
import io
import json
import sys
from contextlib import nullcontext

import pytest

from newfound.errors import MissingExtra, SettingsError
from newfound.exports.predictions import check_writer, write_batches
from newfound.model.types import Prediction, RankedIntent

RANKED = RankedIntent("pay", 0.75), RankedIntent("b", 0.25)
ROWS = [
    (1, Prediction("pay, please", "pay", True, 0.75, 0.25, "known", RANKED)),
    (4, Prediction('two\nlines "🎉"', None, False, 0.5, 1.0, None, (RankedIntent("a", 0.5),))),
]


def _written(format, top):
    stream = io.BytesIO()
    assert write_batches(format, nullcontext(stream), iter([[row] for row in ROWS]), top) == len(ROWS)
    return stream.getvalue()


@pytest.mark.parametrize("top", [0, 2])
def test_json_lines(top):
    rows = [json.loads(line) for line in _written("jsonl", top).decode().splitlines()]
    assert [row["line"] for row in rows] == [1, 4]
    assert [row["intent"] for row in rows] == ["pay", None]
    assert [row["status"] for row in rows] == ["known", None]
    assert ("top" in rows[0]) == bool(top)
    if top:
        assert rows[0]["top"] == [{"intent": "pay", "probability": 0.75}, {"intent": "b", "probability": 0.25}]


def test_csv_has_the_same_columns_in_every_row():
    rows = list(csv.DictReader(io.StringIO(_written("csv", 2).decode(), newline="")))
    assert rows[0]["text"] == "pay, please"
    assert rows[0]["known"] == "true"
    assert (rows[1]["intent_1"], rows[1]["probability_1"], rows[1]["intent_2"]) == ("a", "0.5", "")
    assert (rows[1]["text"], rows[1]["intent"]) == ('two\nlines "🎉"', "")
    assert (rows[0]["intent_2"], rows[0]["probability_2"]) == ("b", "0.25")
    assert "intent_1" not in _written("csv", 0).decode()


@pytest.mark.parametrize("top", [0, 2])
def test_parquet_holds_what_json_lines_hold(top):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(io.BytesIO(_written("parquet", top))).to_pylist()
    assert rows == [json.loads(line) for line in _written("jsonl", top).decode().splitlines()]


def test_long_parquet_files_are_written_in_groups(monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("newfound.exports.predictions.ROWS_PER_GROUP", 1)
    assert parquet.ParquetFile(io.BytesIO(_written("parquet", 0))).num_row_groups == len(ROWS)


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_each_batch_reaches_the_stream_at_once(format):
    stream = io.BytesIO()

    def batches():
        yield ROWS[:1]
        assert b"pay, please" in stream.getvalue()
        yield ROWS[1:]

    write_batches(format, nullcontext(stream), batches(), 0)


def test_unknown_formats_and_missing_packages(monkeypatch):
    with pytest.raises(SettingsError, match="one of jsonl, csv, parquet"):
        check_writer("xml")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("newfound.exports.predictions.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'newfound\[parquet\]'"):
        check_writer("parquet")
