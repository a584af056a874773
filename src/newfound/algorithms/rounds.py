"""What became of the intents of one model in another, by the utterances that both have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Change = Literal["kept", "renamed", "split", "merged", "new", "gone"]
MOST = 0.5  # of an intent's utterances: where they are, the intent is


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


def compare_rounds(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[Relation]:
    """Return how the intents of two models relate.

    An earlier intent leads to the later one that has most of its utterances, and a later intent comes from the earlier
    one that has most of its own. What is connected so belongs together.

    Args:
        before: The intent of each utterance in the earlier model, by text; None for no intent.
        after: The same for the later model.
    """
    shared: Counter[tuple[str, str]] = Counter()
    for text, a in before.items():
        b = after.get(text)
        if a is not None and b is not None:
            shared[a, b] += 1
    sizes_before, sizes_after = _sizes(before), _sizes(after)
    groups = [({a}, set[str]()) for a in sizes_before] + [(set[str](), {b}) for b in sizes_after]
    for (a, b), n in shared.items():
        if n > MOST * sizes_before[a] or n > MOST * sizes_after[b]:
            joined = [group for group in groups if a in group[0] or b in group[1]]
            groups = [group for group in groups if group not in joined]
            groups.append((set().union(*(g[0] for g in joined)), set().union(*(g[1] for g in joined))))
    return [_relation(earlier, later, shared) for earlier, later in groups]


def _sizes(intents: Mapping[str, str | None]) -> Counter[str]:
    return Counter(name for name in intents.values() if name is not None)


def _relation(earlier: set[str], later: set[str], shared: Mapping[tuple[str, str], int]) -> Relation:
    change: Change
    if not later:
        change = "gone"
    elif not earlier:
        change = "new"
    elif len(earlier) == len(later) == 1:
        change = "kept" if earlier == later else "renamed"
    else:
        change = "merged" if len(earlier) >= len(later) else "split"
    moved = sum(shared.get((a, b), 0) for a in earlier for b in later)
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
