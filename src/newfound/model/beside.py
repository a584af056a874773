"""What people and workflows put beside a model, each in a small JSON file: thresholds and the answers of an audit.

The files refer to intents by their ids. This module does not need torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from newfound.files import AUDIT_FILE, THRESHOLDS_FILE, to_json, write_atomically
from newfound.model.about import damaged, inside
from newfound.text import first_line

Answers = dict[tuple[str, str], bool]  # whether an utterance belongs to the intent of an id


def load_thresholds(folder: str | Path) -> dict[str, float]:
    """Return the least probability of each intent at which predictions keep the promise, by id; empty without a file.

    It is infinite if no probability keeps the promise.
    """
    content = _read(Path(folder), THRESHOLDS_FILE)
    intents = content.get("intents", {})
    if not isinstance(intents, dict) or not all(_is_threshold(value) for value in intents.values()):
        raise damaged(Path(folder) / THRESHOLDS_FILE, "its thresholds")
    return {id: math.inf if value is None else float(value) for id, value in intents.items()}


def thresholds_by_name(folder: str | Path, ids: Mapping[str, str]) -> dict[str, float]:
    """Return the thresholds of intents whose ids are given by name; an intent without one is never above it."""
    by_id = load_thresholds(folder)
    return {name: by_id.get(id, math.inf) for name, id in ids.items()} if by_id else {}


def save_thresholds(folder: str | Path, precision: float, thresholds: Mapping[str, float]) -> Path:
    """Write thresholds beside a model, and return the file."""
    path = Path(folder) / THRESHOLDS_FILE
    intents = {id: value if math.isfinite(value) else None for id, value in thresholds.items()}
    write_atomically(path, to_json({"version": 1, "precision": precision, "intents": intents}))
    return path


def load_answers(folder: str | Path) -> Answers:
    """Return the answers of an audit; none without a file."""
    entries = _read(Path(folder), AUDIT_FILE).get("answers", [])
    try:
        answers = {(str(e["text"]), str(e["intent"])): e["belongs"] for e in entries}
    except (TypeError, KeyError):
        answers = {("", ""): None}
    if not all(isinstance(belongs, bool) for belongs in answers.values()):
        raise damaged(Path(folder) / AUDIT_FILE, "its answers")
    return answers


def save_answers(folder: str | Path, answers: Answers) -> None:
    """Write the answers of an audit beside a model."""
    entries = [{"text": text, "intent": id, "belongs": belongs} for (text, id), belongs in answers.items()]
    write_atomically(Path(folder) / AUDIT_FILE, to_json({"version": 1, "answers": entries}))


def _read(folder: Path, name: str) -> dict[str, Any]:
    """Return the content of a file beside the model; empty if there is none."""
    if not (folder / name).exists():
        return {}
    try:
        content = json.loads(inside(folder, name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(folder / name, first_line(error)[:120]) from None
    if not isinstance(content, dict) or content.get("version") != 1:
        raise damaged(folder / name, "its version")
    return content


def _is_threshold(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)
