from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

from newfound.algorithms.clustering import Clustering, align_clusters, balance, kmeans


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
