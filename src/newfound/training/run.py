"""`Run`: where one fit reports its progress and keeps its checkpoints."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from newfound.errors import SettingsError, TargetExists
from newfound.files import to_json, write_atomically
from newfound.training.progress import LoggingReporter, Reporter

IDENTITY_FILE = "run.json"
T = TypeVar("T")


@dataclass(slots=True)
class StageState:
    """All that a stage needs to go on: tensors by name, the next epoch, the history so far."""

    epoch: int = 0
    tensors: dict[str, Tensor] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)
    best_score: float | None = None
    best_epoch: int | None = None


@dataclass(kw_only=True, eq=False)
class Run:
    """Context of one fit. Without a folder nothing is kept; with one, a killed fit can be resumed.

    `memory`, a dictionary handed to several fits of one process, lets them share what they have in common: features
    on the device, and the pre-training on the known intents.
    """

    reporter: Reporter = field(default_factory=LoggingReporter)
    folder: Path | None = None
    resume: bool = False
    anew: bool = False
    seconds_between_checkpoints: float = 5.0
    memory: dict[str, Any] | None = None
    identity: dict[str, Any] = field(default_factory=dict, init=False)
    _last: float = field(default_factory=time.monotonic, init=False)  # when a checkpoint was written

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Claim the folder for a fit with this identity; resuming another fit's checkpoints is refused."""
        self.identity = dict(identity)
        if self.folder is None:
            return
        self.check_folder()
        path = self.folder / IDENTITY_FILE
        content = to_json(dict(identity))
        if path.is_file() and not self.anew:
            try:
                changed = _differences(json.loads(path.read_bytes()), json.loads(content))
            except (OSError, ValueError, TypeError, AttributeError):
                raise SettingsError(f"{path}: damaged", "anew") from None
            if changed:
                raise SettingsError(f"{self.folder}: was begun with other {', '.join(changed)}", "repeat", "anew")
            return
        self.finish()
        write_atomically(path, content)

    def check_folder(self) -> None:
        """Refuse a folder that holds something else, or an unfinished run that is neither resumed nor begun anew."""
        if self.folder is None or not self.folder.exists():
            return
        if (self.folder / IDENTITY_FILE).is_file():
            if not self.anew and not self.resume:
                raise SettingsError(f"{self.folder} holds an unfinished run", "resume", "anew")
        elif set(self.folder.iterdir()) - self._own_files():
            raise TargetExists(self.folder, "holds something else", replaceable=False)

    def restore(self, stage: str) -> StageState | None:
        """The last checkpoint of a stage, if this run resumes and there is one."""
        path = self._path(stage)
        if path is None or not self.resume or not path.is_file():
            return None
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as file:
                about = json.loads(file.metadata()["state"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            return StageState(tensors=tensors, **about)
        except (SafetensorError, OSError, ValueError, KeyError, TypeError):
            raise SettingsError(f"{path}: the checkpoint is damaged", "anew") from None

    def get_or_make(self, key: str, make: Callable[[], T]) -> T:
        """What an earlier fit with the same memory made under this key; made now otherwise."""
        if self.memory is None:
            return make()
        if key not in self.memory:
            self.memory[key] = make()
        value: T = self.memory[key]
        return value

    def is_checkpoint_due(self) -> bool:
        return self.folder is not None and time.monotonic() - self._last >= self.seconds_between_checkpoints

    def save_checkpoint(self, stage: str, state: StageState) -> None:
        """Write a checkpoint: one file, one rename."""
        path = self._path(stage)
        if path is None:
            return
        from safetensors.torch import save

        about = {name: getattr(state, name) for name in ("epoch", "history", "best_score", "best_epoch")}
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}
        write_atomically(path, save(tensors, metadata={"state": json.dumps(about)}))
        self._last = time.monotonic()

    def finish(self) -> None:
        """The result is safe elsewhere: checkpoints are no longer needed. Only what a run wrote is removed."""
        if self.folder is None or not (self.folder / IDENTITY_FILE).is_file():
            return
        for path in self._own_files():
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return self.folder is not None and any(self.folder.glob("*.safetensors"))

    def _own_files(self) -> set[Path]:
        """Checkpoints, the identity, and what a killed run had half written of either."""
        if self.folder is None:
            return set()
        halves = (f".{name}-*" for name in ("*.safetensors", IDENTITY_FILE))
        return {path for pattern in ("*.safetensors", IDENTITY_FILE, *halves) for path in self.folder.glob(pattern)}

    def _path(self, stage: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{stage}.safetensors"


def _differences(earlier: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Names of what differs, settings by their own names."""
    flat = [{**identity, **(identity.get("settings") or {})} for identity in (earlier, now)]
    names = {*flat[0], *flat[1]} - {"settings"}
    return sorted(name for name in names if flat[0].get(name) != flat[1].get(name))
