"""Groups of intents."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.groups import group_levels


def test_two_topics_by_hand():
    """Three intents point to the right and three upwards: two groups, whatever their order."""
    means = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [1.0, 0.05], [0.02, 1.0]])
    (groups,) = group_levels(means, [2])
    assert len(set(groups)) == 2
    assert groups[0] == groups[1] == groups[4] != groups[2]
    assert groups[2] == groups[3] == groups[5]


def test_an_intent_that_is_alone_joins_the_most_similar_group():
    means = np.array([[1.0, 0.0, 0.0], [0.99, 0.1, 0.0], [0.0, 1.0, 0.0], [0.05, 1.0, 0.0], [0.3, 0.0, 1.0]])
    (groups,) = group_levels(means, [3])
    assert groups[4] == groups[0] == groups[1] != groups[2]


@given(st.integers(0, 10**6), st.integers(2, 40), st.lists(st.integers(1, 45), min_size=1, max_size=3))
@settings(max_examples=60)
def test_levels_are_nested_and_groups_have_two_members(seed, intents, levels):
    means = np.random.default_rng(seed).normal(size=(intents, 4))
    nested = group_levels(means, levels)
    assert len(nested) == len(set(levels))
    assert len(set(nested[0])) <= min(levels)
    for groups in nested:
        assert set(groups) == set(range(max(groups) + 1))
    for parents, groups in pairwise(nested):
        for group in set(groups):
            assert len(set(parents[groups == group])) == 1
    assert np.bincount(nested[0]).min() >= 2
