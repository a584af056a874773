"""Coarser and finer: a tree over intents that has, for every wanted number of them, one way to get there.

Both directions follow Ward's criterion. Merging two groups raises the summed squared distance of all utterances to the
mean of their group; the two groups whose merger raises it least are merged first. Splitting a group in two by k-means
lowers it; the group in which it falls most is split first. So one merger leads from every number to the next lower one.

Vectors x are [n, d] of unit length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from newfound.algorithms.clustering import lloyd

MIN_SIZE_TO_SPLIT = 8  # utterances
MIN_SIZE_OF_PART = 2
POWER_ITERATIONS = 10
MAX_ROUNDS = 30  # of Lloyd's algorithm
Rows = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Utterances that are one intent at some number of intents: all of some intents, or a part of a single one."""

    intents: tuple[int, ...]
    rows: Rows


@dataclass(frozen=True, slots=True)
class Split:
    group: Group
    parts: tuple[Group, Group]
    gain: float


class IntentTree:
    """A tree over intents; it can be cut into any number of groups between `fewest` and `most`.

    `intents` are the row numbers of each intent's utterances. Those whose number is in `whole` may be merged but not
    split. Each direction of the tree is computed when it is first used.
    """

    def __init__(
        self,
        x: Tensor,
        intents: Sequence[Sequence[int]],
        *,
        whole: Collection[int] = (),
        most: int = 1_000,
        most_parts: int = 20,
    ) -> None:
        self._x = x
        self._leaves = [Group((number,), tuple(rows)) for number, rows in enumerate(intents)]
        self._whole = whole
        self._limit, self._most_parts = most, most_parts

    @property
    def fewest(self) -> int:
        return min(1, len(self._leaves))

    @property
    def most(self) -> int:
        return len(self._leaves) + len(self.splits)

    def groups(self, n: int) -> list[Group]:
        """Return n groups: the intents as they are, with some merged or some split."""
        if not self.fewest <= n <= self.most:
            raise ValueError(f"a number from {self.fewest} to {self.most}, not {n}")
        groups = list(self._leaves)
        for merged in self._merges[: len(self._leaves) - n] if n < len(self._leaves) else ():
            groups = [group for group in groups if not set(group.intents) <= set(merged.intents)] + [merged]
        for split in self.splits[: n - len(self._leaves)] if n > len(self._leaves) else ():
            at = groups.index(split.group)
            groups[at : at + 1] = split.parts
        return groups

    @cached_property
    def _merges(self) -> list[Group]:
        """The merged groups, in the order in which they come about."""
        groups = list(self._leaves)
        if len(groups) < 2:
            return []
        mean = torch.stack([self._x[list(group.rows)].double().mean(0) for group in groups])  # [k, d]
        size = torch.tensor([len(group.rows) for group in groups], dtype=torch.float64)
        merged = []
        while len(groups) > 1:
            raised = _ward(torch.cdist(mean, mean) ** 2, size[:, None], size)  # [k, k]
            raised.fill_diagonal_(torch.inf)
            first, second = sorted(divmod(int(raised.argmin()), len(groups)))
            rows = groups[first].rows + groups[second].rows
            groups[first] = Group(tuple(sorted(groups[first].intents + groups[second].intents)), rows)
            del groups[second]
            mean[first] = (size[first] * mean[first] + size[second] * mean[second]) / (size[first] + size[second])
            size[first] += size[second]
            kept = torch.arange(len(size)) != second
            mean, size = mean[kept], size[kept]
            merged.append(groups[first])
        return merged

    @cached_property
    def splits(self) -> list[Split]:
        """The splits, in their order."""
        candidates = [self._split(leaf) for leaf in self._leaves if leaf.intents[0] not in self._whole]
        waiting = [split for split in candidates if split is not None]
        splits: list[Split] = []
        parts = Counter[int]()  # of each intent, less one
        while waiting and len(self._leaves) + len(splits) < self._limit:
            best = max(waiting, key=lambda split: split.gain)
            waiting.remove(best)
            (intent,) = best.group.intents
            if parts[intent] + 2 > self._most_parts:
                continue
            parts[intent] += 1
            splits.append(best)
            waiting += [split for part in best.parts if (split := self._split(part)) is not None]
        return splits

    def _split(self, group: Group) -> Split | None:
        label = two_halves(self._x[list(group.rows)])
        if label is None:
            return None
        halves = [tuple(row for row, half in zip(group.rows, label.tolist(), strict=True) if half == h) for h in (0, 1)]
        first, second = (self._x[list(rows)].double().mean(0) for rows in halves)
        gain = _ward(float(((first - second) ** 2).sum()), len(halves[0]), len(halves[1]))
        return Split(group, (Group(group.intents, halves[0]), Group(group.intents, halves[1])), gain)


def _ward(squared_distance: Any, n: Any, m: Any) -> Any:
    """How much the summed squared distance to the mean differs between two groups and one group of both."""
    return squared_distance * n * m / (n + m)


def two_halves(x: Tensor) -> Tensor | None:
    """Divide utterances [n, d] in two by k-means; None if they are too few, or if one half would be tiny.

    It starts from the two sides of the first principal axis, so that nothing is drawn at random and one run is enough.
    """
    if len(x) < MIN_SIZE_TO_SPLIT:
        return None
    x = x.double()

    def assign(centres: Tensor) -> tuple[Tensor, Tensor]:
        second, first = centres
        along = x @ (first - second)
        return (along > (first @ first - second @ second) / 2).long(), along

    def means(half: Tensor) -> Tensor:
        return torch.stack([x[half == 0].mean(0), x[half == 1].mean(0)])

    start = means(_side_of_axis(x - x.mean(0)).long())
    half, _, _ = lloyd(start, assign, lambda half, *_: means(half), rounds=MAX_ROUNDS)
    return None if int(half.bincount(minlength=2).min()) < MIN_SIZE_OF_PART else half


def _side_of_axis(centred: Tensor) -> Tensor:
    """Return on which side of the mean each row lies along the first principal axis, [n]."""
    axis = centred[int((centred**2).sum(1).argmax())]
    for _ in range(POWER_ITERATIONS):
        axis = centred.T @ (centred @ axis)
        axis = axis / axis.norm().clamp(min=1e-12)
    return centred @ axis > 0
