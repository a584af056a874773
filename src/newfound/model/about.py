"""Reads the description (`model.json`) and the training utterances of a model folder. This module does not need torch.

A folder is not trusted: every field is checked before it is used, and an error names the file that is not valid.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args

from newfound.errors import ConflictError, ModelError
from newfound.files import MODEL_FORMAT, file_signature, hold_folder
from newfound.model.hub import model_folder
from newfound.model.types import Calibration, Intent, Overlap, Trend, Utterance, Volume
from newfound.text import first_line, has_half_character

FORMAT_VERSION = 1
ABOUT_FILE, WEIGHTS_FILE, ENCODER_FOLDER = "model.json", "weights.safetensors", "encoder"
UTTERANCES_FILE = "utterances.jsonl"
MAX_ABOUT_BYTES = 64 * 2**20
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-6, 1e6
MAX_QUANTILES = 10_000
MAX_NAME_LENGTH = 1_000  # characters
MAX_TEXT_LENGTH = 1_000_000  # characters
MAX_COUNT = 2**53  # integers up to this one are exact as floats


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
        return cls(folder, signature, about, tuple(read_intents(folder, about)))


def describe(folder: str | Path) -> dict[str, Any]:
    """Return the checked content of `model.json`, without loading weights or encoder.

    Raises:
        ModelError: The folder is missing, damaged, or of another version.
    """
    folder, about = Path(folder), Description.read(Path(folder)).about
    try:
        about["encoder"]["name"], about["provenance"]["method"], about["provenance"]["created"]
    except (KeyError, TypeError):
        raise damaged(folder / ABOUT_FILE) from None
    return about


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


def read_intents(folder: Path, about: dict[str, Any]) -> list[Intent]:
    """Return the intents that `model.json` describes; the folder is for error messages."""
    entries = about.get("intents")
    intents = [_intent(entry) for entry in entries] if isinstance(entries, list) else []
    valid = [intent for intent in intents if intent is not None]
    different = min(len({intent.name for intent in valid}), len({intent.id for intent in valid}))
    if len(valid) < max(2, len(intents)) or different < len(valid):
        raise damaged(folder / ABOUT_FILE, "its intents")
    return valid


def read_calibration(folder: Path, about: dict[str, Any]) -> Calibration:
    """Return temperature, reliability and quantiles that `model.json` describes; the folder is for error messages."""
    path = folder / ABOUT_FILE
    try:
        typical = sorted(float(value) for value in about["typical"])
        calibration = Calibration(float(about["temperature"]), float(about["reliability"]), tuple(typical))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise damaged(path, f"{type(error).__name__}: {first_line(error)[:120]}") from None
    if not MIN_TEMPERATURE <= calibration.temperature <= MAX_TEMPERATURE:
        raise damaged(path, "its temperature")
    if not 0 < calibration.reliability <= 1:
        raise damaged(path, "its reliability")
    if not all(map(math.isfinite, typical)) or len(typical) > MAX_QUANTILES:
        raise damaged(path, "its quantiles")
    return calibration


def _intent(entry: Any) -> Intent | None:
    """Return the intent that a JSON value describes; None if the value is not valid."""
    if not _is_valid(entry, INTENT_CHECKS):
        return None
    values: dict[str, Any] = {name: entry[name] for name in INTENT_CHECKS}
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    values["overlaps"] = tuple(Overlap(o["name"], float(o["share"])) for o in entry["overlaps"])
    if volume := entry["volume"]:
        values["volume"] = Volume(volume["first_week"], tuple(volume["counts"]), volume["trend"])
    return Intent(**values)


def stream_utterances(folder: str | Path, intents: Sequence[Intent]) -> Iterator[Utterance]:
    """Yield the training utterances of a model folder with these intents; none if it was saved without them.

    Raises:
        ModelError: A line is damaged.
    """
    path = Path(folder) / UTTERANCES_FILE
    if not path.exists():
        return
    names = [intent.name for intent in intents]
    with inside(Path(folder), UTTERANCES_FILE).open("rb") as file:
        for number, line in enumerate(file, 1):
            utterance = _utterance(line, names)
            if utterance is None:
                raise ModelError(f"{path}, line {number}: damaged; restore it or fit the model again")
            yield utterance


def _utterance(line: bytes, names: Sequence[str]) -> Utterance | None:
    """Return the utterance that a line of JSON describes, its intent by its position; None if it is not valid."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not _is_valid(entry, UTTERANCE_CHECKS, optional="days") or set(entry) - set(UTTERANCE_CHECKS):
        return None
    entry["days"] = tuple((day, count) for day, count in entry.get("days", ()))
    if entry["intent"] is not None:
        if entry["intent"] >= len(names):
            return None
        entry["intent"] = names[entry["intent"]]
    return Utterance(**entry)


def _is_valid(entry: Any, checks: Mapping[str, Callable[[Any], bool]], *, optional: str = "") -> bool:
    return isinstance(entry, dict) and all(
        check(entry[name]) if name in entry else name == optional for name, check in checks.items()
    )


def _is_text(value: Any, max_length: int = MAX_TEXT_LENGTH) -> bool:
    return isinstance(value, str) and len(value) <= max_length and not has_half_character(value)


def _is_name(value: Any) -> bool:
    return _is_text(value, MAX_NAME_LENGTH)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) < MAX_COUNT  # a much larger integer cannot be converted to a float
    return type(value) is float and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and -1e-6 <= value <= 1 + 1e-6


def _is_overlap(value: Any) -> bool:
    return isinstance(value, dict) and _is_name(value.get("name")) and _is_share(value.get("share"))


def _is_day(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _are_days(value: Any) -> bool:
    pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    return pairs and all(_is_day(day) and _is_count(count) for day, count in value)


def _is_volume(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and _is_day(value.get("first_week"))
        and isinstance(value.get("counts"), list)
        and all(map(_is_count, value["counts"]))
        and value.get("trend") in (None, *get_args(Trend))
    )


INTENT_CHECKS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: _is_name(value) and value != "",
    "known": _is_flag,
    "size": _is_count,
    "exemplars": _are_texts,
    "keywords": _are_texts,
    "border": _are_texts,
    "accepted": _is_flag,
    "labelled": _is_count,
    "certainty": lambda value: value is None or _is_share(value),
    "overlaps": lambda value: isinstance(value, list) and all(map(_is_overlap, value)),
    "position": lambda value: (
        value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))
    ),
    "min_similarity": _is_number,
    "takes_wordless": _is_flag,
    "takes_small_talk": _is_flag,
    "id": _is_name,
    "volume": _is_volume,
}
UTTERANCE_CHECKS: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "intent": lambda value: value is None or _is_count(value),
    "labelled": _is_flag,
    "probability": _is_share,
    "count": lambda value: _is_count(value) and value >= 1,
    "source": _is_name,
    "days": _are_days,
}


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
