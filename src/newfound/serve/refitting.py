"""Training on from the decisions, in the background; whoever asks is told how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from newfound.errors import ConflictError, NewfoundError
from newfound.review.rounds import refit
from newfound.serve.workbench import View
from newfound.training.progress import Task
from newfound.training.run import Run


class Refitting:
    """At most one at a time. Also the reporter of the training: it keeps the last thing it was told."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: dict[str, Any] = {"status": "idle", "step": "", "done": 0, "total": 0, "message": ""}

    def state(self) -> dict[str, Any]:
        with self._lock:
            return dict(self._state)

    def start(self, view: View, *, author: str) -> dict[str, Any]:
        with self._lock:
            if self._state["status"] == "running":
                raise ConflictError(f"{self._state['author']} has started one already; wait for it")
            self._state = {
                "status": "running",
                "author": author,
                "step": "starting",
                "done": 0,
                "total": 0,
                "message": "",
            }
        Thread(target=self._run, args=(view,), daemon=True).start()
        return self.state()

    def _run(self, view: View) -> None:
        try:
            out = _free_folder(view.bench.folder)
            refit(view.reviewed, run=Run(reporter=self), device=view.bench.model.device.type).save(out)
            self._update(status="done", message=f"Wrote {out.name}, beside the model. The model itself stays as it is.")
        except (NewfoundError, OSError) as error:
            self._update(status="failed", message=str(error))
        except Exception as error:
            self._update(status="failed", message=f"{type(error).__name__}; the server's log says more")
            raise

    def _update(self, **changes: Any) -> None:
        with self._lock:
            self._state |= changes

    def note(self, message: str) -> None:
        self._update(message=message)

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        self._update(step=title, done=0, total=total)
        yield _Steps(self)


class _Steps:
    def __init__(self, owner: Refitting) -> None:
        self._owner = owner

    def advance(self, note: str = "", steps: int = 1) -> None:
        self._owner._update(done=self._owner.state()["done"] + steps)


def _free_folder(model: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return model.resolve().with_name(f"{model.resolve().name}-refit-{stamp}")
