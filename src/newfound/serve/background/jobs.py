"""Runs the workflows that train, one at a time, each in a process of its own, and keeps their progress."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from newfound.errors import ConflictError, NewfoundError
from newfound.files import hold_folder
from newfound.serve.background.folders import make_workplace, next_name, put_beside, remove, remove_old_results
from newfound.serve.background.process import WorkFailed, run_in_process
from newfound.serve.schemas.errors import without_paths
from newfound.serve.schemas.training import Discovered, JobState
from newfound.workflows.refitting import RefitChanges

logger = logging.getLogger("newfound.serve")
MAX_WARNINGS = 100  # of one job that are kept
MAX_RESULTS = 10  # of jobs that stay beside the model
Kind = Literal["discover", "update", "refit"]
Outcome = RefitChanges | Discovered
STEP_TITLES = {
    "loading": "Load the model",
    "encoding": "Encode the utterances",
    "clustering": "Find the intents",
    "fine-tuning": "Fine-tune the encoder",
    "training": "Train the classifier",
    "training on all labels": "Train on the labels that checked it, too",
    "comparing": "Compare with the model so far",
    "writing": "Write the new model",
}
STEPS: dict[Kind, tuple[str, ...]] = {  # those that are known in advance
    "refit": ("loading", "encoding", "training", "comparing", "writing"),
    "update": ("loading", "encoding", "clustering", "training", "writing"),
    "discover": ("loading", "encoding", "clustering", "training", "writing"),
}


class BackgroundJobs:
    """Runs at most one job at a time."""

    def __init__(self, *, in_use: Callable[[], Collection[Path]]) -> None:
        self._in_use = in_use
        self._state = JobState()
        self._started_at, self._ended_at = 0.0, 0.0
        self._workplace = Path()
        self._work: asyncio.Task[Outcome] | None = None
        self._end_task: asyncio.Task[None] | None = None
        self.result: Path | None = None  # the model folder that the last job has written

    def state(self) -> JobState:
        """Return the last job and its progress."""
        seconds = (self._ended_at or time.monotonic()) - self._started_at if self._started_at else 0.0
        return replace(self._state, seconds=round(seconds, 1))

    def start(
        self, kind: Kind, model: Path, work: Callable[..., Outcome], *, author: str, version: int = 0
    ) -> JobState:
        """Start a job that writes a model beside the served one, which stays as it is. An event loop must be running.

        A second job, and a folder that cannot be written, are refused.

        Args:
            kind: What the job does.
            model: The folder of the served model.
            work: Takes `out`, the folder to write, and returns what came of it.
            author: Who starts it.
            version: The version of the review that it learns from.
        """
        if self._state.status == "running":
            raise ConflictError(f"{self._state.author} has started a job already; wait for it, or cancel it")
        self._workplace = make_workplace(model)
        steps = STEPS[kind]
        self._state = JobState(
            kind, "running", author, step=steps[0], steps=steps, step_titles=STEP_TITLES, version=version
        )
        self._started_at, self._ended_at, self.result = time.monotonic(), 0.0, None
        out = self._workplace / next_name(model)
        self._work = asyncio.create_task(run_in_process(partial(work, out=out), self._keep_report))
        self._end_task = asyncio.create_task(self._end(self._work, out, model))
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

    async def _end(self, work: asyncio.Task[Outcome], out: Path, model: Path) -> None:
        """Wait for the end of a job, tidy up, and say how it ended. This is never cancelled itself."""
        with hold_folder(self._workplace):  # as long as this server lives: others remove what nobody holds
            await asyncio.wait([work])
            try:
                end = await self._outcome(work, out, model)
            except (NewfoundError, WorkFailed, OSError) as error:
                end = {"status": "failed", "message": self._hide_paths(str(error))}
            except Exception as error:
                logger.error("a job failed", exc_info=error)
                end = {"status": "failed", "message": f"{type(error).__name__}; the server's log says more"}
            await asyncio.to_thread(remove, self._workplace)
        self._ended_at = time.monotonic()
        self._update(**end)

    async def _outcome(self, work: asyncio.Task[Outcome], out: Path, model: Path) -> dict[str, Any]:
        """Return how a job has ended, with its result put beside the model; raise the error of one that failed."""
        if work.cancelled():
            return {"status": "cancelled"}
        outcome = work.result()
        result = await asyncio.to_thread(put_beside, out, model, self._state.author)
        self.result = result
        await asyncio.to_thread(remove_old_results, result, MAX_RESULTS, in_use=[result, *self._in_use()])
        message = f"Wrote {result.name}, beside the model. The model itself stays as it is."
        came_of_it = {"changes" if isinstance(outcome, RefitChanges) else "discovered": outcome}
        return {"status": "done", "message": message, "folder": result.name, **came_of_it}

    def _hide_paths(self, message: str) -> str:
        return without_paths(message, self._workplace, self._workplace.parent)

    def _update(self, **changes: Any) -> None:
        self._state = replace(self._state, **changes)

    def _keep_report(self, kind: str, *values: Any) -> None:
        match kind, values:
            case "note", (message,):
                self._update(message=self._hide_paths(message))
            case "warn", (message,):
                logger.warning("%s: %s", self._state.kind, message)
                message = self._hide_paths(message)
                self._update(message=message, warnings=[*self._state.warnings, message][:MAX_WARNINGS])
            case "task", (title, total):
                self._begin(title, total)
            case "advance", (steps,):
                self._update(done=self._state.done + steps)
                steps = list(self._state.steps)
                if self._state.done >= self._state.total and self._state.step != steps[-1]:
                    self._begin(steps[steps.index(self._state.step) + 1], 0)

    def _begin(self, step: str, total: int) -> None:
        """Keep that a step begins. One that was not expected comes after the step of which something was done."""
        steps = list(self._state.steps)
        if step not in steps:
            steps.insert(steps.index(self._state.step) + (self._state.done > 0), step)
        self._update(step=step, steps=tuple(steps), done=0, total=total)
