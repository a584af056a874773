"""Several processes that answer on one port. Each has the model; the system gives a connection to one of them.

They only predict. A newer model and newer decisions in the folder are noticed by each within a second, as by a server
of one process. Metrics are summed over the workers, whichever is asked (`newfound.serve.metrics`).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from newfound.serve.settings import ServeSettings
from newfound.threads import inference_threads

logger = logging.getLogger("newfound.serve")
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_STOP = 35  # a little longer than uvicorn waits for requests that it has accepted
MIN_SECONDS_OF_A_WORKER = 5  # one that ends sooner would end again


def run_workers(folder: Path, settings: ServeSettings, listener: socket.socket, *, encoder: str | None) -> None:
    """Run the workers until SIGINT or SIGTERM. A worker that dies is replaced; if one cannot start, all stop.

    Args:
        folder: The model folder.
        settings: Whom to answer, and the limits.
        listener: The listening socket, which all workers share.
        encoder: The folder of the model's encoder, if it is not where the model expects it.
    """
    context = multiprocessing.get_context("spawn")
    # The cores are divided among the workers, unless the user has said how many threads there are to be.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, inference_threads() // settings.workers)))
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    if threading.current_thread() is threading.main_thread():  # no other thread may handle signals
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)

    def begin() -> tuple[BaseProcess, float]:
        process = context.Process(target=_work, args=(folder, settings, listener, encoder), daemon=True)
        process.start()
        return process, time.monotonic()

    with tempfile.TemporaryDirectory(prefix="newfound-metrics-") as metrics:
        os.environ[METRICS_FOLDER] = metrics
        workers = [begin() for _ in range(settings.workers)]
        failed = False
        while not stopping and not failed:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for place, (process, begun) in enumerate(workers):
                if process.is_alive() or stopping:
                    continue
                if time.monotonic() - begun < MIN_SECONDS_OF_A_WORKER:
                    failed = True
                    break
                logger.warning("a worker ended with code %s; another one takes its place", process.exitcode)
                _forget(process)
                workers[place] = begin()
        for process, _ in workers:
            process.terminate()
        for process, _ in workers:
            process.join(SECONDS_TO_STOP)
        if failed:
            raise SystemExit(1)


def _forget(process: BaseProcess) -> None:
    """Leave what a worker that ended had waiting out of the metrics; what it has answered stays counted."""
    from prometheus_client.multiprocess import mark_process_dead

    with suppress(OSError):
        mark_process_dead(process.pid)  # type: ignore[no-untyped-call]


def _work(folder: Path, settings: ServeSettings, listener: socket.socket, encoder: str | None) -> None:
    """Serve in a process of its own."""
    import sys

    import uvicorn

    from newfound.errors import NewfoundError
    from newfound.serve.app import create_app
    from newfound.serve.server import server_config

    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    if settings.log_requests:
        access = logging.getLogger("newfound.access")
        access.addHandler(logging.StreamHandler(sys.stderr))
        access.setLevel(logging.INFO)
        access.propagate = False
    try:
        app = create_app(folder, settings, encoder=encoder)
    except NewfoundError as error:
        print(f"newfound: error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    uvicorn.Server(server_config(app, settings)).run(sockets=[listener])
