"""What became of the intents of one model in another, by the utterances that both have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Change = Literal["kept", "renamed", "split", "merged", "new", "gone"]
Assigned = Mapping[str, str | None]
MOST = 0.5  # of an intent's utterances that both models have: where they are, the intent is
MIN_SHARE = 0.1  # of all its utterances that must be there as well


@dataclass(frozen=True, slots=True)
class Relation:
    """Intents of two models that belong together.

    Attributes:
        change: What happened.
        before: The intents of the earlier model.
        after: The intents of the later model.
        moved: How many of the earlier intents' utterances are in the later ones.
    """

    change: Change
    before: tuple[str, ...]
    after: tuple[str, ...]
    moved: int = 0


def compare_rounds(
    before: Assigned, after: Assigned, *, names: tuple[Iterable[str], Iterable[str]] = ((), ())
) -> list[Relation]:
    """Return how the intents of two models relate.

    An earlier intent leads to the later one that has most of those of its utterances that both models have, and a later
    intent comes from the earlier one that has most of its own. What is connected so belongs together. A few shared
    utterances of a large intent connect nothing.

    Args:
        before: The intent of each utterance in the earlier model, by text; None for no intent.
        after: The same for the later model.
        names: Intents of the earlier and the later model, for those that have no utterance.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = Counter((a, after[text]) for text, a in before.items() if text in after)
    shared_before, shared_after = Counter[str | None](), Counter[str | None]()
    for (a, b), n in pairs.items():
        shared_before[a] += n
        shared_after[b] += n
    sizes_before, sizes_after = Counter(before.values()), Counter(after.values())
    intents = [(0, name) for name in _distinct(names[0], before)] + [(1, name) for name in _distinct(names[1], after)]
    node = {intent: i for i, intent in enumerate(intents)}
    links = [
        (node[0, a], node[1, b])
        for (a, b), n in pairs.items()
        if a is not None
        and b is not None
        and (
            n > max(MOST * shared_before[a], MIN_SHARE * sizes_before[a])
            or n > max(MOST * shared_after[b], MIN_SHARE * sizes_after[b])
        )
    ]
    ends = np.array(links, dtype=np.int64).reshape(-1, 2).T
    part = connected_components(coo_array((np.ones(len(links)), ends), shape=2 * (len(intents),)), directed=False)[1]
    related: dict[int, tuple[set[str], set[str]]] = {}
    for (side, name), number in zip(intents, part.tolist(), strict=True):
        related.setdefault(number, (set(), set()))[side].add(name)
    moved = Counter[int]()
    for (a, b), n in pairs.items():
        if a is not None and b is not None and part[node[0, a]] == part[node[1, b]]:
            moved[int(part[node[0, a]])] += n
    return [_relation(*both, moved[number]) for number, both in related.items()]


def _distinct(names: Iterable[str], assigned: Assigned) -> list[str]:
    return [name for name in dict.fromkeys([*names, *assigned.values()]) if name is not None]


def _relation(earlier: set[str], later: set[str], moved: int) -> Relation:
    change: Change
    if not later:
        change = "gone"
    elif not earlier:
        change = "new"
    elif len(earlier) == len(later) == 1:
        change = "kept" if earlier == later else "renamed"
    else:
        change = "merged" if len(earlier) >= len(later) else "split"
    return Relation(change, tuple(sorted(earlier)), tuple(sorted(later)), moved)


def carried_ids(relations: Sequence[Relation], ids: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the ids of later intents that continue earlier ones.

    A merged intent has the id of the largest that went into it; the largest part of a split one keeps its id.

    Args:
        relations: How the intents relate.
        ids: The id of each earlier intent.
        sizes: Utterances of each intent of both models, by name.
    """
    carried: dict[str, str] = {}
    for relation in relations:
        known = [name for name in relation.before if name in ids]
        if known and relation.after:
            goal = max(relation.after, key=lambda name: (sizes.get(name, 0), name))
            carried.setdefault(goal, ids[max(known, key=lambda name: (sizes.get(name, 0), name))])
    return carried
