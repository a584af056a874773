"""The folders that jobs write beside the served model: where a job writes, and the names of results."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from newfound.errors import SettingsError
from newfound.files import HISTORY_FILE, is_held, remove_unfinished_files
from newfound.review.history import sign_history

WORKPLACE_PREFIX = ".newfound-job-"
NUMBER = r"-([1-9]\d{0,3})"  # added to the name of the first model; the group is the number


def make_workplace(model: Path) -> TemporaryDirectory[str]:
    """Make the folder in which a job writes everything, so that nothing of a job that ends early stays.

    Raises:
        SettingsError: Nothing can be written beside the model. That is said before a training, and not at its end.
    """
    try:
        return TemporaryDirectory(prefix=WORKPLACE_PREFIX, dir=model.resolve().parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise SettingsError(f"{next_name(model)}: cannot be written beside the model ({error.strerror})") from None


def next_name(model: Path) -> str:
    """Return the name of the next result: that of the first model with the next number, as in `my-bot-2`."""
    return f"{_base_name(model)}-{max([1, *_numbered(model)]) + 1}"


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
    """Remove what a server that was killed has left: folders of its jobs, and files that it had not finished."""
    remove_unfinished_files(model)
    for path in model.resolve().parent.glob(f"{WORKPLACE_PREFIX}*"):
        with suppress(OSError):
            if not is_held(path):
                shutil.rmtree(path, ignore_errors=True)


def _base_name(model: Path) -> str:
    """Return the name of the model that others were trained from, so that names do not grow."""
    model = model.resolve()
    return re.sub(NUMBER + "$", "", model.name) or model.name if (model / HISTORY_FILE).is_file() else model.name


def _numbered(model: Path) -> dict[int, Path]:
    """Return the folders that have the name of the first model and a number, by the number."""
    pattern = re.escape(_base_name(model)) + NUMBER
    return {
        int(match[1]): path for path in model.resolve().parent.glob("*") if (match := re.fullmatch(pattern, path.name))
    }
