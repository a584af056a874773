"""Runs the workflows that train, one at a time, each in a process of its own, and keeps their progress.

Their results are folders beside the served model: `my-bot-2` was trained from `my-bot`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from newfound.errors import ConflictError, SettingsError
from newfound.files import HISTORY_FILE, remove_unfinished_files
from newfound.model.types import KnownCheck
from newfound.review.store import sign_history
from newfound.serve.background import run_in_process
from newfound.training.progress import Reporter
from newfound.workflows.discovery import DiscoverResult
from newfound.workflows.updating import RefitChanges, RefitResult, UpdateChanges, UpdateResult

logger = logging.getLogger("newfound.serve")
MAX_WARNINGS = 100  # of one job that are kept
WORKPLACE_PREFIX = ".newfound-job-"
MAX_SECONDS_OF_A_JOB = 24 * 3600.0  # after which its folder is nobody's
# What stands before the last name of an absolute path, which follows a space, a quote or the like.
PARENT_FOLDERS = re.compile(r"(?:(?<=[\s'\"(\[=])|^)(?:[A-Za-z]:)?[/\\](?=[\w.])(?:[^\s/\\'\":;,()]+[/\\])*")
NUMBER = r"-([1-9]\d{0,3})"  # added to the name of the first model; the group is the number
Kind = Literal["discover", "update", "refit"]


@dataclass(frozen=True, slots=True)
class Discovered:
    """What a discovery or an update has found.

    Attributes:
        new: The names of the new intents.
        known: The number of known intents.
        utterances: The number of distinct utterances of the logs.
        known_check: How well known intents are classified, on held-out labels; None if that was not measured.
        changes: What an update changed; None for a discovery.
    """

    new: tuple[str, ...]
    known: int
    utterances: int
    known_check: KnownCheck | None = None
    changes: UpdateChanges | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """The last job in the background, and its progress.

    Attributes:
        done: How much of the last step is done, of `total`; both are 0 if that is not known.
        folder: The name of the folder that was written, beside the served one.
        steps: The titles of the steps so far. The last one is under way.
        changes: What a refit changed.
        discovered: What a discovery or an update has found.
        warnings: What went wrong without ending the job, in its order.
        version: The version of the review that it learns from.
    """

    kind: str = ""
    status: Literal["idle", "running", "done", "failed", "cancelled"] = "idle"
    author: str = ""
    done: int = 0
    total: int = 0
    message: str = ""
    folder: str | None = None
    steps: Sequence[str] = ()
    seconds: float = 0.0
    changes: RefitChanges | None = None
    discovered: Discovered | None = None
    warnings: Sequence[str] = ()
    version: int = 0


Outcome = RefitChanges | Discovered
Workflow = Callable[..., DiscoverResult | UpdateResult | RefitResult]  # takes `out` and `reporter`


class BackgroundJobs:
    """Runs at most one job at a time."""

    def __init__(self) -> None:
        self._state = JobState()
        self._started_at = 0.0
        self._workplace = Path()
        self._work: asyncio.Task[Outcome]  # what is cancelled, and
        self._job: asyncio.Task[None]  # what goes on until the job is over
        self.result: Path | None = None  # the model folder that the last job has written

    def state(self) -> JobState:
        if self._state.status != "running":
            return self._state
        return replace(self._state, seconds=round(time.monotonic() - self._started_at, 1))

    def start(self, kind: Kind, model: Path, workflow: Workflow, *, author: str, version: int = 0) -> JobState:
        """Start a job that writes a model beside the served one, which stays as it is. An event loop must be running.

        A second job, and a folder that cannot be written, are refused. The workflow has all its arguments but `out` and
        `reporter`, and `version` is that of the review that it learns from.
        """
        if self._state.status == "running":
            raise ConflictError(f"{self._state.author} has started a job already; wait for it, or cancel it")
        try:
            beside = model.resolve().parent
            workplace = TemporaryDirectory(prefix=WORKPLACE_PREFIX, dir=beside, ignore_cleanup_errors=True)
        except OSError as error:  # is said before a training, and not at its end
            raise SettingsError(f"{next_name(model)}: cannot be written beside the model ({error.strerror})") from None
        self._workplace = Path(workplace.name)
        self._state = JobState(kind, "running", author, steps=["Loading"], version=version)
        self._started_at, self.result = time.monotonic(), None
        out = self._workplace / next_name(model)
        self._work = asyncio.create_task(run_in_process(partial(train, workflow, out=out), self._keep_report))
        self._job = asyncio.create_task(self._finish(workplace, out, model))
        return self.state()

    async def cancel(self, author: str) -> JobState:
        """End the running job. Nothing of it stays."""
        if self._state.status != "running":
            raise ConflictError("no job is running")
        await self.stop(f"{author} has cancelled it. Nothing was written.")
        return self.state()

    async def stop(self, message: str = "The server has stopped. Nothing was written.") -> None:
        if self._state.status == "running":
            self._update(message=message)
            self._work.cancel()
            await asyncio.wait([self._job])

    async def _finish(self, workplace: TemporaryDirectory[str], out: Path, model: Path) -> None:
        """Wait for the work, put its result beside the model, tidy up, and say how the job ended."""
        try:
            outcome = await self._work
            result = self.result = await asyncio.to_thread(put_beside, out, model, self._state.author)
            message = f"Wrote {result.name}, beside the model. The model itself stays as it is."
            came_of_it = {"changes" if isinstance(outcome, RefitChanges) else "discovered": outcome}
            end: dict[str, Any] = {"status": "done", "message": message, "folder": result.name, **came_of_it}
        except asyncio.CancelledError:  # of the work; the job itself is never cancelled
            end = {"status": "cancelled"}
        except Exception as error:
            logger.warning("a job failed: %s: %s", type(error).__name__, error)
            end = {"status": "failed", "message": self._hide_paths(str(error))}
        await asyncio.to_thread(workplace.cleanup)
        self._update(**{"seconds": self.state().seconds, **end})

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
                self._update(steps=[*self._state.steps, title.capitalize()], done=0, total=total)
            case "advance", (steps,):
                self._update(done=self._state.done + steps)


def train(workflow: Workflow, *, out: Path, reporter: Reporter) -> Outcome:
    """Do the work of a job: write the model, and return what is shown of the result."""
    result = workflow(out=out, reporter=reporter)
    if isinstance(result, RefitResult):
        return result.changes
    new = tuple(intent.name for intent in result.intents if not intent.known)
    changes = result.changes if isinstance(result, UpdateResult) else None
    return Discovered(new, len(result.intents) - len(new), len(result.logs), result.known_check, changes)


def next_name(model: Path) -> str:
    """Return the name of the next result: that of the first model, so that names do not grow, with the next number."""
    model = model.resolve()
    name = re.sub(NUMBER + "$", "", model.name) if (model / HISTORY_FILE).is_file() else model.name
    pattern = re.compile(re.escape(name or model.name) + NUMBER)
    numbers = [int(match[1]) for path in model.parent.glob("*") if (match := pattern.fullmatch(path.name))]
    return f"{name or model.name}-{max([1, *numbers]) + 1}"


def put_beside(written: Path, model: Path, author: str) -> Path:
    """Move what a job has written beside the model, signed by the author of the job, and return its folder."""
    sign_history(written, author)
    while True:
        result = model.resolve().with_name(next_name(model))
        try:
            return written.rename(result)
        except OSError:
            if not result.exists():  # otherwise somebody took the name meanwhile
                raise


def remove_abandoned(model: Path) -> None:
    """Remove what a server that was killed has left: files that it had not finished, and old folders of its jobs."""
    remove_unfinished_files(model)
    for path in model.resolve().parent.glob(f"{WORKPLACE_PREFIX}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > MAX_SECONDS_OF_A_JOB:
                shutil.rmtree(path, ignore_errors=True)


def without_paths(text: str, *folders: Path) -> str:
    """Return a message with the names of files and folders, but without the folders that they lie in.

    Paths outside `folders` and the home folder cannot be recognised if they have spaces.
    """
    known = {str(path) for folder in (*folders, Path.home()) for path in (folder, folder.resolve())} - {".", "/"}
    for folder in sorted(known, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return PARENT_FOLDERS.sub("", text)
