"""Predictions as JSON lines, CSV or Parquet, written to a stream as they arrive; each row starts with line and text."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, BinaryIO

from newfound.errors import MissingExtra, SettingsError
from newfound.files import csv_bytes
from newfound.model.types import Prediction

INPUT_COLUMNS = ("line", "text")
PREDICTION_COLUMNS = ("intent", "known", "probability", "outlier", "status", "intent_id", "path")
THRESHOLD_COLUMN = "above_threshold"  # of models with thresholds
ALL_COLUMNS = (*INPUT_COLUMNS, *PREDICTION_COLUMNS)
ROWS_PER_GROUP = 10_000  # of a Parquet file; it is written in groups, so that a long input is not held in memory


class PredictionWriter:
    """Writes predictions to a stream; what was written can be read at once, unless the format has an end."""

    def __init__(self, stream: BinaryIO, top: int, columns: Sequence[str] = ALL_COLUMNS) -> None:
        """Write to a stream, which stays open.

        Args:
            stream: The stream.
            top: How many of the most probable intents are written.
            columns: Line, text and those of the predictions; `top` comes after them.
        """
        self._stream, self._top, self._columns = stream, top, columns

    def write(self, predictions: Iterable[tuple[int, Prediction]]) -> None:
        """Write predictions, each with the line of its text."""
        rows = [{"line": line, **asdict(prediction)} for line, prediction in predictions]
        for row in rows:
            above, top = row.pop(THRESHOLD_COLUMN), row.pop("top")
            row |= {THRESHOLD_COLUMN: above} if THRESHOLD_COLUMN in self._columns else {}
            row |= {"top": top} if self._top else {}
        self.write_rows(rows)

    @abstractmethod
    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows, which have these columns in this order."""

    def close(self) -> None:
        """Finish the file; the stream stays open."""

    def abandon(self) -> None:
        """Forget the file; what was not written yet is lost."""


class JsonLines(PredictionWriter):
    """One JSON object a line."""

    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        self._stream.write(b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))
        self._stream.flush()


class CommaSeparated(PredictionWriter):
    """CSV with a header; the most probable intents are columns intent_1, probability_1, intent_2 and so on."""

    def __init__(self, stream: BinaryIO, top: int, columns: Sequence[str] = ALL_COLUMNS) -> None:
        super().__init__(stream, top, columns)
        ranked = [f"{name}_{i + 1}" for i in range(top) for name in ("intent", "probability")]
        self._write([[*columns, *ranked]])

    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        lines = []
        for values in rows:
            ranked = values.pop("top", None) or ()
            cells = [str(value).lower() if isinstance(value, bool) else value for value in values.values()]
            cells += [cell for one in ranked for cell in (one["intent"], one["probability"])]
            lines.append(cells + [None] * (2 * (self._top - len(ranked))))
        self._write(lines)

    def _write(self, rows: list[list[Any]]) -> None:
        self._stream.write(csv_bytes(rows))
        self._stream.flush()


class Parquet(PredictionWriter):
    """A Parquet file; the most probable intents are a list in the column `top`."""

    def __init__(self, stream: BinaryIO, top: int, columns: Sequence[str] = ALL_COLUMNS) -> None:
        check_pyarrow()
        super().__init__(stream, top, columns)
        self._writer: Any = None
        self._rows: list[dict[str, Any]] = []

    def write_rows(self, rows: Iterable[dict[str, Any]]) -> None:
        """Collect rows with a line and a text, and write them in groups."""
        self._rows += rows
        if len(self._rows) >= ROWS_PER_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        import pyarrow
        from pyarrow import parquet

        schema = pyarrow.schema(arrow_fields(self._top, self._columns))
        self._writer = self._writer or parquet.ParquetWriter(self._stream, schema)
        self._writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=schema))
        self._rows = []

    def close(self) -> None:
        if self._rows or self._writer is None:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        """Keep pyarrow from writing the end of a file that is closed already."""
        if self._writer is not None:
            self._writer.is_open = False


def arrow_fields(top: int, columns: Sequence[str]) -> list[tuple[str, Any]]:
    """Return names and types of the columns of predictions in Parquet."""
    import pyarrow

    ranked = pyarrow.list_(pyarrow.struct([("intent", pyarrow.string()), ("probability", pyarrow.float64())]))
    special = {"line": pyarrow.int64(), "known": pyarrow.bool_(), THRESHOLD_COLUMN: pyarrow.bool_()}
    special |= {"probability": pyarrow.float64(), "outlier": pyarrow.float64()}
    fields = [(name, special.get(name, pyarrow.string())) for name in columns]
    return [*fields, *([("top", ranked)] if top else [])]


WRITERS: dict[str, type[PredictionWriter]] = {"jsonl": JsonLines, "csv": CommaSeparated, "parquet": Parquet}


@contextmanager
def writer_of(
    format: str, stream: BinaryIO, top: int, columns: Sequence[str] = ALL_COLUMNS
) -> Iterator[PredictionWriter]:
    """Yield a writer to a stream; the file is finished when the block ends without an error."""
    writer = WRITERS[format](stream, top, columns)
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
    if find_spec("pyarrow") is None:
        raise MissingExtra("parquet", "pyarrow", "parquet")
