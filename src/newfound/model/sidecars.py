"""What people and workflows put beside a model, each in a small JSON file: groups, thresholds, answers of an audit.

The files refer to intents by their ids. This module does not need torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from newfound.errors import ModelError
from newfound.files import AUDIT_FILE, GROUPS_FILE, THRESHOLDS_FILE, hold_folder, to_json, write_atomically
from newfound.model.about import hold_model, inside
from newfound.model.types import Intent
from newfound.text import first_line

Answers = dict[tuple[str, str], bool]  # whether an utterance belongs to the intent of an id
NewAnswers = Mapping[tuple[str, str], bool | None]  # None takes an answer back
Groups = Mapping[str, tuple[str, ...]]  # the names of the groups that the intent of an id is in, coarsest first


def read_groups(folder: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the groups of a model folder's intents; none if they were never put into groups."""
    paths = read_sidecar(Path(folder), GROUPS_FILE).get("paths", {})
    if not isinstance(paths, dict) or not all(isinstance(names, list) for names in paths.values()):
        raise damaged_sidecar(Path(folder) / GROUPS_FILE, "its paths")
    if not all(isinstance(name, str) and name for names in paths.values() for name in names):
        raise damaged_sidecar(Path(folder) / GROUPS_FILE, "its names")
    return {id: tuple(names) for id, names in paths.items()}


def write_groups(folder: str | Path, groups: Groups) -> None:
    """Write the groups of a model folder's intents."""
    with hold_folder(Path(folder)):
        write_atomically(Path(folder) / GROUPS_FILE, groups_as_json(groups))


def groups_as_json(groups: Groups) -> bytes:
    """Return the content of the file of groups."""
    return to_json({"version": 1, "paths": groups})


def path_of(id: str, groups: Groups) -> str | None:
    """Return the path of an intent, such as `travel/flights`; None if it is in no group.

    A part of an intent that was split later is in the groups of the whole.
    """
    while id not in groups and "." in id:
        id = id.rpartition(".")[0]
    return "/".join(groups[id]) if id in groups else None


def with_paths(intents: Iterable[Intent], groups: Groups) -> tuple[Intent, ...]:
    """Return the same intents with their paths."""
    return tuple(replace(intent, path=path_of(intent.id, groups)) for intent in intents)


def load_thresholds(folder: str | Path) -> dict[str, float]:
    """Return the least probability of each intent at which predictions keep the promise, by id; empty without a file.

    It is infinite if no probability keeps the promise.
    """
    content = read_sidecar(Path(folder), THRESHOLDS_FILE)
    intents = content.get("intents", {})
    if not isinstance(intents, dict) or not all(_is_threshold(value) for value in intents.values()):
        raise damaged_sidecar(Path(folder) / THRESHOLDS_FILE, "its thresholds")
    return {id: math.inf if value is None else float(value) for id, value in intents.items()}


def promised_precision(folder: str | Path) -> float | None:
    """Return the share of predictions that are to be right above the thresholds; None without thresholds."""
    precision = read_sidecar(Path(folder), THRESHOLDS_FILE).get("precision")
    return precision if isinstance(precision, float) and 0 < precision < 1 else None


def thresholds_by_name(folder: str | Path, ids: Mapping[str, str]) -> dict[str, float]:
    """Return the thresholds of intents whose ids are given by name; an intent without one is never above it."""
    by_id = load_thresholds(folder)
    return {name: by_id.get(id, math.inf) for name, id in ids.items()} if by_id else {}


def save_thresholds(folder: str | Path, precision: float, thresholds: Mapping[str, float]) -> Path:
    """Write thresholds beside a model, and return the file."""
    path = Path(folder) / THRESHOLDS_FILE
    intents = {id: value if math.isfinite(value) else None for id, value in thresholds.items()}
    with hold_folder(Path(folder)):
        write_atomically(path, to_json({"version": 1, "precision": precision, "intents": intents}))
    return path


def load_answers(folder: str | Path) -> Answers:
    """Return the answers of an audit; none without a file."""
    entries = read_sidecar(Path(folder), AUDIT_FILE).get("answers", [])
    try:
        answers = {(str(e["text"]), str(e["intent"])): e["belongs"] for e in entries}
    except (TypeError, KeyError):
        answers = {("", ""): None}
    if not all(isinstance(belongs, bool) for belongs in answers.values()):
        raise damaged_sidecar(Path(folder) / AUDIT_FILE, "its answers")
    return answers


def add_answers(folder: Path, answers: NewAnswers, signature: object) -> None:
    """Add answers of an audit of the model with this signature to those beside it; nobody else adds any meanwhile."""
    with hold_model(folder, signature):
        every = {**load_answers(folder), **answers}.items()
        entries = [{"text": text, "intent": id, "belongs": said} for (text, id), said in every if said is not None]
        write_atomically(folder / AUDIT_FILE, to_json({"version": 1, "answers": entries}))


def read_sidecar(folder: Path, name: str) -> dict[str, Any]:
    """Return the content of a file beside the model; empty if there is none."""
    if not (folder / name).exists():
        return {}
    try:
        content = json.loads(inside(folder, name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise damaged_sidecar(folder / name, first_line(error)[:120]) from None
    if not isinstance(content, dict) or content.get("version") != 1:
        raise damaged_sidecar(folder / name, "its version")
    return content


def _is_threshold(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)


def damaged_sidecar(path: Path, what: str) -> ModelError:
    """The model itself is whole: unlike its own files, this one can be made again."""
    return ModelError(f"{path}: damaged ({what}); remove it, and make it again")
