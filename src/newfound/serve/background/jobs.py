"""Runs the workflows that train, one at a time, each in a process of its own, and keeps their progress."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from newfound.errors import ConflictError, NewfoundError
from newfound.files import check_replaceable
from newfound.serve.background.folders import new_folder, remove_leftovers, remove_old_results
from newfound.serve.background.process import Tell, Work, WorkFailed, WorkProcess
from newfound.serve.schemas.errors import without_paths
from newfound.serve.schemas.responses import JobState
from newfound.workflows.refitting import RefitChanges

logger = logging.getLogger("newfound.serve")
MAX_WARNINGS = 100  # of one job that are kept
Kind = Literal["discover", "update", "refit"]


class BackgroundJobs:
    """Runs at most one job at a time."""

    def __init__(self, *, max_results: int, in_use: Callable[[], Collection[Path]]) -> None:
        self._max_results, self._in_use = max_results, in_use
        self._state = JobState()
        self._started_at, self._ended_at = 0.0, 0.0
        self._place = Path()
        self._work: asyncio.Task[RefitChanges | None] | None = None
        self._end_task: asyncio.Task[None] | None = None
        self.result: Path | None = None  # the model folder that the last job has written

    def state(self) -> JobState:
        """Return the last job and its progress."""
        seconds = (self._ended_at or time.monotonic()) - self._started_at if self._started_at else 0.0
        return replace(self._state, seconds=round(seconds, 1))

    def start(
        self, kind: Kind, model: Path, work: Work, *, author: str, steps: Mapping[str, str] = MappingProxyType({})
    ) -> JobState:
        """Start a job that writes a model beside the served one, which stays as it is. An event loop must be running.

        The work takes `out` and returns what it changed, or None. `steps` has what its steps do in words, in their
        order, if they are known in advance. A second job, and a folder that cannot be written, are refused.
        """
        out = new_folder(model, kind)
        check_replaceable(out, False)  # before the training, which may take an hour
        if self._state.status == "running":
            raise ConflictError(f"{self._state.author} has started a job already; wait for it")
        self._state = JobState(
            kind=kind, status="running", author=author, step="starting", steps=tuple(steps), step_titles=dict(steps)
        )
        self._started_at, self._ended_at, self.result = time.monotonic(), 0.0, None
        self._place = out.parent
        self._work = asyncio.create_task(_run(partial(work, out=out), self._tell))
        self._end_task = asyncio.create_task(self._end(self._work, out))
        return self.state()

    async def cancel(self, author: str) -> JobState:
        """End the running job. Nothing of it stays."""
        if self._state.status != "running":
            raise ConflictError("no job is running")
        await self.stop(f"{author} has cancelled it. Nothing was written.")
        return self.state()

    async def stop(self, message: str = "The server has stopped. Nothing was written.") -> None:
        """End the running job, if there is one."""
        if self._state.status == "running" and self._end_task is not None and self._work is not None:
            self._update(message=message)
            self._work.cancel()
            await asyncio.wait([self._end_task])

    async def _end(self, work: asyncio.Task[RefitChanges | None], out: Path) -> None:
        """Wait for the end of a job, tidy up, and say how it ended. This is never cancelled itself."""
        await asyncio.wait([work])
        end = self._describe_end(work, out)
        await asyncio.to_thread(remove_leftovers, out, end["status"])
        if end["status"] == "done":
            self.result = out
            await asyncio.to_thread(remove_old_results, out, self._max_results, in_use=[out, *self._in_use()])
        self._ended_at = time.monotonic()
        self._update(**end)

    def _describe_end(self, work: asyncio.Task[RefitChanges | None], out: Path) -> dict[str, Any]:
        if work.cancelled():
            return {"status": "cancelled"}
        error = work.exception()
        if error is None:
            message = f"Wrote {out.name}, beside the model. The model itself stays as it is."
            return {"status": "done", "message": message, "folder": out.name, "changes": work.result()}
        if isinstance(error, NewfoundError | WorkFailed):
            return {"status": "failed", "message": self._hide_paths(str(error))}
        logger.error("a job failed", exc_info=error)
        return {"status": "failed", "message": f"{type(error).__name__}; the server's log says more"}

    def _hide_paths(self, message: str) -> str:
        return without_paths(message, self._place)

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _tell(self, kind: str, *values: Any) -> None:
        """Keep a report of the job."""
        match kind, values:
            case "note", (message,):
                self._update(message=self._hide_paths(message))
            case "warn", (message,):
                logger.warning("%s: %s", self._state.kind, message)
                message = self._hide_paths(message)
                self._update(message=message, warnings=[*self._state.warnings, message][:MAX_WARNINGS])
            case "task", (title, total):
                self._update(step=title, done=0, total=total)
            case "advance", (steps,):
                self._update(done=self._state.done + steps)


async def _run(work: Work, tell: Tell) -> RefitChanges | None:
    process = WorkProcess()
    try:
        changes: RefitChanges | None = await process.run(work, tell)
        return changes
    finally:
        await process.stop()  # with the memory that a training has taken
