"""Put a model's intents into groups of related ones, at one level or several, without a new fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from newfound.algorithms.groups import MIN_MEMBERS, Ids, group_levels
from newfound.errors import SettingsError
from newfound.model.hub import model_folder
from newfound.model.sidecars import with_paths, write_groups
from newfound.model.types import Intent
from newfound.workflows.runtime import ModelSource, Runtime

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MIN_INTENTS = 6  # fewer are a list, not a tree


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Intents in groups.

    Attributes:
        levels: The number of groups at each level, coarsest first; there may be fewer than asked for.
        intents: The intents after the review with their paths, by path and size.
    """

    levels: tuple[int, ...]
    intents: tuple[Intent, ...]


def group(
    model: ModelSource, levels: Sequence[int] | None = None, *, encoder: str | Encoder | None = None
) -> GroupResult:
    """Put the intents of a model, known and new, into groups of related ones, and store them in its folder.

    Args:
        model: A model folder, in which the groups are stored, or a loaded model.
        levels: Numbers of groups, one for each level; None is one level with as many groups as intents in a group.
        encoder: Where the model's encoder lies, if it cannot be found.

    Raises:
        ModelError: The model was saved without its utterances.
        SettingsError: So many groups are not possible, or there are too few intents.
    """
    from newfound.model.head import unit

    reviewed = Runtime.of(None, encoder, "cpu").open_model(model)
    rows: dict[str, list[int]] = {}  # of each intent; one without utterances gets into no group
    for row, u in enumerate(reviewed.assigned):
        if u.intent is not None:
            rows.setdefault(u.intent, []).append(row)
    wanted = [round(len(rows) ** 0.5)] if levels is None else list(levels)
    max_groups = len(rows) // MIN_MEMBERS
    if len(rows) < MIN_INTENTS:
        raise SettingsError(f"the model has {len(rows)} intents; at least {MIN_INTENTS} are needed for groups")
    if not wanted or not all(type(level) is int and 2 <= level <= max_groups for level in wanted):
        raise SettingsError(f"levels {wanted}: with {len(rows)} intents, give whole numbers from 2 to {max_groups}")
    vectors = unit(reviewed.model.utterance_vectors.float().numpy())
    nested = group_levels(np.stack([vectors[own].mean(0) for own in rows.values()]), wanted)
    texts = [[reviewed.assigned[row].text for row in own] for own in rows.values()]
    paths = zip(*_name_levels(nested, texts), strict=True)
    groups = {reviewed.ids[name]: path for name, path in zip(rows, paths, strict=True)}
    if isinstance(model, str | Path):
        write_groups(model_folder(model), groups)
    intents = sorted(with_paths(reviewed.classifier.intents, groups), key=lambda i: (i.path is None, i.path, -i.size))
    return GroupResult(tuple(len(set(ids.tolist())) for ids in nested), tuple(intents))


def _name_levels(nested: Sequence[Ids], texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the name of each intent's group at each level, [levels][intents]; every group has a name of its own.

    A group that a finer level does not divide keeps its name there.
    """
    from newfound.intents.naming import MAX_TEXTS_READ, name_intents

    names: dict[tuple[int, ...], str] = {}  # by members
    levels = []
    for ids in nested:
        members = [tuple(np.flatnonzero(ids == one).tolist()) for one in range(max(ids) + 1)]
        fresh = [own for own in members if own not in names]
        # Of each intent as many texts, so that a large intent does not name the group alone.
        said = [[text for i in own for text in texts[i][: MAX_TEXTS_READ // len(own) + 1]] for own in fresh]
        names |= dict(zip(fresh, name_intents(said, taken=set(names.values())), strict=True))
        levels.append([names[members[one]] for one in ids])
    return levels
