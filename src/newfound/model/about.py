"""Reads the description (`model.json`) and the training utterances of a model folder. This module does not need torch.

A folder is not trusted: every field is checked before it is used, and an error names the file that is not valid.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

from newfound.errors import ConflictError, ModelError
from newfound.files import MODEL_FORMAT, file_signature, hold_folder
from newfound.model.hub import model_folder
from newfound.model.types import Calibration, Intent, Utterance
from newfound.text import first_line
from newfound.untrusted import parse

FORMAT_VERSION = 1
ABOUT_FILE, WEIGHTS_FILE, ENCODER_FOLDER = "model.json", "weights.safetensors", "encoder"
UTTERANCES_FILE = "utterances.jsonl"
MAX_ABOUT_BYTES = 64 * 2**20
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-6, 1e6
MAX_QUANTILES = 10_000
MAX_NAME_LENGTH = 1_000  # characters


@dataclass(frozen=True, slots=True)
class Description:
    """What `model.json` in a folder says of its model.

    Attributes:
        signature: What changes when another model is put into the folder (`model_signature`).
        about: The content of the file.
        intents: One for each column of the classifier.
    """

    folder: Path
    signature: object
    about: dict[str, Any]
    intents: tuple[Intent, ...]

    @classmethod
    def read(cls, folder: str | Path | Description) -> Description:
        """Return the description of a model folder, or of an address on the hub; one that was read is returned.

        Raises:
            ModelError: The folder is missing, or its description is damaged or of another version.
        """
        if isinstance(folder, Description):
            return folder
        folder = model_folder(folder)
        signature = model_signature(folder)  # before it is read: what is written meanwhile is another model
        about = read_about(folder)
        try:
            parse(str, about["encoder"]["name"])
            about["provenance"]["method"], about["provenance"]["created"]
        except (KeyError, TypeError, ValueError):
            raise damaged(folder / ABOUT_FILE, "its encoder or provenance") from None
        try:
            intents = tuple(_intent(entry) for entry in parse(tuple[Any, ...], about.get("intents")))
        except ValueError:
            intents = ()
        if len(intents) < 2 or min(len({i.name for i in intents}), len({i.id for i in intents})) < len(intents):
            raise damaged(folder / ABOUT_FILE, "its intents")
        return cls(folder, signature, about, intents)


def model_signature(folder: Path) -> object:
    """Return what changes when another model is put into a folder."""
    return file_signature(folder / ABOUT_FILE)


@contextmanager
def hold_model(folder: Path, signature: object, *, alone: bool = True) -> Iterator[None]:
    """Hold a model folder to record in it what was said about the model with this signature (see `hold_folder`).

    Raises:
        ConflictError: Another model was put into the folder.
    """
    with hold_folder(folder, alone=alone):
        if model_signature(folder) != signature:
            raise ConflictError(f"another model was put into {folder.name}, nothing was recorded; look at it first")
        yield


def read_about(folder: Path) -> dict[str, Any]:
    """Return the content of `model.json`; only its format and version are checked."""
    if folder.is_file():
        raise ModelError(f"{folder}: is a file, not a model folder")
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder", "discover")
    path = inside(folder, ABOUT_FILE)
    try:
        if path.stat().st_size > MAX_ABOUT_BYTES:
            raise ModelError(f"{path}: larger than any model description; this is not a newfound model")
        about = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, first_line(error)[:120]) from None
    if not isinstance(about, dict) or about.get("format") != MODEL_FORMAT:
        raise ModelError(f"{path}: not a description of a newfound model")
    if about.get("version") != FORMAT_VERSION:
        raise ModelError(
            f"{path}: of format version {repr(about.get('version'))[:20]}, this newfound reads {FORMAT_VERSION}; "
            "update newfound"
        )
    return about


def _intent(entry: Any) -> Intent:
    intent = parse(Intent, entry)
    shares = [intent.certainty or 0.0, *(overlap.share for overlap in intent.overlaps)]
    if (
        not 0 < len(intent.name) <= MAX_NAME_LENGTH
        or len(intent.id) > MAX_NAME_LENGTH
        or not all(map(_is_share, shares))
    ):
        raise ValueError
    if intent.volume is not None:
        date.fromisoformat(intent.volume.first_week)
    return intent


def read_calibration(folder: Path, about: dict[str, Any]) -> Calibration:
    """Return temperature, reliability and quantiles that `model.json` describes; the folder is for error messages."""
    try:
        calibration = parse(Calibration, {field.name: about.get(field.name) for field in fields(Calibration)})
    except ValueError:
        calibration = Calibration(temperature=0)
    is_possible = MIN_TEMPERATURE <= calibration.temperature <= MAX_TEMPERATURE and 0 < calibration.reliability <= 1
    if not is_possible or len(calibration.typical) > MAX_QUANTILES:
        raise damaged(folder / ABOUT_FILE, "its temperature, reliability or quantiles")
    return replace(calibration, typical=tuple(sorted(calibration.typical)))


def stream_utterances(folder: str | Path, intents: Sequence[Intent]) -> Iterator[Utterance]:
    """Yield the training utterances of a model folder with these intents; none if it was saved without them.

    Raises:
        ModelError: A line is damaged.
    """
    path = Path(folder) / UTTERANCES_FILE
    if not path.exists():
        return
    names = dict(enumerate(intent.name for intent in intents))
    with inside(Path(folder), UTTERANCES_FILE).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield _utterance(line, names)
            except (ValueError, KeyError, TypeError, RecursionError):
                raise ModelError(f"{path}, line {number}: damaged; restore it or fit the model again") from None


def _utterance(line: bytes, names: Mapping[int, str]) -> Utterance:
    """Return the utterance that a line of JSON describes, which has the position of its intent."""
    entry = json.loads(line)
    column = entry["intent"]
    if column is not None:
        entry["intent"] = names[parse(int, column)]
    utterance = parse(Utterance, entry)
    if utterance.count < 1 or not _is_share(utterance.probability):
        raise ValueError
    for day, _ in utterance.days:
        date.fromisoformat(day)
    return utterance


def _is_share(value: float) -> bool:
    return -1e-6 <= value <= 1 + 1e-6


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder in a model folder. It must exist, and must not be a link to another place.

    Raises:
        ModelError: It is missing, leads elsewhere, or is a pipe or the like, which may never end.
    """
    path = folder / name
    if not path.exists():
        raise ModelError(f"{path}: missing; the model folder is damaged, restore it or fit the model again")
    if path.resolve().parent != folder.resolve():
        raise ModelError(f"{path}: leads out of the model folder; refused")
    check_regular(*(path.rglob("*") if path.is_dir() else [path]))
    return path


def check_regular(*paths: Path) -> None:
    """Refuse what is neither a file nor a folder, such as a named pipe; reading it may never end."""
    for path in paths:
        try:
            mode = path.stat().st_mode  # asked once: a database's side files come and go
        except OSError:
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ModelError(f"{path}: is not a regular file; refused")


def damaged(path: Path, what: str = "") -> ModelError:
    """Return the error for a file that cannot be used; `what` says which part is not valid."""
    return ModelError(f"{path}: damaged{f' ({what})' if what else ''}; restore it or fit the model again")


@contextmanager
def loading(folder: str | Path) -> Iterator[None]:
    """Turn what the file system says while a model and its encoder are loaded into one error."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"{error.filename or folder}: cannot be read ({error.strerror or first_line(error)[:120]})"
        ) from error
