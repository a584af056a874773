"""Predictions as JSON lines, CSV or Parquet, written to a stream as they arrive; each row starts with line and text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from importlib.util import find_spec
from itertools import chain
from typing import Any, BinaryIO

from newfound.errors import MissingExtra, SettingsError
from newfound.files import csv_bytes
from newfound.model.types import Prediction

INPUT_COLUMNS = ("line", "text")
PREDICTION_COLUMNS = ("intent", "known", "probability", "outlier", "status", "intent_id", "path")
THRESHOLD_COLUMN = "above_threshold"  # of models with thresholds
PARTS_COLUMN = "intents"  # of predictions with the parts of messages
ALL_COLUMNS = (*INPUT_COLUMNS, *PREDICTION_COLUMNS)
Row = dict[str, Any]
ROWS_PER_GROUP = 10_000  # of a Parquet file; it is written in groups, so that a long input is not held in memory


def write_batches(
    format: str, target: AbstractContextManager[BinaryIO], batches: Iterator[list[tuple[int, Prediction]]], top: int
) -> int:
    """Write predictions, each with the line of its text, as their batches arrive, and return their number.

    The target is opened once the first batch is there: input and model were looked at. `top` says how many of the most
    probable intents are written, where there are as many.
    """
    first, total = next(batches, []), 0
    columns = list(ALL_COLUMNS)
    if first:
        _, prediction = first[0]
        top = min(top, len(prediction.top))
        columns += [name for name in (THRESHOLD_COLUMN, PARTS_COLUMN) if getattr(prediction, name) is not None]

    def batches_of_rows() -> Iterator[list[Row]]:
        nonlocal total
        for batch in chain([first], batches):
            total += len(batch)
            yield [_row(line, prediction, top, columns) for line, prediction in batch]

    with target as stream:
        WRITERS[format](stream, batches_of_rows(), top, columns)
    return total


def _row(line: int, prediction: Prediction, top: int, columns: Sequence[str]) -> Row:
    """Return the columns, `top` if it is wanted, and what an explanation has besides."""
    row = {"line": line, **asdict(prediction)}
    optional = {name: row.pop(name) for name in (THRESHOLD_COLUMN, PARTS_COLUMN)}
    ranked = row.pop("top")
    row |= {name: value for name, value in optional.items() if name in columns}
    return row | ({"top": ranked} if top else {})


def write_json_lines(stream: BinaryIO, batches: Iterable[list[Row]], top: int, columns: Sequence[str]) -> None:
    for rows in batches:
        stream.write(b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))
        stream.flush()


def write_csv(stream: BinaryIO, batches: Iterable[list[Row]], top: int, columns: Sequence[str]) -> None:
    """Write CSV with a header; the most probable intents are columns intent_1, probability_1, intent_2 and so on."""
    ranked = [f"{name}_{i + 1}" for i in range(top) for name in ("intent", "probability")]
    stream.write(csv_bytes([[*columns, *ranked]]))
    for rows in batches:
        stream.write(csv_bytes(_cells(row, top) for row in rows))
        stream.flush()


def _cells(row: Row, top: int) -> list[Any]:
    ranked = row.pop("top", ())
    cells = [_cell(value) for value in row.values()]
    cells += [cell for one in ranked for cell in (one["intent"], one["probability"])]
    return cells + [None] * (2 * (top - len(ranked)))


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):  # the parts of a message
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value


def write_parquet(stream: BinaryIO, batches: Iterable[list[Row]], top: int, columns: Sequence[str]) -> None:
    """Write a Parquet file; the most probable intents are a list in the column `top`."""
    check_pyarrow()
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema(arrow_fields(top, columns))
    writer, waiting = parquet.ParquetWriter(stream, schema), []
    try:
        for rows in batches:
            waiting += rows
            if len(waiting) >= ROWS_PER_GROUP:
                writer.write_table(pyarrow.Table.from_pylist(waiting, schema=schema))
                waiting = []
        if waiting:
            writer.write_table(pyarrow.Table.from_pylist(waiting, schema=schema))
        writer.close()
    except BaseException:
        writer.is_open = False  # pyarrow would write the end of a file that is closed already
        raise


def arrow_fields(top: int, columns: Sequence[str]) -> list[tuple[str, Any]]:
    """Return names and types of the columns of predictions in Parquet."""
    import pyarrow

    ranked = pyarrow.list_(pyarrow.struct([("intent", pyarrow.string()), ("probability", pyarrow.float64())]))
    special = {"line": pyarrow.int64(), "known": pyarrow.bool_(), THRESHOLD_COLUMN: pyarrow.bool_()}
    special |= {"probability": pyarrow.float64(), "outlier": pyarrow.float64()}
    part = [("intent", pyarrow.string()), ("probability", pyarrow.float64())]
    special[PARTS_COLUMN] = pyarrow.list_(pyarrow.struct([*part, ("start", pyarrow.int64()), ("end", pyarrow.int64())]))
    fields = [(name, special.get(name, pyarrow.string())) for name in columns]
    return [*fields, *([("top", ranked)] if top else [])]


WRITERS = {"jsonl": write_json_lines, "csv": write_csv, "parquet": write_parquet}
FORMAT_OF_ENDING = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def check_writer(format: str) -> None:
    """Refuse a format that is not one of `WRITERS`, or whose package is not installed."""
    if format not in WRITERS:
        raise SettingsError(f"no format {format!r} for predictions; one of {', '.join(WRITERS)}")
    if format == "parquet":
        check_pyarrow()


def check_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise MissingExtra("parquet", "pyarrow", "parquet")
