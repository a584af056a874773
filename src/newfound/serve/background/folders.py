"""The folders of jobs beside the served model: where a job writes, the names of results, how many are kept."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path

from newfound.errors import ModelError, SettingsError
from newfound.files import check_replaceable, is_held, remove_unfinished_files
from newfound.review.history import has_history, read_history, write_history

WORKPLACE_PREFIX = ".newfound-job-"
NUMBER = r"-([1-9]\d{0,3})"  # added to the name of the first model; the group is the number


def make_workplace(model: Path) -> Path:
    """Make the folder in which a job writes everything, so that nothing of a job that ends early stays.

    Raises:
        SettingsError: Nothing can be written beside the model. That is said before a training, and not at its end.
    """
    try:
        return Path(tempfile.mkdtemp(prefix=WORKPLACE_PREFIX, dir=model.resolve().parent))
    except OSError as error:
        raise SettingsError(f"{next_name(model)}: cannot be written beside the model ({error.strerror})") from None


def next_name(model: Path) -> str:
    """Return the name of the next result: that of the first model with the next number, as in `my-bot-2`."""
    return f"{_base_name(model)}-{max([1, *_numbered(model)]) + 1}"


def put_beside(written: Path, model: Path, author: str) -> Path:
    """Move what a job has written beside the model, signed by the author of the job, and return its folder."""
    while True:
        result = model.resolve().with_name(next_name(model))
        write_history(written, read_history(written).signed(result.name, author))
        try:
            written.rename(result)
        except OSError:
            if not result.exists():  # otherwise somebody took the name meanwhile
                raise
        else:
            return result


def remove_old_results(model: Path, max_results: int, *, in_use: Collection[Path]) -> None:
    """Remove the oldest results of jobs.

    Only what a server has written is removed, and only under the name that it was given. A result with review
    decisions stays, and so does one that is in use or that holds anything else than a model.
    """
    results = [path for _, path in sorted(_numbered(model).items()) if _is_result(path)]
    kept = {path.resolve() for path in in_use}
    for path in results[: max(0, len(results) - max_results)]:
        if path.resolve() not in kept and _is_only_a_model(path):
            remove(path)


def remove_abandoned(model: Path) -> None:
    """Remove what a server that was killed has left: folders of its jobs, and files that it had not finished."""
    remove_unfinished_files(model)
    for path in _entries(model.resolve().parent):
        with contextlib.suppress(OSError):
            if path.name.startswith(WORKPLACE_PREFIX) and not is_held(path):
                remove(path)


def remove(folder: Path) -> None:
    """Remove a folder, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)


def _base_name(model: Path) -> str:
    """Return the name of the model that others were trained from, so that names do not grow."""
    model = model.resolve()
    return re.sub(NUMBER + "$", "", model.name) or model.name if has_history(model) else model.name


def _numbered(model: Path) -> dict[int, Path]:
    """Return the folders that have the name of the first model and a number, by the number."""
    base, entries = re.escape(_base_name(model)), _entries(model.resolve().parent)
    return {int(match[1]): path for path in entries if (match := re.fullmatch(base + NUMBER, path.name))}


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_result(path: Path) -> bool:
    try:
        return read_history(path).result == path.name
    except ModelError:
        return False


def _is_only_a_model(path: Path) -> bool:
    try:
        check_replaceable(path, True)
    except SettingsError:
        return False
    return True
