"""Confident learning by hand, against a naive loop, and on clusters with planted faults."""

from __future__ import annotations

import numpy as np
import pytest

from newfound.algorithms.label_errors import (
    centroid_similarity,
    likely_labels,
    near_duplicates,
    out_of_sample_probabilities,
)


def test_thresholds_and_labels_by_hand():
    """Class 0 has the threshold (0.9 + 0.7 + 0.2) / 3 = 0.6, class 1 has (0.6 + 0.4) / 2 = 0.5.

    The third utterance has label 0 and reaches the threshold of class 1 only: its label is likely wrong. The last one
    reaches none, so that its label stays.
    """
    p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.55, 0.4]])
    y = np.array([0, 0, 0, 1, 1])
    assert likely_labels(p, y).tolist() == [0, 0, 1, 1, 1]


def clusters(rng, centres, n):
    x = np.concatenate([rng.normal(centre, 0.15, size=(n, len(centre))) for centre in centres])
    return x, np.repeat(np.arange(len(centres)), n)


def test_planted_errors_are_found_and_nothing_else():
    rng = np.random.default_rng(0)
    x, truth = clusters(rng, np.eye(5), 40)
    y = truth.copy()
    planted = rng.choice(len(y), 10, replace=False)
    y[planted] = (y[planted] + 1) % 5
    p = out_of_sample_probabilities(x, y, n_classes=5)
    assert p.sum(1) == pytest.approx(1)
    likely = likely_labels(p, y)
    assert set(np.flatnonzero(likely != y)) == set(planted)
    assert (likely == truth).all()
    assert near_duplicates(x, p, y) == []
    again = out_of_sample_probabilities(x, y, n_classes=5)
    assert np.array_equal(p, again)


def test_a_divided_intent_is_a_near_duplicate():
    rng = np.random.default_rng(0)
    x, y = clusters(rng, np.eye(4), 40)
    y[np.flatnonzero(y == 2)[::2]] = 4
    ((first, second, confusion, similarity),) = near_duplicates(x, out_of_sample_probabilities(x, y, n_classes=5), y)
    assert (first, second) == (2, 4)
    assert confusion > 0.3
    assert similarity > 0.9


def test_a_class_with_one_member_is_no_fault():
    rng = np.random.default_rng(0)
    x, y = clusters(rng, np.eye(3), 10)
    x, y = np.vstack([x, [[1.0, 1.0, 1.0]]]), np.append(y, 3)
    p = out_of_sample_probabilities(x, y, n_classes=4)
    assert p[-1, 3] == 0
    assert likely_labels(p, y)[:-1].tolist() == y[:-1].tolist()


def test_classes_of_which_all_but_one_have_one_member():
    x, y = np.eye(4), np.array([0, 0, 1, 2])
    p = out_of_sample_probabilities(x, y, n_classes=3, folds=2)
    assert p.shape == (4, 3)
    assert np.isfinite(p).all()
    p = out_of_sample_probabilities(np.eye(3), np.array([0, 0, 1]), n_classes=2, folds=2)
    assert likely_labels(p, np.array([0, 0, 1]))[:2].tolist() == [0, 0]


def test_similarity_of_centroids_by_hand():
    """Three centroids at 0, 120 and 240 degrees have the mean 0 and cosines of -1/2."""
    angles = np.array([0, 2, 4]) * np.pi / 3
    x = np.stack([np.cos(angles), np.sin(angles)], 1)
    expected = np.where(np.eye(3, dtype=bool), 1, -0.5)
    assert centroid_similarity(x, np.arange(3), 3) == pytest.approx(expected)
