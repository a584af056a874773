"""The tree over intents: nested cuts, by Ward's criterion."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.intent_tree import (
    MIN_SIZE_OF_HALF,
    MIN_SIZE_OF_PART,
    MIN_SIZE_TO_SPLIT,
    IntentTree,
    two_halves,
)


def blobs(sizes, seed=0, spread=0.3, width=6):
    """Unit vectors around random directions, and the rows of each."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(len(sizes), width, generator=generator)
    around = [c + spread * torch.randn(n, width, generator=generator) for c, n in zip(centres, sizes, strict=True)]
    x = torch.cat(around)
    bounds = torch.tensor([0, *sizes]).cumsum(0).tolist()
    return F.normalize(x, dim=-1), [list(range(a, b)) for a, b in pairwise(bounds)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 25), min_size=1, max_size=6), st.integers(0, 1000), st.integers(1, 14), st.integers(1, 5)
)
def test_one_merger_leads_from_every_number_to_the_next_lower_one(sizes, seed, most, most_parts):
    x, intents = blobs(sizes, seed)
    tree = IntentTree(x, intents, whole={0}, most=most, most_parts=most_parts)
    possible = 1 + sum(min(most_parts, -(-size // (MIN_SIZE_TO_SPLIT - 1))) for size in sizes[1:])
    assert tree.most == max(len(intents), min(most, possible))
    rows = set(range(len(x)))
    for n in range(tree.fewest, tree.most + 1):
        groups = [set(group.rows) for group in tree.groups(n)]
        assert len(groups) == n
        assert set().union(*groups) == rows
        assert sum(map(len, groups)) == len(rows), "every utterance is in one group"
        for group in tree.groups(n):
            together = set().union(*(intents[i] for i in group.intents))
            assert set(group.rows) == together if len(group.intents) > 1 else set(group.rows) <= together
        if n > tree.fewest:
            coarser = [set(group.rows) for group in tree.groups(n - 1)]
            (merged,) = [group for group in coarser if group not in groups]
            first, second = [group for group in groups if group not in coarser]
            assert merged == first | second
            if n > len(intents):
                assert min(len(first), len(second)) >= MIN_SIZE_OF_PART
    parts = [group.intents[0] for group in tree.groups(tree.most)] if tree.most > len(intents) else []
    assert parts.count(0) <= 1, "an intent that may not be split is whole"
    assert all(parts.count(intent) <= most_parts for intent in parts)
    assert sorted(map(list, (g.rows for g in tree.groups(len(intents))))) == sorted(intents)


def test_mergers_are_those_that_raise_the_summed_squares_least():
    x, intents = blobs([4, 9, 3, 6, 5, 2], seed=3, spread=0.8)
    tree = IntentTree(x, intents)

    def squares(groups):
        return sum(float(((x[list(rows)] - x[list(rows)].mean(0)) ** 2).sum()) for rows in groups)

    groups = [tuple(rows) for rows in intents]
    for n in range(len(intents) - 1, 0, -1):
        options = [[g for g in groups if g not in pair] + [pair[0] + pair[1]] for pair in combinations(groups, 2)]
        groups = min(options, key=squares)
        assert sorted(map(sorted, groups)) == sorted(sorted(group.rows) for group in tree.groups(n))


@pytest.mark.parametrize("sizes", [(20,) * 11, (90, 60, 40, 30, 20, 15, 12, 10, 8, 8, 8)])
def test_many_that_were_put_into_two_are_found_again(sizes):
    x, intents = blobs(sizes, seed=4, spread=0.02, width=24)
    two = [[row for rows in part for row in rows] for part in (intents[:5], intents[5:])]
    tree = IntentTree(x, two)
    assert sorted(sorted(group.rows) for group in tree.groups(11)) == sorted(intents)
    assert tree.most >= len(x) / MIN_SIZE_TO_SPLIT, "far more are possible"


def test_a_few_outliers_do_not_keep_an_intent_from_being_split():
    """Two means are those of one far row and of all others: the nearest rows join it."""
    x, _ = blobs([30], spread=0.01)
    tree = IntentTree(torch.cat([x, -x[:1]]), [list(range(31))])
    assert tree.most == 5
    assert all(len(group.rows) >= MIN_SIZE_OF_PART for n in range(1, 6) for group in tree.groups(n))


def test_two_halves():
    x, (first, second) = blobs([10, 7], spread=0.1)
    label = two_halves(x)
    assert {*label[first].tolist(), *label[second].tolist()} == {0, 1}
    assert len(set(label[first].tolist())) == 1
    assert two_halves(x[:5]) is None, "too few"
    assert two_halves(F.normalize(torch.ones(12, 6), dim=-1)) is None, "all the same"
    alone = torch.cat([x[:10], -x[:1]])
    label = two_halves(alone)
    assert label is None or int(label.bincount().min()) >= MIN_SIZE_OF_HALF


def test_numbers_that_there_are_no_groups_for():
    x, intents = blobs([3, 3])
    tree = IntentTree(x, intents)
    assert (tree.fewest, tree.most) == (1, 2)
    for n in (0, 3):
        with pytest.raises(ValueError, match="from 1 to 2"):
            tree.groups(n)
    assert IntentTree(x, []).groups(0) == []
