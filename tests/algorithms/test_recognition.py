"""Known intents in mixed logs: labelled neighbours, clusterings around the labels, a classifier of known intents."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_ensembles import bundles

from newfound.algorithms.recognition import (
    RIDGE,
    classify_known,
    known_ratio,
    known_sureness,
    known_votes,
    overlooks_new,
    recognise_known,
    typical_labels,
)
from newfound.training.seeding import derive

SEEDS = partial(derive, 0)


def gaussian_logs(n_known, n_new, *, per=30, labels=30, spread=0.14, seed=0):
    """Unit vectors around random centres: labelled rows of known intents, then logs of known and new ones."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_known + n_new, 24))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)

    def around(c, count):
        return centres[c] + spread * rng.normal(size=(count, 24))

    parts = [(around(c, labels), c, c) for c in range(n_known)]
    parts += [(around(c, per), -1, c) for c in range(n_known + n_new)]
    x = F.normalize(torch.from_numpy(np.concatenate([rows for rows, _, _ in parts])).float(), dim=-1)
    y = torch.tensor([label for rows, label, _ in parts for _ in rows])
    return x, y, np.array([gold for rows, _, gold in parts for _ in rows])


def test_the_ratio_is_near_one_for_known_and_near_zero_for_new():
    x, y, gold = gaussian_logs(6, 3)
    ratio = known_ratio(x, y, 6)
    logs = (y < 0).numpy()
    assert ratio.numpy()[logs & (gold < 6)].mean() == pytest.approx(1, abs=0.15)
    assert ratio.numpy()[logs & (gold >= 6)].mean() < 0.1


def test_the_classifier_is_surer_of_known_intents():
    x, y, gold = gaussian_logs(6, 3)
    sureness, intent = known_sureness(x, y, 6)
    logs = (y < 0).numpy()
    assert sureness.numpy()[logs & (gold < 6)].mean() == pytest.approx(0.5, abs=0.15), "as sure as of labelled rows"
    assert sureness.numpy()[logs & (gold >= 6)].mean() < 0.1
    assert (intent.numpy()[logs & (gold < 6)] == gold[logs & (gold < 6)]).mean() > 0.95


def test_the_classifier_predicts_labelled_rows_as_if_it_had_not_learned_from_them():
    """The sureness of a row is the share of labelled rows with a lower score, each scored by a fit without it."""
    x, y, _ = gaussian_logs(3, 2, per=4, labels=5, spread=0.3)
    labelled = (y >= 0).nonzero().squeeze(1)

    def scores(rows, at):
        points, target = x[rows].double(), F.one_hot(y[rows], 3).double()
        design = torch.cat([points, torch.ones(len(rows), 1, dtype=torch.float64)], dim=1)
        ridge = RIDGE * torch.eye(25, dtype=torch.float64)
        ridge[-1, -1] = 0  # the intercept is free
        beta = torch.linalg.solve(design.T @ design + ridge, design.T @ target)
        return torch.cat([x[at].double(), torch.ones(1, dtype=torch.float64)]) @ beta

    left_out = torch.stack([scores(labelled[labelled != row], row).max() for row in labelled])
    expected = [float((left_out <= scores(labelled, i).max()).double().mean()) for i in range(len(x))]
    np.testing.assert_allclose(known_sureness(x, y, 3)[0].numpy(), expected, atol=1e-6)


def test_votes_are_shares_of_the_clusterings():
    x, y, gold = gaussian_logs(6, 3)
    share, intent = known_votes(x, y, 6, 4, 3, SEEDS)
    assert set((share * 6).round().tolist()) <= set(range(7))
    assert ((share * 6) % 1).abs().max() < 1e-5
    labelled = y >= 0
    assert (share[labelled] == 1).all()
    assert torch.equal(intent[labelled], y[labelled]), "labelled rows keep their labels in every clustering"
    logs = (y < 0).numpy()
    assert share.numpy()[logs & (gold < 6)].mean() > 0.9
    assert share.numpy()[logs & (gold >= 6)].mean() < 0.3


@pytest.mark.parametrize("labels", [3, 30])
@pytest.mark.parametrize("seed", range(3))
def test_known_rows_are_recognised_and_new_ones_are_not(labels, seed):
    """With three labels the clusterings decide alone, with thirty the neighbours are heard, too."""
    x, y, gold = gaussian_logs(8, 4, labels=labels, seed=seed)
    found = recognise_known(x, y, 8, 5, 4, SEEDS).numpy()
    logs = (y < 0).numpy()
    assert (found[logs & (gold < 8)] == gold[logs & (gold < 8)]).mean() > 0.95
    assert (found[logs & (gold >= 8)] < 0).mean() > 0.9
    assert (found[~logs] == gold[~logs]).all()


def test_recognition_does_not_depend_on_the_size_of_the_logs():
    x, label = bundles((500, 40, 40, 300, 300))
    y = torch.where((label < 3) & (torch.arange(len(label)) % 2 == 0), label, -1)
    found = recognise_known(x, y, 3, 3, 4, SEEDS)
    logs = y < 0
    assert (found[logs & (label < 3)] == label[logs & (label < 3)]).float().mean() > 0.95
    assert (found[logs & (label >= 3)] < 0).float().mean() > 0.95


def test_the_typical_number_of_labels_is_the_median():
    assert typical_labels(torch.tensor([0, 0, 0, 0, 1, 1, 2, -1, -1]), 3) == 2
    assert typical_labels(torch.tensor([-1, -1]), 0) == 0


def test_a_classifier_says_which_known_intent_a_row_has():
    x, label = bundles((40, 40, 40))
    y = torch.where(torch.arange(120) % 40 < 10, label, -1)
    assert torch.equal(classify_known(x, y, y < 0, seed=0), label[y < 0])
    one = torch.where(label == 0, y, -1)
    assert set(classify_known(x, one, one < 0, seed=0).tolist()) == {0}, "a single known intent"
    assert len(classify_known(x, y, torch.zeros(120, dtype=torch.bool), seed=0)) == 0


def test_groups_without_a_label_that_are_taken_for_known_intents_are_noticed():
    """Cluster 0 has all labels; clusters 1 and 2 have none."""
    clusters = torch.tensor([0] * 10 + [1] * 10 + [2] * 10)
    y = torch.tensor([0] * 5 + [-1] * 25)
    everything_known = torch.zeros(30, dtype=torch.int64)
    assert overlooks_new(clusters, y, everything_known)
    half_known = torch.where(clusters == 2, -1, 0)
    assert not overlooks_new(clusters, y, half_known), "one of two groups is not most"
    assert not overlooks_new(torch.zeros(30, dtype=torch.int64), y, everything_known), "there is no such group"


def test_a_model_without_a_new_intent_is_a_model(tiny_encoder, themed, tmp_path):
    import newfound

    known = themed.labelled()
    options = {"encoder": tiny_encoder, "device": "cpu", "effort": "quick"}
    result = newfound.discover(known, list(known.texts), tmp_path / "m", **options)
    assert result.n_new == 0
    assert [i.known for i in result.intents] == [True] * 3
    assert set(newfound.load(tmp_path / "m", encoder=tiny_encoder).predict(known.texts[:9])) <= {"pay", "meter", "leak"}
