"""Predictions on a Ray cluster: each worker loads its model once, and one that dies is started again.

Ray runs what it is given at least once. A part may be written twice with the same result: its file has a name of its
own.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from newfound.engines.parts import Part, PartJob, PartResult, predict_part
from newfound.engines.predictor import Predictor
from newfound.errors import EngineError, MissingExtra, NoGpu, SettingsError
from newfound.text import first_line

MAX_RETRIES = 3  # of the same work; a text or a file that kills every worker must not do so for ever
WITHOUT_LIMIT = -1  # for Ray
SECONDS_TO_CONNECT = 10
OBJECT_STORE_BYTES = 256 * 2**20  # of a cluster that is started here; only numbers of parts pass through it

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
    local_options: dict[str, Any] = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
            **(local_options if address == "local" else {}),
        )
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


class PartWorker:
    """Writes the predictions of parts; Ray calls it with the number of one part."""

    def __init__(self, model: str, job: PartJob, parts: Sequence[Part]) -> None:
        self._predictor, self._job, self._parts = Predictor(model, job.settings), job, parts

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        result = predict_part(self._predictor, self._job, self._parts[int(batch["number"][0])])
        return {name: [value] for name, value in asdict(result).items()}


def run_on_ray(model: str | Path, job: PartJob, parts: Sequence[Part], settings: RaySettings) -> Iterator[PartResult]:
    """Yield the results of parts as the workers of a cluster finish them, in any order.

    Workers must see the model folder and the files of the parts at the same paths.
    """
    with connect(settings):
        import ray
        import ray.data

        device, resources, places = _resources(settings)
        job = replace(job, settings=replace(job.settings, device=device))
        ray.data.DataContext.get_current().enable_progress_bars = False
        numbers = [{"number": part.number} for part in parts]
        # A long job may lose any number of workers, but not many at the same work.
        tries = {"max_restarts": WITHOUT_LIMIT, "max_task_retries": MAX_RETRIES}
        dataset = ray.data.from_items(numbers, override_num_blocks=len(parts)).map_batches(
            PartWorker,
            fn_constructor_args=(str(Path(model).resolve()), job, tuple(parts)),
            batch_size=1,
            # One at a time, since a worker that dies takes a try from whatever waits for it, too.
            compute=ray.data.ActorPoolStrategy(
                size=min(settings.workers or places, len(parts)), max_tasks_in_flight_per_actor=1
            ),
            ray_remote_args_fn=lambda: tries,  # the only way to limit them; the warning that it will go names no other
            **resources,
        )
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # a failure is reported below, in one line
        try:
            for row in dataset.iter_rows():
                yield PartResult(**row)
        except ray.exceptions.RayActorError as error:
            raise EngineError(
                f"workers of the Ray cluster died {MAX_RETRIES + 1} times at the same work, likely for lack of memory",
                "fewer_workers",
            ) from error
        except ray.exceptions.RayError as error:
            raise EngineError(f"a worker of the Ray cluster failed: {_last_line(error)}") from error


def _resources(settings: RaySettings) -> tuple[str, dict[str, float], int]:
    """Return the device of the workers, what Ray reserves for each, and how many the cluster has room for."""
    import ray

    cluster = ray.cluster_resources()
    has_gpus = cluster.get("GPU", 0) >= 1
    if settings.device == "cuda" and not has_gpus:
        raise NoGpu
    if has_gpus and settings.device != "cpu":
        return "cuda", {"num_cpus": 1, "num_gpus": 1}, int(cluster["GPU"])
    return "cpu", {"num_cpus": 1}, max(1, int(cluster.get("CPU", 1)))


def _last_line(error: Exception) -> str:
    """Return the last line of the traceback that a worker sent: the exception itself."""
    cause = getattr(error, "cause", None)
    message = str(getattr(cause, "__cause__", None) or cause or error)
    lines = [line for line in message.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
