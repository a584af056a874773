"""Which way from labels to intents fits the data, and clusterings around labels."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from test_ensembles import bundles, same_partition

from newfound.algorithms.ensembles import consensus_clustering, joint_ensemble, name_by_labels
from newfound.algorithms.recognition import choose_way, share_recovered
from newfound.training.seeding import derive

SEEDS = partial(derive, 0)


def labelled(label, known, per_intent):
    """Labels of the first rows of each known intent, -1 for all others."""
    y = torch.full_like(label, -1)
    for intent in range(known):
        y[(label == intent).nonzero().squeeze(1)[:per_intent]] = intent
    return y


@pytest.mark.parametrize(
    ("known", "new", "labels", "way", "reason"),
    [
        (5, 3, 3, "joint", "only 3 labels"),
        (5, 3, 20, "divided", "20 labels"),
        (3, 5, 10, "joint", "most intents are new"),
        (5, 3, 10, "joint", "clusterings without labels find 100%"),
    ],
)
def test_labels_and_clear_clusters_choose_the_way(known, new, labels, way, reason):
    """Eight bundles that balanced clusterings tell apart and plain k-means merges and splits."""
    x, label = bundles((40,) * 8, spread=0.1)
    chosen, why = choose_way(x, labelled(label, known, labels), known, new, SEEDS)
    assert chosen == way
    assert reason in why


def test_known_intents_that_are_no_clusters_are_divided_first():
    x, label = bundles((40,) * 8, spread=0.1)
    shuffled = label[torch.randperm(len(label), generator=torch.Generator().manual_seed(0))]
    chosen, why = choose_way(x, labelled(shuffled, 5, 10), 5, 3, SEEDS)
    assert chosen == "divided"
    assert "clusterings without labels find" in why


def test_the_share_found_by_hand():
    """Intent 0 has three of four rows in cluster 1; intent 1 both rows in cluster 0: (3/4 + 2/2) / 2."""
    clusters, y = torch.tensor([1, 1, 1, 0, 0, 0, 2]), torch.tensor([0, 0, 0, 0, 1, 1, -1])
    assert share_recovered(clusters, y, 2) == pytest.approx(0.875)


@pytest.mark.parametrize("sizes", [(40,) * 6, (120, 60, 30, 20, 15, 12)])
def test_two_labels_of_each_known_intent_are_enough_where_clusters_are_clear(sizes):
    x, label = bundles(sizes, spread=0.06)
    y = labelled(label, 3, 2)
    ensemble = joint_ensemble(x, y, 3, 6, 3, SEEDS)
    found = name_by_labels(consensus_clustering(ensemble, 6, seed=0), y, 3)
    assert (found == label)[label < 3].float().mean() > 0.9
    assert same_partition(found[label >= 3], label[label >= 3])
