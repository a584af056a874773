"""Runs the workflows that train in the background, and keeps their progress."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread

from newfound.errors import ConflictError, NewfoundError
from newfound.files import check_replaceable
from newfound.serve.schemas.responses import ChangesOut, JobState
from newfound.training.progress import Reporter, Task

logger = logging.getLogger("newfound.serve")
MAX_WARNINGS = 100  # of one job that are kept
Workflow = Callable[[Path, Reporter], ChangesOut | None]


class BackgroundJobs:
    """Runs at most one job at a time. It is also the reporter of the job; it keeps its message and warnings."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state = JobState()
        self._started, self._ended = 0.0, 0.0
        self._result: Path | None = None

    def state(self) -> JobState:
        """Return the last job and its progress."""
        with self._lock:
            seconds = (self._ended or time.monotonic()) - self._started if self._started else 0.0
            return self._state.model_copy(update={"seconds": round(seconds, 1)})

    @property
    def result(self) -> Path | None:
        """The model folder that the last job has written; None if there is none."""
        with self._lock:
            return self._result

    def start(self, kind: str, model: Path, run: Workflow, *, author: str, steps: Sequence[str] = ()) -> JobState:
        """Start a job that writes a model beside the served one, which stays as it is.

        Args:
            kind: The name of the workflow, for instance "refit".
            model: The served model; the result is written into a folder beside it.
            run: The workflow. It is called with the folder to write and the reporter of its progress, and returns what
                it changed, or None.
            author: Who asked for it.
            steps: The titles of its steps, in their order, if they are known in advance.

        Raises:
            ConflictError: If a job is running already.
            SettingsError: If the folder cannot be written.
        """
        out = _new_folder(model, kind)
        check_replaceable(out, False)  # before the training, which may take an hour
        with self._lock:
            if self._state.status == "running":
                raise ConflictError(f"{self._state.author} has started a job already; wait for it")
            self._state = JobState(kind=kind, status="running", author=author, step="starting", steps=list(steps))
            self._started, self._ended, self._result = time.monotonic(), 0.0, None
        Thread(target=self._run, args=(run, out), daemon=True).start()
        return self.state()

    def _run(self, run: Workflow, out: Path) -> None:
        try:
            changes = run(out, self)
            with self._lock:
                self._result = out
            message = f"Wrote {out.name}, beside the model. The model itself stays as it is."
            self._update(status="done", message=message, folder=out.name, changes=changes)
        except (NewfoundError, OSError) as error:
            self._update(status="failed", message=str(error))
        except Exception as error:
            self._update(status="failed", message=f"{type(error).__name__}; the server's log says more")
            logger.exception("a job failed")
        finally:
            with self._lock:
                self._ended = time.monotonic()

    def _update(self, **changes: object) -> None:
        with self._lock:
            self._state = self._state.model_copy(update=changes)

    def note(self, message: str) -> None:
        """Keep a message of the job."""
        self._update(message=message)

    def warn(self, message: str) -> None:
        """Keep a warning of the job, and log it."""
        logger.warning("%s: %s", self._state.kind, message)
        with self._lock:
            warnings = [*self._state.warnings, message][:MAX_WARNINGS]
            self._state = self._state.model_copy(update={"message": message, "warnings": warnings})

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        """Begin a part of the job.

        Args:
            title: What is done.
            total: The number of its steps.
        """
        self._update(step=title, done=0, total=total)
        yield _JobTask(self)

    def advance(self, steps: int) -> None:
        """Count steps of the current part."""
        with self._lock:
            self._state = self._state.model_copy(update={"done": self._state.done + steps})


class _JobTask:
    def __init__(self, jobs: BackgroundJobs) -> None:
        self._jobs = jobs

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._jobs.advance(steps)


def _new_folder(model: Path, kind: str) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return model.resolve().with_name(f"{model.resolve().name}-{kind}-{stamp}")
