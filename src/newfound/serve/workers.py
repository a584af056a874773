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
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from types import FrameType

from newfound.errors import NewfoundError
from newfound.serve.settings import ServeSettings
from newfound.threads import divide_threads

logger = logging.getLogger("newfound.serve")
METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SECONDS_BETWEEN_CHECKS = 0.5
SECONDS_TO_STOP = 35  # a little longer than uvicorn waits for requests that it has accepted
MIN_SECONDS_OF_A_WORKER = 5  # one that ends sooner would end again
EXIT_CODE_CANNOT_SERVE = 2  # of a worker; the user has to correct the error


def run_workers(folder: Path, settings: ServeSettings, listener: socket.socket, *, encoder: str | None) -> None:
    """Run the workers until SIGINT or SIGTERM. A worker that dies is replaced; if one cannot start, all stop.

    Raises:
        NewfoundError: A worker cannot serve the model.
    """
    context = multiprocessing.get_context("spawn")
    divide_threads(settings.workers)
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    if threading.current_thread() is threading.main_thread():  # no other thread may handle signals
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
    problems: SimpleQueue[str] = context.SimpleQueue()

    def start_worker() -> tuple[BaseProcess, float]:
        process = context.Process(target=_work, args=(folder, settings, listener, encoder, problems))
        with _without_interrupts():
            process.start()
        return process, time.monotonic()

    with tempfile.TemporaryDirectory(prefix="newfound-metrics-") as metrics:
        os.environ[METRICS_FOLDER_VARIABLE] = metrics
        workers = [start_worker() for _ in range(settings.workers)]
        try:
            while not stopping:
                time.sleep(SECONDS_BETWEEN_CHECKS)
                for place, (process, started_at) in enumerate(workers):
                    if process.is_alive() or stopping:
                        continue
                    _check_replaceable(process, started_at, problems)
                    logger.warning("a worker ended with code %s; another one takes its place", process.exitcode)
                    _forget(process)
                    workers[place] = start_worker()
        finally:
            _stop([process for process, _ in workers])


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back. Processes that are started meanwhile never see it: they end when this one tells them to."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_replaceable(process: BaseProcess, started_at: float, problems: SimpleQueue[str]) -> None:
    """Refuse to replace a worker that ended in a way in which the next one would end, too."""
    if process.exitcode == EXIT_CODE_CANNOT_SERVE:
        # The first worker that said why; the others would say the same.
        raise NewfoundError("a worker cannot serve the model" if problems.empty() else problems.get())
    if time.monotonic() - started_at < MIN_SECONDS_OF_A_WORKER:
        raise SystemExit(1)


def _stop(processes: list[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(SECONDS_TO_STOP)


def _forget(process: BaseProcess) -> None:
    """Leave what a worker that ended had waiting out of the metrics; what it has answered stays counted."""
    from prometheus_client.multiprocess import mark_process_dead

    with suppress(OSError):
        mark_process_dead(process.pid)  # type: ignore[no-untyped-call]


def _work(
    folder: Path, settings: ServeSettings, listener: socket.socket, encoder: str | None, problems: SimpleQueue[str]
) -> None:
    """Serve in a process of its own."""
    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    if settings.log_requests:
        access = logging.getLogger("newfound.access")
        access.addHandler(logging.StreamHandler(sys.stderr))
        access.setLevel(logging.INFO)
        access.propagate = False
    with suppress(KeyboardInterrupt):  # where it cannot be held back, uvicorn passes it on when it has stopped
        from newfound.serve.app import create_app
        from newfound.serve.server import Server

        try:
            app = create_app(folder, settings, encoder=encoder)
        except (NewfoundError, OSError) as error:
            problems.put(str(error))
            raise SystemExit(EXIT_CODE_CANNOT_SERVE) from None
        Server(app, settings).run(sockets=[listener])
