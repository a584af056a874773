"""Workflows that train, in the background; whoever asks is told how far they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread

from newfound.errors import ConflictError, NewfoundError
from newfound.files import check_replaceable
from newfound.serve.schemas import JobState
from newfound.training.progress import Reporter, Task

logger = logging.getLogger("newfound.serve")


class BackgroundJobs:
    """At most one job at a time. Also its reporter: it keeps the last thing it was told."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state = JobState()

    def state(self) -> JobState:
        with self._lock:
            return self._state.model_copy()

    def start(self, kind: str, model: Path, run: Callable[[Path, Reporter], object], *, author: str) -> JobState:
        """Begin a job that writes a model beside another one; the other one stays as it is.

        Args:
            kind: What is done, for instance "refit".
            model: The folder beside which the result goes.
            run: Does it, given the folder to write and who is told the progress.
            author: Who asked for it.
        """
        out = _free_folder(model, kind)
        check_replaceable(out, False)  # before an hour of training, not after it
        with self._lock:
            if self._state.status == "running":
                raise ConflictError(f"{self._state.author} has started one already; wait for it")
            self._state = JobState(kind=kind, status="running", author=author, step="starting")
        Thread(target=self._run, args=(run, out), daemon=True).start()
        return self.state()

    def _run(self, run: Callable[[Path, Reporter], object], out: Path) -> None:
        try:
            run(out, self)
            message = f"Wrote {out.name}, beside the model. The model itself stays as it is."
            self._update(status="done", message=message, folder=out.name)
        except (NewfoundError, OSError) as error:
            self._update(status="failed", message=str(error))
        except Exception as error:
            self._update(status="failed", message=f"{type(error).__name__}; the server's log says more")
            logger.exception("a job failed")

    def _update(self, **changes: object) -> None:
        with self._lock:
            self._state = self._state.model_copy(update=changes)

    def note(self, message: str) -> None:
        self._update(message=message)

    def warn(self, message: str) -> None:
        self._update(message=message)

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        self._update(step=title, done=0, total=total)
        yield _Steps(self)

    def advance(self, steps: int) -> None:
        with self._lock:
            self._state = self._state.model_copy(update={"done": self._state.done + steps})


class _Steps:
    def __init__(self, owner: BackgroundJobs) -> None:
        self._owner = owner

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._owner.advance(steps)


def _free_folder(model: Path, kind: str) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return model.resolve().with_name(f"{model.resolve().name}-{kind}-{stamp}")
