"""What became of the intents of one model in another, by the utterances that both have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Change = Literal["kept", "renamed", "split", "merged", "new", "gone"]
Pair = tuple[str | None, str | None]
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


def compare_rounds(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[Relation]:
    """Return how the intents of two models relate (`relate_intents`).

    Args:
        before: The intent of each utterance in the earlier model, by text; None for no intent.
        after: The same for the later model.
    """
    pairs = Counter((a, after[text]) for text, a in before.items() if text in after)
    return relate_intents(pairs, Counter(before.values()), Counter(after.values()))


def relate_intents(
    pairs: Mapping[Pair, int], sizes_before: Mapping[str | None, int], sizes_after: Mapping[str | None, int]
) -> list[Relation]:
    """Return how the intents of two models relate; None is no intent.

    An earlier intent leads to the later one that has most of those of its utterances that both models have, and a later
    intent comes from the earlier one that has most of its own. What is connected so belongs together. A few shared
    utterances of a large intent connect nothing.

    Args:
        pairs: How many utterances of both models are in each pair of an earlier and a later intent.
        sizes_before: How many utterances each intent of the earlier model has.
        sizes_after: The same of the later model.
    """
    shared_before, shared_after = Counter[str | None](), Counter[str | None]()
    for (a, b), n in pairs.items():
        shared_before[a] += n
        shared_after[b] += n
    group: dict[tuple[str, str], tuple[set[str], set[str]]] = {}  # of each intent, by model and name
    for name in sizes_before:
        if name is not None:
            group["before", name] = ({name}, set())
    for name in sizes_after:
        if name is not None:
            group["after", name] = (set(), {name})
    for (a, b), n in pairs.items():
        leads = n > max(MOST * shared_before[a], MIN_SHARE * sizes_before.get(a, 0))
        comes = n > max(MOST * shared_after[b], MIN_SHARE * sizes_after.get(b, 0))
        if a is not None and b is not None and (leads or comes):
            small, large = sorted((group["before", a], group["after", b]), key=lambda both: len(both[0]) + len(both[1]))
            if small is not large:  # the smaller one is taken in, so that no intent is written down often
                large[0].update(small[0])
                large[1].update(small[1])
                group |= {("before", name): large for name in small[0]} | {("after", name): large for name in small[1]}
    moved = Counter[int]()
    for (a, b), n in pairs.items():
        if a is not None and b is not None and group["before", a] is group["after", b]:
            moved[id(group["before", a])] += n
    return [_relation(*both, moved[number]) for number, both in {id(both): both for both in group.values()}.items()]


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
