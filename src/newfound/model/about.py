"""Reads the description (`model.json`) and the training utterances of a model folder. This module does not need torch.

A folder is not trusted: every field is checked before it is used, and an error names the file that is not valid.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from newfound.errors import ModelError, ModelMissing
from newfound.files import MODEL_FORMAT
from newfound.model.types import Intent, Overlap, Utterance
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


def describe(folder: str | Path) -> dict[str, Any]:
    """Return the checked content of `model.json`, without loading weights or encoder.

    Args:
        folder: The model folder.

    Raises:
        ModelError: The folder is missing, damaged, or of another version.
    """
    folder = Path(folder)
    about = read_about(folder)
    read_intents(folder, about)
    try:
        about["encoder"]["name"], about["provenance"]["method"], about["provenance"]["created"]
    except (KeyError, TypeError):
        raise damaged(folder / ABOUT_FILE) from None
    return about


def read_about(folder: Path) -> dict[str, Any]:
    """Return the content of `model.json`; only its format and version are checked."""
    if folder.is_file():
        raise ModelError(f"{folder}: is a file, not a model folder")
    if not folder.is_dir():
        raise ModelMissing(folder)
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
    """Return the intents that `model.json` describes.

    Args:
        folder: The model folder, for error messages.
        about: The content of `model.json`.
    """
    entries = about.get("intents")
    if not isinstance(entries, list) or len(entries) < 2:
        raise damaged(folder / ABOUT_FILE, "its intents")
    intents = [_intent(entry) for entry in entries]
    if None in intents or len({intent.name for intent in intents if intent}) < len(intents):
        raise damaged(folder / ABOUT_FILE, "its intents")
    return [intent for intent in intents if intent is not None]


def _intent(entry: Any) -> Intent | None:
    """Return the intent that a JSON value describes; None if the value is not valid."""
    if not isinstance(entry, dict):
        return None
    lists = {key: entry.get(key, []) for key in ("exemplars", "keywords", "border")}
    is_valid = (
        _is_text(entry.get("name"), MAX_NAME_LENGTH)
        and entry["name"] != ""
        and isinstance(entry.get("known"), bool)
        and _is_count(entry.get("size"))
        and "exemplars" in entry
        and all(isinstance(texts, list) and all(map(_is_text, texts)) for texts in lists.values())
        and isinstance(entry.get("accepted", False), bool)
        and _is_count(entry.get("labelled", 0))
        and (entry.get("certainty") is None or _is_share(entry["certainty"]))
        and isinstance(entry.get("overlaps", []), list)
        and all(map(_is_overlap, entry.get("overlaps", [])))
        and (entry.get("position") is None or _is_position(entry["position"]))
        and _is_number(entry.get("min_similarity", -1.0))
        and isinstance(entry.get("takes_wordless", True), bool)
    )
    if not is_valid:
        return None
    return Intent(
        name=entry["name"],
        known=entry["known"],
        size=entry["size"],
        exemplars=tuple(lists["exemplars"]),
        keywords=tuple(lists["keywords"]),
        border=tuple(lists["border"]),
        accepted=entry.get("accepted", False),
        labelled=entry.get("labelled", 0),
        certainty=entry.get("certainty"),
        overlaps=tuple(Overlap(o["name"], float(o["share"])) for o in entry.get("overlaps", [])),
        position=None if entry.get("position") is None else (float(entry["position"][0]), float(entry["position"][1])),
        min_similarity=float(entry.get("min_similarity", -1.0)),
        takes_wordless=entry.get("takes_wordless", True),
    )


def read_utterances(folder: str | Path, n_intents: int) -> tuple[Utterance, ...]:
    """Return the training utterances of a model folder; an empty tuple if it was saved without them.

    Args:
        folder: The model folder.
        n_intents: The number of the model's intents.

    Raises:
        ModelError: A line is damaged.
    """
    path = Path(folder) / UTTERANCES_FILE
    if not path.exists():
        return ()
    utterances = []
    with inside(Path(folder), UTTERANCES_FILE).open("rb") as file:
        for number, line in enumerate(file, 1):
            utterance = _utterance(line, n_intents)
            if utterance is None:
                raise ModelError(f"{path}, line {number}: damaged; restore it or fit the model again")
            utterances.append(utterance)
    return tuple(utterances)


def _utterance(line: bytes, n_intents: int) -> Utterance | None:
    """Return the utterance that a line of JSON describes; None if the line is not valid."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or set(entry) - {"text", "intent", "labelled", "probability", "count", "source"}:
        return None
    is_valid = (
        _is_text(entry.get("text"))
        and "intent" in entry
        and (entry["intent"] is None or _is_column(entry["intent"], n_intents))
        and isinstance(entry.get("labelled"), bool)
        and _is_share(entry.get("probability"))
        and _is_count(entry.get("count", 1))
        and entry.get("count", 1) >= 1
        and _is_text(entry.get("source", ""), MAX_NAME_LENGTH)
    )
    return Utterance(**entry) if is_valid else None


def _is_text(value: Any, max_length: int = MAX_TEXT_LENGTH) -> bool:
    return isinstance(value, str) and len(value) <= max_length and not has_half_character(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


def _is_column(value: Any, n_intents: int) -> bool:
    return type(value) is int and 0 <= value < n_intents


def _is_share(value: Any) -> bool:
    return _is_number(value) and -1e-6 <= value <= 1 + 1e-6


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return abs(value) < MAX_COUNT  # a much larger integer cannot be converted to a float
    return type(value) is float and math.isfinite(value)


def _is_overlap(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("name"), MAX_NAME_LENGTH) and _is_share(value.get("share"))


def _is_position(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder in a model folder. It must exist, and must not be a link to another place.

    Args:
        folder: The model folder.
        name: The name of the file or folder. A folder is looked through.

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
    """Turn what the file system says while a model and its encoder are loaded into one error.

    Args:
        folder: The model folder.
    """
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"{error.filename or folder}: cannot be read ({error.strerror or first_line(error)[:120]})"
        ) from error
