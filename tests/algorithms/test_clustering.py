from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from newfound.algorithms.clustering import Clustering, align_clusters, balance, kmeans, lloyd, spherical_lloyd


def blobs(k=12, per=40, width=16, spread=0.6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, width)) * 1.5
    points = centres[:, None] + spread * rng.normal(size=(k, per, width))
    return torch.from_numpy(points.reshape(-1, width)).float()


@pytest.mark.parametrize("seed", range(4))
def test_inertia_is_scikit_learns_within_one_percent(seed):
    x = blobs(seed=seed, spread=1.2)
    ours = kmeans(x, 12, seed=seed)
    theirs = KMeans(12, n_init=10, random_state=seed).fit(x.numpy())
    assert ours.inertia <= theirs.inertia_ * 1.01
    direct = ((x - ours.centres[ours.labels]) ** 2).sum()
    assert ours.inertia == pytest.approx(float(direct), rel=1e-4)


def test_clear_clusters_are_found_exactly():
    x = blobs(spread=0.05)
    labels = kmeans(x, 12).labels.view(12, 40)
    assert (labels == labels[:, :1]).all()
    assert len(set(labels[:, 0].tolist())) == 12


def test_same_seed_same_labels():
    x = blobs(spread=1.5)
    assert torch.equal(kmeans(x, 7, seed=3).labels, kmeans(x, 7, seed=3).labels)


def test_edges():
    """As many clusters as points, one cluster, and points that are all the same."""
    x = blobs(k=2, per=3)
    assert sorted(kmeans(x, 6).labels.tolist()) == [0, 1, 2, 3, 4, 5]
    assert kmeans(x, 1).labels.tolist() == [0] * 6
    same = torch.ones(5, 3)
    found = kmeans(same, 3)
    assert found.inertia == 0.0
    assert found.centres.isfinite().all()


@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_labels_and_distances_belong_to_the_returned_centres(rounds):
    """Points 0, 1, 5, 6, 7 from centres 0 and 1 move to 0 and 4.75; then 1 belongs to the first centre."""
    x = torch.tensor([0.0, 1.0, 5.0, 6.0, 7.0])

    def assign(centres):
        distance, labels = (x[:, None] - centres).abs().min(1)
        return labels, distance

    def move(labels, _, centres):
        return torch.stack([x[labels == i].mean() for i in range(len(centres))])

    labels, distance, centres = lloyd(torch.tensor([0.0, 1.0]), assign, move, rounds=rounds)
    assert labels.tolist() == [0, 0, 1, 1, 1]
    assert torch.equal(distance, (x - centres[labels]).abs())


def test_on_the_sphere_labels_and_distance_belong_to_the_last_centres():
    """Directions at 0, 20, 40, 60 and 80 degrees, from centres at 0 and 20, which move once: to 0 and 50 degrees."""
    angle = torch.tensor([0.0, 20.0, 40.0, 60.0, 80.0]).deg2rad()
    x = torch.stack([angle.cos(), angle.sin()], dim=1)
    labels, distance = spherical_lloyd(x, x[:2], rounds=1)
    assert labels.tolist() == [0, 0, 1, 1, 1]
    away = torch.tensor([0.0, 20.0, 10.0, 10.0, 30.0]).deg2rad()  # from the own centre
    assert distance == pytest.approx(float((1 - away.cos()).mean()), abs=1e-5)


def test_the_distance_of_a_row_with_a_fixed_label_is_that_to_its_own_centre():
    x = torch.eye(2)
    labels, distance = spherical_lloyd(x, x, fixed=torch.tensor([1, -1]), rounds=1)
    assert labels.tolist() == [1, 1]
    assert distance == pytest.approx(1 - 0.5**0.5), "both lie 45 degrees from their mean"


@pytest.mark.parametrize("k", [4, 7, 40])
@pytest.mark.parametrize("x", [torch.eye(3), torch.ones(3, 2), torch.tensor([[1.0, 2.0]])])
def test_fewer_rows_than_clusters(x, k):
    """Every distinct row is a cluster of its own; the other centres repeat rows."""
    clustering = kmeans(x, k)
    assert clustering.centres.shape == (k, x.shape[1])
    assert torch.equal(clustering.centres[clustering.labels], x)
    assert clustering.inertia == pytest.approx(0.0, abs=1e-6)
    assert all((centre == x).all(1).any() for centre in clustering.centres)


def test_balancing_keeps_clear_clusters():
    clear = torch.nn.functional.normalize(blobs(k=4, per=25, spread=0.05), dim=-1)
    found = kmeans(clear, 4)
    assert torch.equal(balance(clear, found.centres), found.labels)


def test_balancing_evens_out_sizes():
    """Points along a half circle, three times as dense in its first half: the border moves there."""
    angle = torch.cat([torch.linspace(0, 90, 90), torch.linspace(91, 180, 30)]).deg2rad()
    x = torch.stack([angle.cos(), angle.sin()], dim=1)
    centres = torch.tensor(
        [[1.0, 1.0], [-1.0, 1.0]]
    )  # at 45 and 135 degrees: 90 points nearest to one, 30 to the other
    assert torch.bincount(balance(x, centres)).tolist() == pytest.approx([60, 60], abs=4)


def test_aligned_clusters_take_the_numbers_of_the_centres_they_match():
    """Found centres 10, 0, 5 against the reference 0.2, 9: cluster 1 becomes 0, cluster 0 becomes 1, the rest 2."""
    found = Clustering(torch.tensor([0, 0, 1, 2]), torch.tensor([[10.0], [0.0], [5.0]]), 1.5)
    aligned = align_clusters(found, torch.tensor([[0.2], [9.0]]))
    assert aligned.labels.tolist() == [1, 1, 0, 2]
    assert aligned.centres.squeeze(1).tolist() == [0.0, 10.0, 5.0]
    assert aligned.inertia == 1.5
