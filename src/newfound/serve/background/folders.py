"""The folders that jobs write beside the served model: their names, what a job leaves behind, how many are kept."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from newfound.errors import SettingsError
from newfound.files import check_replaceable

JOB_SUFFIX = r"-(?:discover|update|refit)-(\d{8}-\d{6})"  # added to the name of the model; the group is the time
SECONDS_OF_A_DAY = 86_400


def new_folder(model: Path, kind: str) -> Path:
    """Return the folder for the result of a job. Its name does not grow when its result is trained further."""
    model = model.resolve()
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return model.with_name(f"{_base_name(model)}-{kind}-{stamp}")


def _base_name(model: Path) -> str:
    return re.sub(f"(?:{JOB_SUFFIX})+$", "", model.name) or model.name


def remove_leftovers(out: Path, status: str) -> None:
    """Remove what a job that has ended left behind.

    What a job that failed finds at `out` is not its own: a result is written as a whole, as the last step.
    """
    names = {f"{out.name}.run"}
    if status != "done":
        names.add(f"{out.name}.conflicts.csv")
    if status == "cancelled":
        names.add(out.name)
    for path in _entries(out.parent):
        if path.name in names or path.name.startswith(f".{out.name}-"):
            _remove(path)


def remove_old_results(model: Path, most: int, *, in_use: Collection[Path]) -> None:
    """Remove the oldest results of jobs, and what jobs of a server that was killed left more than a day ago.

    A result with review decisions stays, and so does one that is in use or that holds anything else than a model.
    """
    model = model.resolve()
    base = re.escape(_base_name(model))
    result, leftover = re.compile(base + JOB_SUFFIX), re.compile(rf"{base}{JOB_SUFFIX}\.run|\.{base}{JOB_SUFFIX}-.*")
    entries = _entries(model.parent)
    results = sorted((m[1], path) for path in entries if (m := result.fullmatch(path.name)) and path.is_dir())
    kept = {path.resolve() for path in in_use}
    for _, path in results[: max(0, len(results) - most)]:
        if path.resolve() not in kept and _is_only_a_model(path):
            _remove(path)
            _remove(path.with_name(f"{path.name}.conflicts.csv"))
    for path in entries:
        if leftover.fullmatch(path.name) and _is_stale(path):
            _remove(path)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_only_a_model(path: Path) -> bool:
    try:
        check_replaceable(path, True)
    except SettingsError:
        return False
    return True


def _is_stale(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > SECONDS_OF_A_DAY
    except OSError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
