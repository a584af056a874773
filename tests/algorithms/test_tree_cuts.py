"""New intents counted on the cuts of a tree."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score, silhouette_score
from test_ensembles import bundles

from newfound.algorithms.ensembles import diffuse
from newfound.algorithms.tree_cuts import _cuts, _silhouettes, agreement_with_labels, count_new


def test_agreement_equals_the_adjusted_rand_index_where_intents_have_as_many_labels():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 5)
    cuts = [rng.integers(0, 6, 20) for _ in range(5)]
    index = agreement_with_labels(cuts, y)
    assert index == pytest.approx([max(1e-3, adjusted_rand_score(y, cut)) for cut in cuts])


def test_a_large_intent_says_no_more_than_a_small_one():
    """Forty rows of one intent in one cluster, and two intents of two rows that are put together."""
    y = np.array([0] * 40 + [1, 1, 2, 2])
    joined, split = np.array([0] * 40 + [1] * 4), np.array([0] * 20 + [3] * 20 + [1, 1, 2, 2])
    by_rows = [adjusted_rand_score(y, cut) for cut in (joined, split)]
    assert by_rows[0] > by_rows[1], "pairs of the large intent decide alone"
    large, small = agreement_with_labels([joined, split], y)
    assert small > large


def test_labels_that_occur_once_say_what_to_keep_apart():
    y = np.array([0, 1, 2, -1])
    index = agreement_with_labels([np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]), np.array([0, 1, 2, 0])], y)
    assert index == pytest.approx([1e-3, 2 / 3, 1])
    assert agreement_with_labels([np.zeros(4, int)], np.full(4, -1)).tolist() == [1.0]


def test_silhouettes_of_nested_cuts_equal_those_of_scikit_learn():
    x, _ = bundles((12, 10, 8), spread=0.2)
    averaged = diffuse(x)
    distance = (1 - averaged @ averaged.T).clamp(min=0).fill_diagonal_(0)
    cuts = _cuts(distance)
    expected = [silhouette_score(distance.numpy(), cut, metric="precomputed") for cut in cuts]
    assert _silhouettes(distance, cuts) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("labels", [0, 3, 20])
def test_clear_new_intents_are_counted(labels):
    """Four known and five new intents; without labels all nine are new."""
    x, label = bundles((40,) * 9, spread=0.08)
    y = torch.full_like(label, -1)
    for intent in range(4):
        y[(label == intent).nonzero().squeeze(1)[:labels]] = intent
    found = count_new(x, y)
    assert abs(found.n_new - (5 if labels else 9)) <= 1
    assert found == count_new(x, y), "same seed, same number"


def test_nothing_new_is_counted_as_nothing():
    x, label = bundles((40,) * 6, spread=0.08)
    y = torch.where(torch.arange(len(label)) % 2 == 0, label, -1)
    assert count_new(x, y).n_new == 0
