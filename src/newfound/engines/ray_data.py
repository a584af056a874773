"""Predictions on a Ray cluster: Ray Data reads a table, workers classify its rows, and Ray Data writes the result.

Each worker loads its model once, and one that dies is started again.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from newfound.data.parquet import ENDINGS
from newfound.engines.predictor import Predictor, PredictorSettings
from newfound.errors import EngineError, MissingExtra, SettingsError
from newfound.exports.predictions import PREDICTION_COLUMNS, THRESHOLD_COLUMN, arrow_fields
from newfound.text import first_line
from newfound.version import __version__

MAX_RETRIES = 3  # of the same work; a text or a file that kills every worker must not do so for ever
SECONDS_TO_CONNECT = 10
ROWS_PER_BATCH = 4_096
CORES_OF_A_WORKER, CORES_OF_READING = 0.5, 0.25  # reading and writing must find a whole core beside the workers
MIN_CORES = 2
INPUT_PREFIX = "input_"  # of a column of the input whose name a column of the predictions has

EXCEPTION_LINE = re.compile(r"[\w.]*(?:Error|Exception): ")  # of a traceback

# Ray writes much about its inner life; a user can ask for it by setting the variables.
QUIET_VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


@dataclass(frozen=True, slots=True)
class RaySettings:
    """Which cluster works, and how much of it."""

    address: str | None = None  # or else that of RAY_ADDRESS, or a cluster on this machine that is started for the job
    workers: int | None = None  # or else one for each GPU, or for each core of the cluster
    device: str = "auto"  # a worker on a GPU has one of its own

    def check(self) -> None:
        if self.workers is not None and (type(self.workers) is not int or self.workers < 1):
            raise SettingsError(f"workers={self.workers!r} must be a whole number from 1")
        if find_spec("ray") is None:
            raise MissingExtra("the engine ray", "Ray", "ray")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that all workers see, and how it is read."""

    path: str  # a file, or a folder of Parquet files
    format: str  # csv, jsonl or parquet
    text_column: str
    delimiter: str | None = None  # this and the next two are for csv
    encoding: str = "utf-8"
    names: Sequence[str] | None = None  # of the columns, if there is no header

    def read(self) -> Any:
        """Return the table as a `ray.data.Dataset`."""
        import ray.data
        from pyarrow import csv, string

        resources = {"num_cpus": CORES_OF_READING}
        if self.format == "parquet":
            endings = [ending.removeprefix(".") for ending in ENDINGS]
            return ray.data.read_parquet(self.path, ray_remote_args=resources, file_extensions=endings)
        if self.format == "jsonl":
            return ray.data.read_json(self.path, lines=True, ray_remote_args=resources)
        return ray.data.read_csv(
            self.path,
            ray_remote_args=resources,
            read_options=csv.ReadOptions(encoding=self.encoding, column_names=self.names),
            parse_options=csv.ParseOptions(delimiter=self.delimiter or ",", newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types={self.text_column: string()}),
        )


class Worker:
    """Adds the columns of the predictions to batches of rows (`pyarrow.Table`)."""

    def __init__(self, model: str, settings: PredictorSettings, text_column: str, version: str) -> None:
        self._predictor, self._text_column, self._version = Predictor(model, settings), text_column, version

    def __call__(self, batch: Any) -> Any:
        import pyarrow

        if self._version != __version__:  # here, since Ray takes an error in the constructor for a death
            raise EngineError(f"a worker has newfound {__version__}, not {self._version}; install the same one")
        texts = batch.column(self._text_column).to_pylist()
        answers = self._predictor([None if text is None else str(text) for text in texts])
        batch = batch.rename_columns(kept_names(batch.column_names))
        for name, type in arrow_fields(self._predictor.top, self._predictor.columns):
            batch = batch.append_column(name, pyarrow.array(answers[name], type))
        return batch


def kept_names(names: Sequence[str]) -> list[str]:
    """Return what the columns of the input are called beside those of the predictions."""
    taken = {*PREDICTION_COLUMNS, THRESHOLD_COLUMN, "top"}
    kept: list[str] = []
    for name in names:
        while name in taken:
            name = INPUT_PREFIX + name
        taken.add(name)
        kept.append(name)
    return kept


def predict_on_ray(model: Path, table: Table, out: Path, predictor: PredictorSettings, cluster: RaySettings) -> None:
    """Write the table with the columns of its predictions to a folder, as Parquet files.

    Workers must see the model folder, the files of the table and `out` at the same paths.
    """
    with connect(cluster):
        import ray
        import ray.data

        device, resources, places = _resources(cluster)
        arguments = (str(model.resolve()), replace(predictor, device=device), table.text_column, __version__)
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # a failure is reported below, in one line
        try:
            with warnings.catch_warnings(action="ignore"):  # Ray's, that it will name the limits on tries otherwise
                predicted = table.read().map_batches(
                    Worker,
                    fn_constructor_args=arguments,
                    batch_size=ROWS_PER_BATCH,
                    batch_format="pyarrow",
                    # One at a time, since a worker that dies takes a try from whatever waits for it, too.
                    compute=ray.data.ActorPoolStrategy(
                        size=min(cluster.workers or places, places), max_tasks_in_flight_per_actor=1
                    ),
                    max_restarts=-1,  # a long job may lose any number of workers, but not many at the same work
                    max_task_retries=MAX_RETRIES,
                    **resources,
                )
            predicted.write_parquet(str(out.resolve()), ray_remote_args={"num_cpus": CORES_OF_READING})
        except ray.exceptions.RayActorError as error:
            raise EngineError(
                f"workers of the Ray cluster died {MAX_RETRIES + 1} times at the same work, likely for lack of memory",
                "fewer_workers",
            ) from error
        except ray.exceptions.RayError as error:
            raise EngineError(f"a worker of the Ray cluster failed: {_reason(error)}") from error


@contextmanager
def connect(settings: RaySettings) -> Iterator[None]:
    """Connect to the cluster for a block; a connection that the caller's program has already is used and kept."""
    settings.check()
    for name, value in QUIET_VARIABLES.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    address = settings.address or os.environ.get("RAY_ADDRESS") or "local"
    _check_reachable(address)
    local_options: dict[str, Any] = {}
    if address == "local":
        local_options = {"include_dashboard": False, "num_cpus": max(MIN_CORES, os.cpu_count() or 1)}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **local_options)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise EngineError(f"no Ray cluster at {address} ({first_line(error)})", "address") from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Refuse an address at which nobody listens; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():  # "local" and "auto"
        return
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        raise EngineError(f"no Ray cluster at {address} ({first_line(error)})", "address") from None


def _resources(settings: RaySettings) -> tuple[str, dict[str, float], int]:
    """Return the device of the workers, what Ray reserves for each, and how many the cluster has room for."""
    import ray

    cluster = ray.cluster_resources()
    cores, has_gpus = int(cluster.get("CPU", 0)), cluster.get("GPU", 0) >= 1
    if cores < MIN_CORES:
        raise EngineError(f"the Ray cluster has {cores} cores and needs {MIN_CORES}")
    if settings.device == "cuda" and not has_gpus:
        raise SettingsError("device='cuda', but torch sees no GPU here", "cpu")
    if has_gpus and settings.device != "cpu":
        return "cuda", {"num_cpus": CORES_OF_A_WORKER, "num_gpus": 1}, int(cluster["GPU"])
    return "cpu", {"num_cpus": CORES_OF_A_WORKER}, cores


def _reason(error: Exception) -> str:
    """Return the first exception in the traceback that a worker sent; those of Ray that follow only wrap it."""
    lines = [line.strip() for line in str(error).splitlines()]
    raised = [line for line in lines if EXCEPTION_LINE.match(line) and not line.startswith("ray.")]
    return next(iter(raised), first_line(error))
