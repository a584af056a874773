"""The groups that a model's intents are in: `groups.json` in the model folder. This module does not need torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from newfound.errors import ModelError
from newfound.files import GROUPS_FILE, to_json, write_atomically
from newfound.model.about import inside
from newfound.model.types import Intent

Groups = Mapping[str, tuple[str, ...]]
"""The names of the groups that each intent is in, coarsest first, by the intent's id."""


def read_groups(folder: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the groups of a model folder's intents; none if they were never put into groups.

    Raises:
        ModelError: The file is damaged.
    """
    if not (Path(folder) / GROUPS_FILE).exists():
        return {}
    path = inside(Path(folder), GROUPS_FILE)
    try:
        paths = json.loads(path.read_bytes())["paths"]
        if all(isinstance(names, list) and all(isinstance(n, str) and n for n in names) for names in paths.values()):
            return {id: tuple(names) for id, names in paths.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise ModelError(f"{path}: damaged; remove it, and group the intents again")


def write_groups(folder: str | Path, groups: Groups) -> None:
    """Write the groups of a model folder's intents."""
    paths = {id: list(names) for id, names in groups.items()}
    write_atomically(Path(folder) / GROUPS_FILE, to_json({"format": "newfound-groups", "version": 1, "paths": paths}))


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
