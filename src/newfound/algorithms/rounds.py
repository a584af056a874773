"""What became of the intents of one model in another, by the utterances that both have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

Change = Literal["kept", "renamed", "split", "merged", "new", "gone"]
Assigned = Mapping[str, str | None]
Intent = tuple[int, str | None]  # of the earlier (0) or the later model (1)
MOST = 0.5  # of an intent's utterances that both models have: where they are, the intent is
MIN_SHARE = 0.1  # of all its utterances that must be there as well


class Relation(NamedTuple):
    """Intents of two models that belong together; `moved` of the earlier ones' utterances are in the later ones."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    moved: int

    @property
    def change(self) -> Change:
        if not self.after:
            return "gone"
        if not self.before:
            return "new"
        if len(self.before) == len(self.after) == 1:
            return "kept" if self.before == self.after else "renamed"
        return "merged" if len(self.before) >= len(self.after) else "split"


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
    from scipy.cluster.hierarchy import DisjointSet

    pairs = Counter((a, after[text]) for text, a in before.items() if text in after)
    intents: list[Intent] = []
    size, shared = Counter[Intent](), Counter[Intent]()
    for side, assigned in enumerate((before, after)):
        intents += dict.fromkeys((side, name) for name in (*names[side], *assigned.values()) if name is not None)
        size.update((side, name) for name in assigned.values())
        for pair, n in pairs.items():
            shared[side, pair[side]] += n
    moves = [((0, a), (1, b), n) for (a, b), n in pairs.items() if a is not None and b is not None]
    parts, moved = DisjointSet(intents), Counter[Intent]()
    for a, b, n in moves:
        if any(n > max(MOST * shared[intent], MIN_SHARE * size[intent]) for intent in (a, b)):
            parts.merge(a, b)
    for a, b, n in moves:
        if parts.connected(a, b):
            moved[parts[a]] += n
    related: dict[Intent, tuple[list[str], list[str]]] = {}
    for side, name in intents:
        related.setdefault(parts[side, name], ([], []))[side].append(str(name))
    return [Relation(tuple(sorted(a)), tuple(sorted(b)), moved[part]) for part, (a, b) in related.items()]


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
