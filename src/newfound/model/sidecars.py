"""What people and workflows put beside a model, each in a small JSON file: groups, thresholds, answers of an audit.

The files refer to intents by their ids. This module does not need torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from newfound.errors import ModelError
from newfound.files import AUDIT_FILE, GROUPS_FILE, THRESHOLDS_FILE, hold_folder, to_json, write_atomically
from newfound.model.about import hold_model, inside
from newfound.model.types import Intent
from newfound.untrusted import parse

Answers = dict[tuple[str, str], bool]  # whether an utterance belongs to the intent of an id
NewAnswers = Mapping[tuple[str, str], bool | None]  # None takes an answer back
Groups = Mapping[str, tuple[str, ...]]  # the names of the groups that the intent of an id is in, coarsest first


def read_groups(folder: str | Path) -> Groups:
    """Return the groups of a model folder's intents; none if they were never put into groups."""
    return read_sidecar(folder, GROUPS_FILE, "paths", dict[str, tuple[str, ...]]) or {}


def write_groups(folder: Path, groups: Groups) -> None:
    with hold_folder(folder):
        write_atomically(folder / GROUPS_FILE, groups_as_json(groups))


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
    return tuple(replace(intent, path=path_of(intent.id, groups)) for intent in intents)


def thresholds_by_name(folder: str | Path, ids: Mapping[str, str]) -> dict[str, float]:
    """Return the least probability of each intent at which predictions keep the promise; empty without thresholds.

    It is infinite for an intent of which no probability keeps it. `ids` has the intents' ids by name.
    """
    by_id = read_sidecar(folder, THRESHOLDS_FILE, "intents", dict[str, float | None]) or {}
    kept = {id: value for id, value in by_id.items() if value is not None}
    return {name: kept.get(id, math.inf) for name, id in ids.items()} if by_id else {}


def promised_precision(folder: str | Path) -> float | None:
    """Return the share of predictions that are to be right above the thresholds; None without thresholds."""
    precision = read_sidecar(folder, THRESHOLDS_FILE, "precision", Any)
    return precision if isinstance(precision, float) and 0 < precision < 1 else None


def save_thresholds(folder: Path, precision: float, thresholds: Mapping[str, float | None]) -> None:
    """Write the thresholds of intents by their ids; None for one that no probability is enough for."""
    with hold_folder(folder):
        content = {"version": 1, "precision": precision, "intents": thresholds}
        write_atomically(folder / THRESHOLDS_FILE, to_json(content))


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    intent: str
    belongs: bool


def load_answers(folder: str | Path) -> Answers:
    """Return the answers of an audit; none without a file."""
    entries = read_sidecar(folder, AUDIT_FILE, "answers", tuple[_Answer, ...]) or ()
    return {(entry.text, entry.intent): entry.belongs for entry in entries}


def add_answers(folder: Path, answers: NewAnswers, signature: object) -> None:
    """Add answers of an audit of the model with this signature to those beside it; nobody else adds any meanwhile."""
    with hold_model(folder, signature):
        every = {**load_answers(folder), **answers}.items()
        entries = [{"text": text, "intent": id, "belongs": said} for (text, id), said in every if said is not None]
        write_atomically(folder / AUDIT_FILE, to_json({"version": 1, "answers": entries}))


def read_sidecar(folder: str | Path, name: str, key: str, kind: Any) -> Any:
    """Return what a file beside the model says, a value of a type that `parse` knows; None if it says nothing.

    Raises:
        ModelError: The file is damaged. The model itself is whole, and unlike its own files this one can be made again.
    """
    path = Path(folder) / name
    if not path.exists():
        return None
    problem = f"its {key}"
    try:
        content = json.loads(inside(path.parent, name).read_bytes())
        if isinstance(content, dict) and content.get("version") == 1:
            return None if content.get(key) is None else parse(kind, content[key])
        problem = "its version"
    except (OSError, ValueError, RecursionError) as error:
        problem = str(error)[:120] or problem
    raise ModelError(f"{path}: damaged ({problem}); remove it, and make it again")
