"""Predictions on a Ray cluster: Ray Data reads a table, workers classify its rows, and Ray Data writes the result."""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from newfound.data.readers import format_of
from newfound.data.rows import MAX_TEXT_LENGTH, ReadOptions
from newfound.data.validation import open_rows
from newfound.engines.predictor import PredictionLimits, Predictor
from newfound.errors import DataError, EngineError
from newfound.exports.predictions import PARTS_COLUMN, PREDICTION_COLUMNS, THRESHOLD_COLUMN, arrow_fields
from newfound.text import first_line, is_blank
from newfound.training.progress import Reporter

FORMATS = ("csv", "tsv", "jsonl", "parquet")
PARQUET_ENDINGS = ("parquet", "pq")  # of files in a folder
MAX_RETRIES = 3  # of the same work; a text or a file that kills every worker must not do so for ever
SECONDS_TO_CONNECT = 10
ROWS_PER_BATCH = 4_096
CORES_OF_A_WORKER, CORES_OF_READING = 0.5, 0.25  # reading and writing must find room beside a worker on each core
EXCEPTION_LINE = re.compile(r"^(?!ray\.)[\w.]*(?:Error|Exception): .*", re.MULTILINE)  # of a worker's traceback


@dataclass(frozen=True, slots=True)
class Opening:
    """How a worker opens the model, and what it does with its predictions."""

    folder: str
    encoder: str | None  # if it lies elsewhere
    device: str
    limits: PredictionLimits


class Worker:
    """Adds the columns of the predictions to batches of rows (`pyarrow.Table`); a blank text has no intent."""

    def __init__(self, opening: Opening, device: str, text_column: str) -> None:
        self._opening, self._device, self._text_column = opening, device, text_column
        self._predictor: Predictor | None = None  # opened with the first batch: Ray takes an error here for a death

    def __call__(self, batch: Any) -> Any:
        import pyarrow

        from newfound.review.opening import open_predictor

        limits = self._opening.limits
        if self._predictor is None:
            model = open_predictor(self._opening.folder, self._opening.encoder, self._device)
            self._predictor = Predictor(model, limits)
        values = ("" if value is None else str(value) for value in batch.column(self._text_column).to_pylist())
        texts = ["" if is_blank(text) else text.strip()[:MAX_TEXT_LENGTH] for text in values]
        answers = iter(self._predictor.predictions([text for text in texts if text]))
        rows = [asdict(next(answers)) if text else {} for text in texts]
        taken = {*PREDICTION_COLUMNS, THRESHOLD_COLUMN, PARTS_COLUMN, "top"}
        batch = batch.rename_columns([f"input_{name}" if name in taken else name for name in batch.column_names])
        optional = {THRESHOLD_COLUMN: self._predictor.model.thresholds, PARTS_COLUMN: limits.several}
        columns = (*PREDICTION_COLUMNS, *(name for name, is_wanted in optional.items() if is_wanted))
        predicted = pyarrow.Table.from_pylist(rows, schema=pyarrow.schema(arrow_fields(limits.top, columns)))
        for name in predicted.column_names:
            batch = batch.append_column(name, predicted[name])
        return batch


def predict_on_ray(
    opening: Opening,
    table: Path,
    out: Path,
    *,
    read: ReadOptions,
    address: str | None,
    workers: int | None,
    reporter: Reporter,
) -> None:
    """Write a table with the columns of its predictions to a folder, as Parquet files.

    All nodes of the cluster must see the model folder, the files of the table and `out` at the same paths.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    read_table, text_column = _reader(table, read, reporter)
    _connect(address)
    import ray.data

    cluster = ray.cluster_resources()
    gpus = 0 if opening.device == "cpu" else int(cluster.get("GPU", 0))
    room = gpus or int(cluster.get("CPU", 1))  # workers
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # a failure is reported below, in one line
    try:
        with warnings.catch_warnings(action="ignore"):  # Ray's, that it will name the limits on tries otherwise
            predicted = read_table(num_cpus=CORES_OF_READING).map_batches(
                Worker,
                fn_constructor_args=(opening, "cuda" if gpus else "cpu", text_column),
                batch_size=ROWS_PER_BATCH,
                batch_format="pyarrow",
                # One at a time, since a worker that dies takes a try from whatever waits for it, too.
                compute=ray.data.ActorPoolStrategy(size=min(workers or room, room), max_tasks_in_flight_per_actor=1),
                num_cpus=CORES_OF_A_WORKER,
                num_gpus=1 if gpus else 0,
                max_restarts=-1,  # a long job may lose any number of workers, but not many at the same work
                max_task_retries=MAX_RETRIES,
            )
        predicted.write_parquet(str(out.resolve()), ray_remote_args={"num_cpus": CORES_OF_READING})
    except ray.exceptions.RayActorError as error:
        raise EngineError(
            f"workers of the Ray cluster died {MAX_RETRIES + 1} times at the same work, likely for lack of memory",
            "fewer_workers",
        ) from error
    except ray.exceptions.RayError as error:
        reason = EXCEPTION_LINE.search(str(error))  # the first; those of Ray that follow only wrap it
        raise EngineError(
            f"a worker of the Ray cluster failed: {reason[0] if reason else first_line(error)}"
        ) from error


def _reader(path: Path, read: ReadOptions, reporter: Reporter) -> tuple[Callable[..., Any], str]:
    """Return what reads the table as a `ray.data.Dataset`, and the column of the texts.

    The first row is looked at, so that a wrong file is noticed before a cluster starts.
    """
    format = "parquet" if path.is_dir() else format_of(str(path), read.format)
    if format not in FORMATS:
        raise DataError(f"{path}: the engine ray reads {', '.join(FORMATS)}, and not {format}")
    parts = (part for ending in PARQUET_ENDINGS for part in sorted(path.rglob(f"*.{ending}")))
    first = next(parts, path) if path.is_dir() else path
    rows, report = open_rows(first, read, "ignored")
    if next(rows, None) is None:
        raise DataError(f"{path}: no utterance in it; it needs one text a row")
    for note in report.notes:
        reporter.note(note)
    import ray.data
    from pyarrow import csv, string

    name, text_column = str(path.resolve()), str(report.text_column)
    if format == "parquet":
        return partial(ray.data.read_parquet, name, file_extensions=list(PARQUET_ENDINGS)), text_column
    if format == "jsonl":
        return partial(ray.data.read_json, name, lines=True, file_extensions=None), text_column
    columns = report.columns if read.header is False else None
    reader = partial(
        ray.data.read_csv,
        name,
        read_options=csv.ReadOptions(encoding=read.encoding, column_names=columns),
        parse_options=csv.ParseOptions(delimiter=report.delimiter or ",", newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types={text_column: string()}),
    )
    return reader, text_column


def _connect(address: str | None) -> None:
    """Connect to the cluster, or start one on this machine; a connection that the program has already is used."""
    import ray

    if ray.is_initialized():
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():  # Ray itself would try for minutes where nobody listens
            socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (OSError, OverflowError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise EngineError(f"no Ray cluster at {address} ({first_line(error)})", "address") from error
