"""Predictions as JSON lines, CSV or Parquet, written to a stream as they arrive.

Each row starts with the columns of the input that are kept: by default its line and its text.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, BinaryIO, Protocol

from newfound.errors import MissingExtra, SettingsError
from newfound.model.types import Prediction

KEPT = ("line", "text")
COLUMNS = ("intent", "known", "probability", "outlier", "status")
ROWS_PER_GROUP = 10_000  # of a Parquet file; it is written in groups, so that a long input is not held in memory


class PredictionWriter(Protocol):
    """Writes predictions to a stream."""

    def write(self, predictions: Iterable[tuple[int, Prediction]]) -> None:
        """Write predictions, each with the line of its text, so that a reader of the stream sees them at once."""

    def close(self) -> None:
        """Finish the file; the stream stays open."""

    def abandon(self) -> None:
        """Forget the file; what was not written yet is lost."""


def values_of(line: int, prediction: Prediction, *, top: int) -> dict[str, Any]:
    """Return the fields of a prediction in the order in which they are written; `top` only if it was asked for."""
    values = {"line": line, **asdict(prediction)}
    if not top:
        del values["top"]
    return values


class JsonLines:
    """One JSON object a line."""

    def __init__(self, stream: BinaryIO, top: int, kept: Sequence[str] = KEPT) -> None:
        """Write to a stream; `top` says how many of the most probable intents are written."""
        self._stream, self._top = stream, top

    def write(self, predictions: Iterable[tuple[int, Prediction]]) -> None:
        """Write one line for each prediction."""
        self.write_rows(values_of(line, prediction, top=self._top) for line, prediction in predictions)

    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write one line for each row; what JSON does not know is written as its text, and NaN as null."""
        self._stream.write(b"".join(_json(row).encode() + b"\n" for row in rows))
        self._stream.flush()

    def close(self) -> None:
        """Do nothing; every line is complete."""

    def abandon(self) -> None:
        """Do nothing; every line is complete."""


class CommaSeparated:
    """CSV with a header; the most probable intents are columns intent_1, probability_1, intent_2 and so on."""

    def __init__(self, stream: BinaryIO, top: int, kept: Sequence[str] = KEPT) -> None:
        """Write to a stream; `top` says how many of the most probable intents are written."""
        self._stream, self._top = stream, top
        names = [*kept, *COLUMNS]
        self._write([names + [f"{name}_{i + 1}" for i in range(top) for name in ("intent", "probability")]])

    def write(self, predictions: Iterable[tuple[int, Prediction]]) -> None:
        """Write one row for each prediction."""
        self.write_rows(values_of(line, prediction, top=self._top) for line, prediction in predictions)

    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write one row for each, with the columns of the header in their order."""
        lines = []
        for values in rows:
            ranked = values.pop("top", None) or ()
            cells = [_cell(value) for value in values.values()]
            cells += [cell for one in ranked for cell in (one["intent"], one["probability"])]
            lines.append(cells + [None] * (2 * (self._top - len(ranked))))
        self._write(lines)

    def _write(self, rows: list[list[Any]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._stream.write(text.getvalue().encode())
        self._stream.flush()

    def close(self) -> None:
        """Do nothing; every row is complete."""

    def abandon(self) -> None:
        """Do nothing; every row is complete."""


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return _json(value) if isinstance(value, list | dict) else value


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:  # rare, so that other rows are not searched
        return json.dumps(_with_finite_numbers(value), ensure_ascii=False, default=str, allow_nan=False)


def _with_finite_numbers(value: Any) -> Any:
    """Return a value with None in place of NaN and infinities, for which JSON has no word."""
    if isinstance(value, dict):
        return {name: _with_finite_numbers(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_with_finite_numbers(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Parquet:
    """A Parquet file; the most probable intents are a list in the column `top`."""

    def __init__(self, stream: BinaryIO, top: int) -> None:
        """Write to a stream; `top` says how many of the most probable intents are written.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        check_pyarrow()
        import pyarrow
        from pyarrow import parquet

        kept = [("line", pyarrow.int64()), ("text", pyarrow.string())]
        self._schema = pyarrow.schema([*kept, *arrow_fields(top)])
        self._writer = parquet.ParquetWriter(stream, self._schema)
        self._table = pyarrow.Table.from_pylist
        self._top = top
        self._rows: list[dict[str, Any]] = []

    def write(self, predictions: Iterable[tuple[int, Prediction]]) -> None:
        """Collect rows, and write them in groups."""
        self._rows += [values_of(line, prediction, top=self._top) for line, prediction in predictions]
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        self._writer.write_table(self._table(self._rows, schema=self._schema))
        self._rows = []

    def close(self) -> None:
        """Write the remaining rows and the end of the file."""
        if self._rows:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        """Keep pyarrow from writing the end of a file that is closed already."""
        self._writer.is_open = False


def arrow_fields(top: int) -> list[tuple[str, Any]]:
    """Return names and types of the columns of predictions in Parquet."""
    import pyarrow

    ranked = pyarrow.list_(pyarrow.struct([("intent", pyarrow.string()), ("probability", pyarrow.float64())]))
    types = (pyarrow.string(), pyarrow.bool_(), pyarrow.float64(), pyarrow.float64(), pyarrow.string())
    return [*zip(COLUMNS, types, strict=True), *([("top", ranked)] if top else [])]


WRITERS: dict[str, Callable[..., PredictionWriter]] = {
    "jsonl": JsonLines,
    "csv": CommaSeparated,
    "parquet": Parquet,
}


@contextmanager
def writer_of(format: str, stream: BinaryIO, top: int) -> Iterator[PredictionWriter]:
    """Yield a writer to a stream; the file is finished when the block ends without an error."""
    writer = WRITERS[format](stream, top)
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.abandon()
        raise


FORMAT_OF_ENDING = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def check_writer(format: str) -> None:
    """Refuse a format that is not one of `WRITERS`, or whose package is not installed."""
    if format not in WRITERS:
        raise SettingsError(f"no format {format!r} for predictions; one of {', '.join(WRITERS)}")
    if format == "parquet":
        check_pyarrow()


def check_pyarrow() -> None:
    """Raise a `MissingExtra` if pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("parquet", "pyarrow", "parquet")
