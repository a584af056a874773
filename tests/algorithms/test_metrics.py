from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from benchmarks.harness.scoring import clustering_scores, compactness
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, f1_score, silhouette_score

from newfound.algorithms.metrics import (
    adjusted_rand_index,
    match_clusters,
    mean_f1,
    paper_scores,
    silhouette,
    strict_scores,
)


def ids(*values: int):
    return np.array(values, dtype=np.int64)


def test_protocols_differ_where_new_utterances_are_predicted_as_known():
    """Two known intents (0, 1), two new (2, 3), eight rows.

    true       0 0 1 1 2 2 3 3
    predicted  0 0 1 2 0 0 2 2

    Known: three of four right, 75. Class 2 was predicted as known intent 0 throughout.

    paper, OOD: among the last four rows column 0 matches class 2 and column 2 matches class 3: 100.
    paper, ALL: the best matching over all ids is 0->0 (2 rows) 1->1 (1) 2->3 (2): 5 of 8 = 62.5; matching
    0->2 instead gives the same two rows.
    strict, OOD: column 2 matches class 3, class 2 never landed in a new column: 2 of 4 = 50.
    strict, ALL: 3 known + 2 new = 5 of 8 = 62.5.
    """
    true, predicted = ids(0, 0, 1, 1, 2, 2, 3, 3), ids(0, 0, 1, 2, 0, 0, 2, 2)
    paper, strict = paper_scores(true, predicted, 2), strict_scores(true, predicted, 2)
    assert (paper.ind_acc, paper.ood_acc, paper.ood_f1, paper.all_acc) == (75.0, 100.0, 100.0, 62.5)
    assert (strict.ind_acc, strict.ood_acc, strict.all_acc) == (75.0, 50.0, 62.5)
    # strict OOD F1: class 2 has 0; class 3 has precision and recall 1 among the OOD rows: (2*0 + 2*1) / 4
    assert strict.ood_f1 == 50.0
    # strict ALL F1: class 0: 2*2/(2+4) = 2/3; class 1: 2*1/(2+1) = 2/3; class 2: 0; class 3: 2*2/(2+3) = 4/5
    assert strict.all_f1 == pytest.approx(100 * (2 * 2 / 3 + 2 * 2 / 3 + 0 + 2 * 4 / 5) / 8)


def test_perfect_up_to_a_renaming_of_the_clusters():
    true, predicted = ids(0, 1, 2, 2, 3, 4), ids(0, 1, 4, 4, 2, 3)
    for scores in (paper_scores(true, predicted, 2), strict_scores(true, predicted, 2)):
        assert set(astuple(scores)) == {100.0}


def test_fewer_clusters_than_classes():
    """One new cluster for two classes of 3 and 1 rows: the larger is matched, 3 of 4."""
    strict = strict_scores(ids(0, 1, 1, 1, 2), ids(0, 1, 1, 1, 1), 1)
    assert strict.ood_acc == 75.0
    assert strict.ood_f1 == pytest.approx(100 * (3 * (2 * 3 / (3 + 4)) + 0) / 4)


def test_more_clusters_than_classes():
    """One class in three clusters of 3, 2 and 1 rows: one is matched, the others are wrong."""
    true, predicted = ids(0, *[1] * 6), ids(0, 1, 1, 1, 2, 2, 5)
    assert strict_scores(true, predicted, 1).ood_acc == 50.0
    assert paper_scores(true, predicted, 1).ood_acc == 50.0


def test_empty_clusters_and_empty_sides():
    """Column 2 is empty; that changes nothing. Without OOD rows the OOD scores do not exist."""
    assert strict_scores(ids(0, 1, 2), ids(0, 3, 1), 1).ood_acc == 100.0
    no_ood = strict_scores(ids(0, 0, 1), ids(0, 1, 1), 2)
    assert no_ood.ind_acc == pytest.approx(200 / 3)
    assert math.isnan(no_ood.ood_acc)
    assert math.isnan(no_ood.ood_f1)
    nothing_landed = strict_scores(ids(0, 1, 1), ids(0, 0, 0), 1)
    assert nothing_landed.ood_acc == 0.0


def test_a_known_utterance_in_a_new_column_is_wrong_under_strict():
    """Known intent 1 went wholly into column 2: paper's ALL matches it, strict does not."""
    true, predicted = ids(0, 0, 1, 1, 2), ids(0, 0, 2, 2, 3)
    assert paper_scores(true, predicted, 2).all_acc == 100.0
    assert strict_scores(true, predicted, 2).all_acc == 60.0


def test_a_prediction_of_no_intent_is_wrong_and_no_cluster():
    """One known intent (0), two new (1, 2). Column 2 holds one row of class 1 and column 1 one of class 2.

    Before, -1 was counted as the last column of the class before, or refused.
    """
    true, predicted = ids(0, 0, 1, 1, 2, 2), ids(0, -1, 2, -1, 1, -1)
    assert match_clusters(true, predicted) == {0: 0, 1: 2, 2: 1}
    assert match_clusters(true[:1], ids(-1)) == {}
    for scores in (strict_scores(true, predicted, 1), paper_scores(true, predicted, 1)):
        assert (scores.ind_acc, scores.ood_acc, scores.all_acc) == (50.0, 50.0, 50.0)


def test_bad_ids_are_refused():
    with pytest.raises(ValueError, match="2 gold ids but 1 predictions"):
        strict_scores(ids(0, 1), ids(0), 1)
    with pytest.raises(ValueError, match="cannot be scored"):
        paper_scores(ids(0, -1), ids(0, 1), 1)


labels = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), min_size=1, max_size=60)


@given(labels, st.integers(0, 6))
@settings(max_examples=60)
def test_strict_never_flatters(pairs, n_known):
    true, predicted = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    paper, strict = paper_scores(true, predicted, n_known), strict_scores(true, predicted, n_known)
    for name in ("ood_acc", "all_acc"):
        a, b = getattr(paper, name), getattr(strict, name)
        assert math.isnan(a) == math.isnan(b)
        assert math.isnan(a) or a >= b - 1e-9


@given(labels)
@settings(max_examples=40)
def test_weighted_f1_equals_scikit_learn(pairs):
    true, predicted = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    expected = 100 * f1_score(true, predicted, average="weighted", zero_division=0, labels=np.unique(true))
    assert mean_f1(true, predicted, "weighted") == pytest.approx(expected)


@given(labels)
@settings(max_examples=60)
def test_matching_is_at_least_as_good_as_any_greedy_choice(pairs):
    true, predicted = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    mapping = match_clusters(true, predicted)
    assert len(set(mapping.values())) == len(mapping)
    counts = np.zeros((int(true.max()) + 1, int(predicted.max()) + 1), dtype=np.int64)
    np.add.at(counts, (true, predicted), 1)
    total = sum(counts[t, p] for p, t in mapping.items())
    greedy, left = 0, counts.copy()
    for _ in range(min(left.shape)):
        t, p = np.unravel_index(left.argmax(), left.shape)
        greedy += left[t, p]
        left[t, :] = left[:, p] = 0
    assert total >= greedy


def test_silhouette_by_hand():
    """Points 0, 1 | 4 on a line. a(0)=1, b(0)=4: 3/4. a(1)=1, b(1)=3: 2/3. A singleton counts 0."""
    x = np.array([[0.0], [1.0], [4.0]])
    assert silhouette(x, ids(0, 0, 1)) == pytest.approx((3 / 4 + 2 / 3 + 0) / 3)
    assert silhouette(x, ids(1, 1, 1)) == 0.0


def test_silhouette_equals_scikit_learn():
    rng = np.random.default_rng(0)
    x, label = rng.normal(size=(80, 5)), rng.integers(0, 6, 80)
    assert silhouette(x, label) == pytest.approx(silhouette_score(x, label), abs=1e-9)


def test_compactness_by_hand():
    """Classes {0, 2} and {10, 14}: intra (1+1+2+2)/4 = 1.5, centres 1 and 12: inter 11."""
    x = np.array([[0.0], [2.0], [10.0], [14.0]])
    assert compactness(x, ids(0, 0, 1, 1)) == pytest.approx(11 / 1.5)


@given(st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 7)), max_size=60))
@settings(max_examples=40)
def test_the_adjusted_rand_index_equals_scikit_learn_to_the_last_digit(pairs):
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    assert adjusted_rand_index(a, b) == adjusted_rand_score(a, b)


def test_clustering_scores_ignore_names():
    assert clustering_scores(ids(0, 0, 1, 1), ids(7, 7, 3, 3)) == {"nmi": 100.0, "ari": 100.0}
