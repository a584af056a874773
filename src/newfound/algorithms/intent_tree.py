"""Coarser and finer: a tree over intents that has, for every wanted number of them, one way to get there.

Both directions follow Ward's criterion. Merging two groups raises the summed squared distance of all utterances to the
mean of their group; the two groups whose merger raises it least are merged first. Splitting a group in two by k-means
lowers it; the group in which it falls most is split first. So one merger leads from every number to the next lower one.

Vectors x are [n, d] of unit length. Those of an intent that is to be split differ from each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from newfound.algorithms.clustering import lloyd

MIN_SIZE_OF_PART = 4  # utterances
MIN_SIZE_TO_SPLIT = 2 * MIN_SIZE_OF_PART
MIN_SIZE_OF_HALF = 2  # of a single intent that a person is asked about
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
    split, and no intent is split into more than `most_parts`. Mergers are computed when they are first used, and splits
    as far as they are asked for.
    """

    def __init__(
        self,
        x: Tensor,
        intents: Sequence[Sequence[int]],
        *,
        whole: Collection[int] = (),
        most: int = 1_000,
        most_parts: int = 200,
    ) -> None:
        self._x = x
        self._leaves = [Group((number,), tuple(rows)) for number, rows in enumerate(intents)]
        self._whole = whole
        self._limit, self._most_parts = most, most_parts
        self._splits: list[Split] = []
        self._parts = Counter[int]()  # of each intent, less one

    @property
    def fewest(self) -> int:
        return min(1, len(self._leaves))

    @property
    def most(self) -> int:
        """The number of groups that is always possible, which needs no split to be computed.

        A group of `MIN_SIZE_TO_SPLIT` utterances can be split whatever they are, so that there is a part for every
        `MIN_SIZE_TO_SPLIT - 1` of them.
        """
        parts = (math.ceil(len(leaf.rows) / (MIN_SIZE_TO_SPLIT - 1)) for leaf in self._divisible)
        whole = len(self._leaves) - len(self._divisible)
        return max(len(self._leaves), min(self._limit, whole + sum(min(n, self._most_parts) for n in parts)))

    @property
    def _divisible(self) -> list[Group]:
        return [leaf for leaf in self._leaves if leaf.rows and leaf.intents[0] not in self._whole]

    def groups(self, n: int) -> list[Group]:
        """Return n groups: the intents as they are, with some merged or some split."""
        if not self.fewest <= n <= self.most:
            raise ValueError(f"a number from {self.fewest} to {self.most}, not {n}")
        groups = list(self._leaves)
        for merged in self._merges[: len(self._leaves) - n] if n < len(self._leaves) else ():
            groups = [group for group in groups if not set(group.intents) <= set(merged.intents)] + [merged]
        for split in self.splits(n - len(self._leaves)):
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

    def splits(self, count: int) -> list[Split]:
        """Return the first splits, in their order."""
        while len(self._splits) < count:
            best = max(self._next, key=lambda split: split.gain)
            self._next.remove(best)
            (intent,) = best.group.intents
            if self._parts[intent] + 2 <= self._most_parts:
                self._parts[intent] += 1
                self._splits.append(best)
                self._next.extend(self._splits_of(best.parts))
        return self._splits[: max(0, count)]

    @cached_property
    def _next(self) -> list[Split]:
        """The splits that are possible after those that were computed."""
        return self._splits_of(self._divisible)

    def _splits_of(self, groups: Sequence[Group]) -> list[Split]:
        return [self._split(group) for group in groups if len(group.rows) >= MIN_SIZE_TO_SPLIT]

    def _split(self, group: Group) -> Split:
        label = split_in_two(self._x[list(group.rows)])
        parts = [tuple(row for row, part in zip(group.rows, label.tolist(), strict=True) if part == p) for p in (0, 1)]
        first, second = (self._x[list(rows)].double().mean(0) for rows in parts)
        gain = _ward(float(((first - second) ** 2).sum()), len(parts[0]), len(parts[1]))
        return Split(group, (Group(group.intents, parts[0]), Group(group.intents, parts[1])), gain)


def _ward(squared_distance: Any, n: Any, m: Any) -> Any:
    """How much the summed squared distance to the mean differs between two groups and one group of both."""
    return squared_distance * n * m / (n + m)


def two_halves(x: Tensor) -> Tensor | None:
    """Divide utterances [n, d] in two by k-means; None if they are too few, or if one half would be tiny."""
    if len(x) < MIN_SIZE_TO_SPLIT:
        return None
    half, _ = _two_means(x)
    return None if int(half.bincount(minlength=2).min()) < MIN_SIZE_OF_HALF else half


def split_in_two(x: Tensor) -> Tensor:
    """Divide utterances [n, d] that differ from each other in two parts by k-means; neither is tiny.

    Where one would be, the border moves until enough utterances are on that side.
    """
    half, along = _two_means(x)
    size = min(max(int((half == 0).sum()), MIN_SIZE_OF_PART), len(x) - MIN_SIZE_OF_PART)
    part = torch.ones_like(half)
    part[along.argsort(stable=True)[:size]] = 0
    return part


def _two_means(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the half of each row by k-means, and where it lies on the line from the first centre to the second.

    It starts from the two sides of the first principal axis, so that nothing is drawn at random and one run is enough.
    """
    x = x.double()

    def assign(centres: Tensor) -> tuple[Tensor, Tensor]:
        first, second = centres
        along = x @ (second - first)
        return (along > (second @ second - first @ first) / 2).long(), along

    def means(half: Tensor) -> Tensor:
        return torch.stack([x[half == 0].mean(0), x[half == 1].mean(0)])

    centred = x - x.mean(0)
    axis = centred[int((centred**2).sum(1).argmax())]
    for _ in range(POWER_ITERATIONS):
        axis = centred.T @ (centred @ axis)
        axis = axis / axis.norm().clamp(min=1e-12)
    start = means((centred @ axis > 0).long())
    half, along, _ = lloyd(start, assign, lambda half, *_: means(half), rounds=MAX_ROUNDS)
    return half, along
