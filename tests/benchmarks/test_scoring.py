from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness.scoring import score_ids, score_predictor, strictly_correct

from newfound.algorithms.metrics import calibration_error, strict_scores
from newfound.data.corpus import Corpus
from newfound.data.task import DiscoveryTask

KNOWN, NEW = ("pay", "stop"), ("move", "solar")


def task_with_messy_logs():
    """Rows 4 and 5 of the training data are of the known intent "pay" and stand in the logs."""
    train = Corpus.of([f"text {i}" for i in range(6)], ["pay", "stop", "move", "solar", "pay", "pay"])
    test = Corpus.of([f"test {i}" for i in range(4)], ["pay", "stop", "move", "solar"])
    return DiscoveryTask(
        "toy", KNOWN, NEW, train, Corpus((), ()), test, frozenset({4, 5}), out_of_scope=("odd 0", "odd 1")
    )


class Stub:
    """A predictor that is no method of the package."""

    def __init__(self, ids, outliers):
        self._ids, self._outliers = ids, outliers

    def predict_ids(self, texts):
        return np.array([self._ids[text] for text in texts])

    def outlier_scores(self, texts):
        return np.array([self._outliers[text] for text in texts])


def test_any_predictor_is_scored_like_a_cell():
    """Test: all right but for swapped clusters. Logs: one of two known rows recognised, nothing else called known."""
    ids = {"test 0": 0, "test 1": 1, "test 2": 3, "test 3": 2, "text 2": 3, "text 3": 2, "text 4": 0, "text 5": 2}
    outliers = {"test 0": 0.1, "test 1": 0.2, "test 2": 0.3, "test 3": 0.6, "odd 0": 0.5, "odd 1": 0.9}
    result = score_predictor(Stub(ids, outliers), task_with_messy_logs())
    assert result["scores"]["strict"] == dict.fromkeys(("ind_acc", "ood_acc", "ood_f1", "all_acc", "all_f1"), 100.0)
    assert result["clustering"] == {"nmi": 100.0, "ari": 100.0}
    assert result["logs"] == {"known_f1": 66.6667}  # precision 1, recall 1/2
    assert result["out_of_scope"] == {"auroc": 87.5}  # seven of eight pairs in order


def test_ids_alone_can_be_scored():
    result = score_ids(task_with_messy_logs(), np.array([0, 1, 2, 2]))
    assert set(result) == {"scores", "clustering", "all_intents"}
    assert result["scores"]["strict"]["ood_acc"] == 50.0


def test_correct_predictions_are_those_the_strict_protocol_counts():
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 6, 200), rng.integers(0, 9, 200)
    correct = strictly_correct(gold, predicted, 3)
    assert 100 * correct.mean() == pytest.approx(strict_scores(gold, predicted, 3).all_acc)


def test_an_unmatched_cluster_is_never_correct():
    assert strictly_correct(np.array([1, 2, 2]), np.array([3, 2, 2]), 2).tolist() == [False, True, True]


def test_calibration_error_by_hand():
    """Bin of 0.9: mean probability 0.9, half correct, gap 0.4, 2 rows. Bin of 0.6: gap 0.4, 1 row. Mean: 0.4."""
    error = calibration_error(np.array([0.9, 0.9, 0.6]), np.array([True, False, True]))
    assert error == pytest.approx(40.0)
    assert calibration_error(np.array([1.0, 1.0]), np.array([True, True])) == 0.0
