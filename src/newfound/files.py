"""Atomic writes: a reader sees the old file or folder or the new one, never a part of either."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, Literal

from newfound.errors import OutputError, SettingsError, TargetExists


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file: to a temporary file in the same folder, flushed to disk, which is then renamed."""
    with file_atomically(path) as file:
        file.write(content)


@contextmanager
def file_atomically(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces the target when the block ends without an error, flushed to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


MODEL_FORMAT = "newfound-model"
REVIEW_FILE, AUDIT_FILE, THRESHOLDS_FILE, GROUPS_FILE = "review.sqlite3", "audit.json", "thresholds.json", "groups.json"
CARD_FILE, HISTORY_FILE = "README.md", "history.json"
MODEL_FILES = frozenset(
    {"model.json", "weights.safetensors", "encoder", "utterances.jsonl", "report.html"}
    | {THRESHOLDS_FILE, GROUPS_FILE, CARD_FILE, HISTORY_FILE}
)


def check_replaceable(target: Path, overwrite: bool) -> None:
    """Check that a model may be written to a folder, where an earlier model may be replaced with `overwrite`.

    Raises:
        TargetExists: There is something else, a review, or a model that is not to be replaced.
        SettingsError: The name is not usable, or the folder cannot be written.
    """
    if target.name.startswith("-"):
        raise SettingsError(f"{target}: that looks like an option; give the name of a folder")
    if target.is_symlink():
        raise SettingsError(f"{target} is a link; give the folder itself")
    if (target / REVIEW_FILE).exists():
        raise TargetExists(target, "holds a person's review decisions", replaceable=False)
    if (target / AUDIT_FILE).exists():
        raise TargetExists(target, "holds a person's answers of an audit", replaceable=False)
    if target.exists():
        other_content = _other_content(target)
        if other_content:
            raise TargetExists(target, f"exists and holds something else ({other_content})", replaceable=False)
        if not overwrite:
            raise TargetExists(target)
    try:  # before a long training, and not only at its end
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent):
            pass
    except OSError as error:
        raise SettingsError(f"{target}: cannot be written ({error.strerror})") from None


def _other_content(target: Path) -> str:
    """Return what at the target is not part of a newfound model; empty if there is nothing else."""
    if not target.is_dir():
        return "a file"
    names = {path.name for path in target.iterdir()}
    if names - MODEL_FILES:
        return sorted(names - MODEL_FILES)[0]
    about = target / "model.json"
    try:  # a pipe would never end
        is_model = not names or (about.is_file() and json.loads(about.read_bytes())["format"] == MODEL_FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        is_model = False
    return "" if is_model else "not a newfound model"


def check_file_target(path: Path, overwrite: bool) -> None:
    """Check before something takes long that a file may be written."""
    if path.is_dir():
        raise TargetExists(path, "is a folder", replaceable=False)
    if path.exists() and not overwrite:
        raise TargetExists(path)
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not os.access(folder, os.W_OK):
        raise SettingsError(f"{path}: cannot be written there; choose another place")


def to_json(value: Any) -> bytes:
    """Return a value as indented JSON in UTF-8."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def csv_bytes(rows: Iterable[Iterable[Any]], quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> bytes:
    """Return rows as CSV in UTF-8, with the same line ends on every system."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue().encode()


@contextmanager
def folder_atomically(target: Path, check: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Yield an empty folder that replaces the target when the block ends without an error.

    If there is something at the target then, `check` says once more whether it may be replaced, while nobody can change
    it. If it may not, the new folder gets another name, and the error says which.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield temporary
        for path in (temporary, *temporary.rglob("*")):  # temporary folders can be read by their owner only
            path.chmod(0o755 if path.is_dir() else 0o644)
        if target.exists():
            with hold_folder(target):
                _replace(target, temporary, check)
        else:
            os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _replace(target: Path, temporary: Path, check: Callable[[], None]) -> None:
    try:
        check()
    except TargetExists as error:
        unused = next(path for n in count(2) if not (path := target.with_name(f"{target.name}-{n}")).exists())
        os.replace(temporary, unused)
        raise OutputError(f"{error.message} by now, so that the new folder is {unused}") from None
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent)) / "old"
    os.replace(target, old)
    os.replace(temporary, target)
    shutil.rmtree(old.parent, ignore_errors=True)


@contextmanager
def hold_folder(folder: Path, *, alone: bool = True) -> Iterator[None]:
    """Keep other processes and threads from replacing a folder, or from changing what is in it if it is held alone.

    The lock is on the folder itself, so that no file stays behind, and it ends with the process. Where there is no such
    lock, as on Windows, nobody is kept from anything.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    while True:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(handle), folder.stat()):  # it may have been replaced meanwhile
                yield
                return
        finally:
            os.close(handle)


def file_signature(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written anew; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def remove_unfinished_files(folder: Path) -> None:
    """Remove what a process that was killed while it wrote a file beside a model has left."""
    with suppress(OSError), hold_folder(folder):
        for name in (AUDIT_FILE, THRESHOLDS_FILE, GROUPS_FILE):  # those that are written while the folder is held
            for path in folder.glob(f".{name}-*"):
                path.unlink()
