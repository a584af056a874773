"""Writing so that a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from newfound.errors import SettingsError, TargetExists


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside the target, flush to disk, then rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())  # temporary files are private; this one is like any other
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


MODEL_FORMAT = "newfound-model"
MODEL_FILES = frozenset({"model.json", "weights.safetensors", "encoder", "utterances.jsonl", "report.html"})
REVIEW_FILE = "review.sqlite3"


def check_replaceable(target: Path, overwrite: bool) -> None:
    """Refuse to write a model where something else is, or where a model is that nobody asked to replace."""
    if target.name.startswith("-"):
        raise SettingsError(f"{target}: that looks like an option; give the name of a folder")
    if target.is_symlink():
        raise SettingsError(f"{target} is a link; give the folder itself")
    if (target / REVIEW_FILE).exists():
        raise TargetExists(target, "holds a person's review decisions", replaceable=False)
    if target.exists():
        foreign = _foreign_files(target)
        if foreign:
            raise TargetExists(target, f"exists and holds something else ({foreign})", replaceable=False)
        if not overwrite:
            raise TargetExists(target)
    _check_writable(target)


def _foreign_files(target: Path) -> str:
    """Something in the way that no newfound model consists of."""
    if not target.is_dir():
        return "a file"
    names = {path.name for path in target.iterdir()}
    if names - MODEL_FILES:
        return sorted(names - MODEL_FILES)[0]
    try:
        ours = not names or json.loads((target / "model.json").read_bytes())["format"] == MODEL_FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    return "" if ours else "not a newfound model"


def _check_writable(target: Path) -> None:
    """Find out before an hour of work, not after it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent):
            pass
    except OSError as error:
        raise SettingsError(f"{target}: cannot be written ({error.strerror})") from None


def to_json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


@contextmanager
def folder_atomically(target: Path) -> Iterator[Path]:
    """A fresh folder to fill; it takes the target's place when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield temporary
        for path in (temporary, *temporary.rglob("*")):  # temporary files are private; a model is like any other file
            path.chmod(0o755 if path.is_dir() else 0o644)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent)) / "old"
            os.replace(target, old)
            os.replace(temporary, target)
            shutil.rmtree(old.parent, ignore_errors=True)
        else:
            os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
