from __future__ import annotations

import json
import math

import numpy as np
import pytest

from newfound import estimate
from newfound.algorithms.estimation import Estimate, WardTree, _mean_ratio, _spread_ratio, estimate_n_new
from newfound.errors import SettingsError
from newfound.report.figures import draw_estimate


def blobs(centres, per_blob, spread, seed):
    rng = np.random.default_rng(seed)
    x = centres[:, None] + spread * rng.normal(size=(len(centres), per_blob, centres.shape[1]))
    return x.reshape(-1, centres.shape[1]).astype(np.float32)


def problem(truth, *, known_size=30, new_size=30, n_known=12, also_known=0):
    """Known and new intents of one width around random centres; the logs may hold some known intents too."""
    centres = np.random.default_rng(1).normal(size=(n_known + truth, 16)) * 3
    known = blobs(centres[:n_known], known_size, 0.4, 2)
    logs = [blobs(centres[n_known:], new_size, 0.4, 3), blobs(centres[:also_known], new_size, 0.4, 4)]
    return known, np.repeat(np.arange(n_known), known_size), np.concatenate(logs)


@pytest.mark.parametrize("truth", [4, 9])
def test_clear_clusters_are_counted(truth):
    found = estimate_n_new(*problem(truth), strategy="resolution")
    assert found.low <= found.n_new == truth <= found.high


@pytest.mark.parametrize(("known_size", "new_size"), [(20, 80), (80, 20)])
def test_intents_of_another_size_in_the_logs_do_not_mislead(known_size, new_size):
    found = estimate_n_new(*problem(9, known_size=known_size, new_size=new_size))
    assert abs(found.n_new - 9) <= 2


def test_known_intents_in_mixed_logs_are_not_counted():
    mixed = problem(6, also_known=8)
    found = estimate_n_new(*mixed, logs_hold="mixed")
    assert found.strategy == "mean"
    assert abs(found.n_new - 6) <= 1
    assert found.low <= 6 <= found.high
    assert estimate_n_new(*mixed, logs_hold="novel").n_new > 10


def test_mixed_logs_without_a_new_intent_have_none():
    known, labels, logs = problem(1, also_known=12)
    assert estimate_n_new(known, labels, logs[30:], logs_hold="mixed").n_new == 0


def test_the_mean_lies_between_the_numbers_it_is_made_of():
    """Twice as many labelled rows as rows of a new intent, in a corpus where tree and resolution differ."""
    known, labels, logs = problem(9, known_size=60, new_size=20, also_known=6)
    mean = estimate_n_new(known, labels, logs, logs_hold="mixed").n_new
    tree = estimate_n_new(known, labels, logs, logs_hold="mixed", strategy="tree").n_new
    rest = estimate_n_new(known, labels, logs[: 9 * 20], logs_hold="novel", strategy="resolution").n_new
    assert min(tree, rest) - 1 <= mean <= max(tree, rest) + 1


@pytest.mark.parametrize("truth", [4, 9, 20])
@pytest.mark.parametrize("strategy", ["auto", "tree"])
def test_clear_clusters_are_counted_without_known_intents(truth, strategy):
    _, _, logs = problem(truth)
    nothing, none = logs[:0], np.empty(0, dtype=np.int64)
    found = estimate_n_new(nothing, none, logs, strategy=strategy)
    assert found.strategy == "tree"
    assert found.logs == "novel"
    assert abs(math.log(found.n_new / truth)) < math.log(1.3)
    assert found.low < truth < found.high
    assert found == estimate_n_new(nothing, none, logs, strategy=strategy)
    many = estimate_n_new(nothing, none, logs[:2])
    assert (many.n_new, many.low, many.high) == (2, 2, 2), "fewer than two leave nothing to tell apart"


def test_scarce_labels_are_no_yardstick():
    """Three labels of each known intent, and logs of known and new ones."""
    known, labels, logs = problem(6, also_known=12, known_size=3)
    found = estimate_n_new(known, labels, logs, logs_hold="mixed")
    assert found.strategy == "tree"
    assert found.low <= 6 <= found.high


def test_same_seed_same_estimate():
    assert estimate_n_new(*problem(5), seed=3) == estimate_n_new(*problem(5), seed=3)


@pytest.mark.parametrize("strategy", ["resolution", "tree"])
def test_next_to_no_data(strategy):
    known = np.eye(4, dtype=np.float32)
    labels = np.array([0, 0, 1, 1])
    assert estimate_n_new(known, labels, known[:1], strategy=strategy, logs_hold="novel").n_new == 1
    assert estimate_n_new(known, labels, known[:1].repeat(9, axis=0), strategy=strategy, logs_hold="novel").n_new == 1
    assert 1 <= estimate_n_new(known, labels, known[:3], strategy=strategy, logs_hold="novel").n_new <= 3
    assert estimate_n_new(known[:1], labels[:1], known[1:3], strategy=strategy, logs_hold="novel").n_new >= 1


def test_wrong_settings():
    known = (["a b", "c d"], ["x", "y"])
    with pytest.raises(SettingsError, match="strategy='best' is not one of auto, mean, tree, resolution"):
        estimate(known, ["e"], strategy="best")
    with pytest.raises(SettingsError, match="logs_hold='old' is not one of novel, mixed"):
        estimate(known, ["e"], logs_hold="old")


def test_a_handful_of_utterances_is_enough_for_an_answer(tiny_encoder):
    found = estimate((["a", "b"], ["x", "y"]), ["c", "d", "e"], encoder=tiny_encoder, logs_hold="novel")
    assert 1 <= found.low <= found.n_new <= found.high <= 3


LINE = np.array([[0.0], [1.0], [10.0], [12.0], [40.0]], dtype=np.float32)


def test_ward_tree_by_hand():
    """0 and 1 merge at 1, 10 and 12 at 2; their means 0.5 and 11 lie 10.5 apart, times sqrt(2 x 2 x 2 / 4)."""
    tree = WardTree(LINE)
    assert tree.heights[:3] == pytest.approx([1, 2, 10.5 * math.sqrt(2)])
    assert tree.cut_for(4) == 1.5
    assert [tree.count(tree.cut_for(k)) for k in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 5]
    assert tree.spread()[:3] == pytest.approx([0, 0.5, (0.5 + 2) / 2])


def test_ratios_by_hand():
    """The same points twice as far apart: at the cut that leaves 4 known clusters, one more cluster is there."""
    known, logs = WardTree(LINE), WardTree(2 * LINE)
    assert _mean_ratio(known, 4, logs, np.ones(1)) == pytest.approx(5 / 4)
    assert _mean_ratio(known, 4, known, np.ones(1)) == 1
    assert _spread_ratio(known, 3, known) == pytest.approx(1)


def test_the_figure_and_the_numbers_are_written(tmp_path):
    found = estimate_n_new(*problem(5))
    draw_estimate(found, tmp_path / "e")
    assert Estimate(**json.loads((tmp_path / "e" / "estimate.json").read_text())) == found
    assert (tmp_path / "e" / "estimate.png").read_bytes().startswith(b"\x89PNG")
