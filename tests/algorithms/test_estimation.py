"""How many new intents there are: counted without labels, and corrected by the known ones."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import silhouette_score

from newfound import estimate
from newfound.algorithms import estimation
from newfound.algorithms.estimation import (
    Estimate,
    _parts,
    _share_of_pairs,
    _together,
    estimate_n_new,
    log_count,
    made_up_for,
    moved_by_size,
    silhouettes,
    smooth,
    ward_cuts,
    weights,
)
from newfound.errors import SettingsError
from newfound.training.seeding import derive

SEEDS = partial(derive, 0)


def problem(truth, *, known_size=30, new_size=30, n_known=12, also_known=0, spread=0.4):
    """Known and new intents around random centres; the logs may hold some known intents too."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(n_known + truth, 16)) * 3

    def blobs(which, count):
        return (centres[which][:, None] + spread * rng.normal(size=(len(which), count, 16))).reshape(-1, 16)

    known, new = np.arange(n_known), np.arange(n_known, n_known + truth)
    parts = [blobs(known, known_size), blobs(new, new_size), blobs(known[:also_known], new_size)]
    x = F.normalize(torch.from_numpy(np.concatenate(parts)).float(), dim=-1)
    y = np.concatenate([np.repeat(known, known_size), np.full(len(x) - n_known * known_size, -1)])
    return x, torch.from_numpy(y)


@pytest.mark.parametrize("truth", [4, 9, 20])
def test_clear_clusters_are_counted_without_known_intents(truth):
    x, y = problem(truth)
    logs, none = x[y < 0], y[y < 0]
    found = estimate_n_new(logs, none, SEEDS)
    assert found.logs == "novel"
    assert abs(math.log(found.n_new / truth)) < math.log(1.3)
    assert found.low < truth < found.high
    assert found == estimate_n_new(logs, none, SEEDS), "same seed, same number"
    two = estimate_n_new(logs[:2], none[:2], SEEDS)
    assert (two.n_new, two.low, two.high) == (2, 2, 2), "fewer than two leave nothing to tell apart"


@pytest.mark.parametrize("truth", [4, 9])
def test_clear_clusters_are_counted_beside_known_ones(truth):
    found = estimate_n_new(*problem(truth), SEEDS, logs_hold="novel")
    assert abs(found.n_new - truth) <= 1
    assert found.low <= truth <= found.high


@pytest.mark.parametrize(("known_size", "new_size"), [(20, 80), (80, 20)])
def test_intents_of_another_size_in_the_logs_do_not_mislead(known_size, new_size):
    found = estimate_n_new(*problem(9, known_size=known_size, new_size=new_size), SEEDS, logs_hold="novel")
    assert abs(found.n_new - 9) <= 3


@pytest.mark.parametrize("labels", [3, 30])
def test_known_intents_in_mixed_logs_are_not_counted(labels):
    mixed = problem(6, also_known=8, known_size=labels)
    found = estimate_n_new(*mixed, SEEDS, logs_hold="mixed")
    assert abs(found.n_new - 6) <= 2
    assert found.low <= 6 <= found.high
    assert estimate_n_new(*mixed, SEEDS, logs_hold="novel").n_new > 10


def test_mixed_logs_without_a_new_intent_have_none():
    x, y = problem(0, also_known=12)
    found = estimate_n_new(x, y, SEEDS, logs_hold="mixed")
    assert (found.n_new, found.low, found.high) == (0, 0, 0)


def test_new_intents_are_as_coarse_as_the_labels():
    x, y = problem(12, n_known=24)  # each intent has three groups of utterances
    assert abs(estimate_n_new(x, torch.where(y < 0, y, y // 3), SEEDS, logs_hold="novel").n_new - 4) <= 1
    assert math.exp(made_up_for(math.log(4))) == pytest.approx(4)
    assert math.exp(made_up_for(-math.log(4))) == pytest.approx(1 / 2), "half of it where labels are finer"


def test_new_intents_are_taken_to_be_about_as_large_as_known_ones():
    """Known intents of equal size: with the errors 0.3 of the count and 0.25 of the size, the size weighs 0.59."""
    nine, equal, weight = math.log(9), np.full(5, 20.0), 0.3**2 / (0.3**2 + 0.25**2)
    assert moved_by_size(nine, 180, equal) == pytest.approx(nine)
    assert math.exp(moved_by_size(nine, 120, equal)) == pytest.approx(9 ** (1 - weight) * 6**weight)
    assert math.exp(moved_by_size(nine, 20_000, equal)) == pytest.approx(9 * 2**weight), "no more than twice"
    assert math.exp(moved_by_size(nine, 20, equal)) == pytest.approx(9 / 2**weight)


def test_sizes_that_vary_say_little_about_those_of_new_intents():
    """Two intents of 10 and 30 rows: a relative variance of 200 / 20^2 - 1 / 20, and half and a ninth of it count."""
    weight = 0.3**2 / (0.3**2 + (0.5 - 0.05) * (1 / 2 + 1 / 9) + 0.25**2)
    assert math.exp(moved_by_size(math.log(9), 120, np.array([10.0, 30.0]))) == pytest.approx(9 * (6 / 9) ** weight)


def test_small_corpora_are_counted_in_parts_that_hold_all_known_intents():
    y = torch.tensor([0, *[1] * 400, *[-1] * 599])
    parts, size = _parts(y, 1, seed=0), [len(_parts(torch.full((n,), -1), 1, seed=0)[0]) for n in (5_000, 7_000)]
    assert [len(rows.unique()) in (900, 901, 902) and len(set(y[rows].tolist())) for rows in parts] == [3] * 4
    assert size == [4_500, 7_000], "of many rows, all are counted"


def test_every_other_count_is_on_fine_tuned_vectors(monkeypatch):
    (x, y), widths = problem(6, also_known=8), []
    monkeypatch.setattr(estimation, "recognise_known", lambda x, y, *_, **__: (widths.append(x.shape[1]), y)[1])
    estimate_n_new(x, y, SEEDS, tuned=torch.cat([x, x], dim=1))
    assert widths == [16, 32, 16, 32]


def test_fewer_known_intents_make_the_interval_wider():
    def ratio(**shape):
        found = estimate_n_new(*problem(9, also_known=3, **shape), SEEDS)
        return found.high / max(1, found.low)

    assert ratio(n_known=12) < ratio(n_known=3)


def test_an_interval_that_says_nothing_is_called_vague():
    assert Estimate(20, 2, 400, "novel").is_vague
    assert not Estimate(20, 12, 34, "novel").is_vague


def test_next_to_no_data():
    known = torch.eye(4)
    y = torch.tensor([0, 0, 1, 1])

    def n_new(logs):
        joined = torch.cat([y, torch.full((len(logs),), -1)])
        return estimate_n_new(torch.cat([known, logs]), joined, SEEDS, logs_hold="novel").n_new

    assert n_new(known[:1]) == 1
    assert n_new(known[:1].repeat(9, 1)) == 1
    assert 1 <= n_new(known[:3]) <= 3


def test_many_rows_are_sampled(monkeypatch):
    x, y = problem(6, new_size=60)
    monkeypatch.setattr("newfound.algorithms.estimation.MAX_ROWS_IN_TREE", 200)
    assert math.exp(log_count(x[y < 0])) == pytest.approx(6, abs=1.5)


def test_the_shares_of_neighbours_that_stay_together_by_hand():
    """Row 0's neighbours are 1 (its own cluster) and 2; rows 1 and 2 alike."""
    cut, near = torch.tensor([0, 0, 1]), torch.tensor([[1, 2], [0, 2], [0, 1]])
    assert _together(cut, near).tolist() == pytest.approx([2 / 3, 2 / 6])


def test_the_share_of_pairs_in_one_cluster_by_hand():
    """Of six pairs of four rows, three are in the cluster of three."""
    assert _share_of_pairs(np.array([0, 0, 0, 1])) == pytest.approx(3 / 6)


def test_weights_by_hand():
    """The best score weighs 1, one that is a tenth lower 1/e at the temperature 0.1; they sum to 1."""
    total = 1 + math.exp(-1)
    assert weights(np.array([1.0, 0.9]), 0.1) == pytest.approx([1 / total, math.exp(-1) / total])
    assert smooth(np.array([0.0, 4.0, 0.0])) == pytest.approx([1, 2, 1])


def test_silhouettes_of_nested_cuts_equal_scikit_learn():
    x, y = problem(5)
    points = x[y < 0][:60]
    distance = (1 - points @ points.T).clamp(min=0).fill_diagonal_(0)
    cuts = ward_cuts(distance)
    assert all(len(np.unique(a)) < len(np.unique(b)) for a, b in pairwise(cuts))
    for cut, value in zip(cuts, silhouettes(distance, cuts), strict=True):
        assert value == pytest.approx(silhouette_score(distance.numpy(), cut, metric="precomputed"), abs=1e-4)


def test_wrong_settings():
    known = (["a b", "c d"], ["x", "y"])
    with pytest.raises(SettingsError, match="logs_hold='old' is not one of novel, mixed"):
        estimate(known, ["e"], logs_hold="old")


def test_a_handful_of_utterances_is_enough_for_an_answer(tiny_encoder):
    found = estimate((["a", "b"], ["x", "y"]), ["c", "d", "e"], encoder=tiny_encoder, logs_hold="novel")
    assert 1 <= found.low <= found.n_new <= found.high <= 3
