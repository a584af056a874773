from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import (
    cluster_around,
    cluster_ensemble,
    consensus_clustering,
    consistency,
    diffuse,
    extend,
    extend_consensus,
    is_more_consistent,
    label_freely,
    name_by_labels,
    select_labellings,
    share_agreeing,
    views,
)
from newfound.training.seeding import derive


def bundles(sizes=(60, 60, 60, 60, 60, 60), width=24, spread=0.12, seed=0):
    """Unit vectors around random directions, and which direction each belongs to."""
    generator = torch.Generator().manual_seed(seed)
    centres = F.normalize(torch.randn(len(sizes), width, generator=generator), dim=-1)
    label = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    x = centres[label] + spread * torch.randn(len(label), width, generator=generator)
    return F.normalize(x, dim=-1), label


def same_partition(a, b):
    """Whether two labellings divide the rows alike, whatever the numbers."""
    return (
        len({(i, j) for i, j in zip(a.tolist(), b.tolist(), strict=True)})
        == len(set(a.tolist()))
        == len(set(b.tolist()))
    )


def test_diffusion_by_hand():
    """Three vectors; with one neighbour each, a vector moves half-way to the one it is closest to."""
    x = F.normalize(torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), dim=-1)
    moved = diffuse(x, neighbours=1, share=0.5)
    assert torch.allclose(moved[0], F.normalize(x[0] + x[1], dim=-1), atol=1e-6)
    assert torch.allclose(moved[2], F.normalize(x[2] + x[1], dim=-1), atol=1e-6)


def test_diffusion_equals_a_naive_loop(monkeypatch):
    monkeypatch.setattr("newfound.algorithms.ensembles.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("newfound.algorithms.neighbours.ROWS_AT_ONCE", 7)
    x, _ = bundles(sizes=(9, 8))
    moved = diffuse(x, neighbours=3, share=0.4)
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        similarity = torch.stack([x[i] @ x[j] for j in others])
        value, index = similarity.topk(3)
        mean = sum(w * x[others[j]] for w, j in zip((value / 0.1).softmax(0), index.tolist(), strict=True))
        assert torch.allclose(moved[i], F.normalize(0.6 * x[i] + 0.4 * mean, dim=-1), atol=1e-5)


def test_diffusion_of_one_vector_is_itself():
    x = torch.tensor([[1.0, 0.0]])
    assert torch.equal(diffuse(x), x)


@pytest.mark.parametrize("sizes", [(60,) * 6, (120, 60, 30, 15, 10, 8)])
def test_clear_intents_are_found_whatever_their_sizes(sizes):
    x, label = bundles(sizes, spread=0.05)
    votes = [label_freely(view, 6, seed=s).refined for view in (x, diffuse(x)) for s in range(6)]
    assert same_partition(consensus_clustering(votes, 6, seed=0), label)


def test_evening_out_repairs_what_k_means_merged_and_split():
    """From one start k-means merges two bundles and splits a third; even, then free, most starts end right."""
    x, label = bundles((50,) * 10, spread=0.08, width=16)
    plain = sum(same_partition(kmeans(x, 10, restarts=1, seed=s).labels, label) for s in range(10))
    even = sum(same_partition(label_freely(x, 10, seed=s).refined, label) for s in range(10))
    assert even > plain


def test_consistency_by_hand():
    """Two alike and one that says nothing of the two: the pairs agree 1, 0 and 0."""
    a, nothing = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 0, 0])
    assert consistency([a, 1 - a, nothing]) == pytest.approx(1 / 3)


def test_even_sizes_are_believed_where_intents_are_even_and_not_in_a_long_tail():
    def is_even(sizes):
        x, _ = bundles(sizes, spread=0.12)
        votes = [label_freely(x, 12, seed=s) for s in range(6)]
        return any(counted is not v.kmeans for counted, v in zip(select_labellings(votes), votes, strict=True))

    assert is_even((40,) * 12)
    assert not is_even((200, 120, 80, 50, 30, 20, 12, 8, 8, 6, 6, 5))


def test_agreement_outvotes_a_wrong_clustering():
    _, label = bundles()
    wrong = torch.zeros_like(label)
    wrong[::2] = 5
    assert same_partition(consensus_clustering([label, label.flip(0).max() - label, label, wrong], 6, seed=0), label)


@pytest.mark.parametrize("clusters", [1, 2, 3])
def test_a_consensus_of_fewer_clusters_than_wanted_has_as_many_as_they_tell_apart(clusters):
    """Nothing tells the rows of a cluster apart where all clusterings have them together."""
    label = torch.arange(clusters).repeat_interleave(7)
    agreed = consensus_clustering([label, clusters - 1 - label, 2 * label], 5, seed=0)
    assert same_partition(agreed, label)
    assert sorted(set(agreed.tolist())) == list(range(clusters)), "numbers without gaps"


def test_a_consensus_may_have_more_clusters_than_each_clustering():
    """One says whether a row is in the first half, the other whether its number is even: together, four clusters."""
    half, parity = torch.arange(12) // 6, torch.arange(12) % 2
    agreed = consensus_clustering([half, parity], 6, seed=0)
    assert same_partition(agreed, 2 * half + parity)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_fewer_rows_than_clusters_are_clustered_all_the_same(rows):
    x, _ = bundles((rows,))
    ensemble = cluster_ensemble(x, 20, 2, partial(derive, 0))
    assert all(int(labels.min()) >= 0 and int(labels.max()) < 20 for labels in ensemble)
    agreed = consensus_clustering(ensemble, 20, seed=0)
    assert sorted(set(agreed.tolist())) == list(range(len(set(agreed.tolist()))))
    y = torch.full((rows,), -1)
    y[0] = 0
    assert cluster_around(x, y, 1, 20, seed=0).shape == (rows,)


@pytest.mark.parametrize("seed", range(8))
def test_clusterings_that_agree_have_a_consensus(seed):
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 4, (40,), generator=generator)
    assert same_partition(consensus_clustering([label] * 12 + [label + 20] * 24, 4, seed=0), label)


def test_agreement_by_hand():
    """Two clusterings of five rows: one says what the consensus says under other numbers, one puts row 2 elsewhere."""
    consensus = torch.tensor([0, 0, 1, 1, 1])
    same, other = torch.tensor([1, 1, 0, 0, 0]), torch.tensor([0, 0, 0, 1, 1])
    assert share_agreeing([same, other], consensus).tolist() == [1.0, 1.0, 0.5, 1.0, 1.0]
    assert share_agreeing([same], consensus).tolist() == [1.0] * 5


def test_clusters_are_named_by_the_labels_they_hold():
    """Known intents 0 and 1; cluster 2 holds the rows of 0, cluster 0 those of 1, cluster 1 none."""
    clusters, y = torch.tensor([2, 2, 0, 0, 1, 1, 2]), torch.tensor([0, -1, 1, -1, -1, -1, 1])
    assert name_by_labels(clusters, y, 2).tolist() == [0, 0, 1, 1, 2, 2, 1]


def test_a_cluster_that_holds_no_label_of_an_intent_is_not_named_after_it():
    """The labels of both intents are in cluster 0, most of them of intent 1; cluster 1 holds no label at all."""
    clusters, y = torch.tensor([0, 0, 0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, -1, -1, -1, -1])
    assert name_by_labels(clusters, y, 2).tolist() == [0, 1, 1, 1, 2, 2, 3]


def test_an_intent_without_labels_names_no_cluster():
    clusters, y = torch.tensor([0, 0, 1, 1]), torch.tensor([2, -1, -1, -1])
    assert name_by_labels(clusters, y, 3).tolist() == [2, 2, 3, 3]


def test_labelled_rows_keep_their_labels_and_new_intents_are_found_around_them():
    x, label = bundles((40,) * 6, spread=0.1)
    y = torch.full_like(label, -1)
    for intent in range(3):
        y[(label == intent).nonzero().squeeze(1)[:2]] = intent
    for view in views(x):
        found = cluster_around(view, y, 3, 6, seed=0)
        assert torch.equal(found[y >= 0], y[y >= 0])
        assert (found == label)[label < 3].float().mean() > 0.9


def test_other_rows_follow_the_nearest_mean():
    x, label = bundles((30,) * 4, spread=0.05)
    assert torch.equal(extend(label[1::2], x[1::2], x[::2]), label[::2])


def test_where_only_some_rows_are_clustered_the_others_follow_and_have_a_share_that_agrees():
    """Three groups of ten, of which the even rows are clustered; half of the clusterings join the last two groups."""
    gold = torch.arange(3).repeat_interleave(10)
    noise = torch.randn(30, 8, generator=torch.Generator().manual_seed(0))
    x = F.normalize(F.one_hot(gold, 8).float() + 0.05 * noise, dim=-1)
    rows = torch.arange(0, 30, 2)
    labels = gold[rows].clone()
    labels[0] = 2  # a row that the consensus has elsewhere than its neighbours keeps its label
    joined = gold[rows].clamp(max=1)
    followed, shares = extend_consensus(labels, [gold[rows], joined], x, rows)
    assert torch.equal(followed[rows], labels)
    assert torch.equal(followed[1::2], gold[1::2])
    # Joined clusters stand for the group that most of their rows belong to: one of the two groups disagrees.
    assert torch.equal(shares[gold == 0], torch.ones(10))
    assert {float(shares[gold == i].unique()) for i in (1, 2)} == {0.5, 1.0}


def test_all_rows_clustered_is_a_special_case_of_some_rows_clustered():
    x = F.normalize(torch.eye(4).repeat_interleave(5, dim=0), dim=-1)
    labels = torch.arange(4).repeat_interleave(5)
    labellings = [labels, labels.clamp(max=2), labels.flip(0)]
    followed, shares = extend_consensus(labels, labellings, x, torch.arange(20))
    assert torch.equal(followed, labels)
    assert torch.equal(shares, share_agreeing(labellings, labels))


def test_other_labellings_count_only_where_they_agree_more():
    sure = [torch.tensor([0, 0, 1, 1, 2, 2])] * 3
    torn = [torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([0, 1, 1, 2, 2, 0]), torch.tensor([0, 1, 2, 0, 1, 2])]
    assert is_more_consistent(sure, torn, 0.05)
    assert not is_more_consistent(torn, sure, 0.05)
    assert not is_more_consistent(sure, sure, 0.05)
    assert not is_more_consistent(sure, torn, 1.01 - consistency(torn))
    assert not is_more_consistent([], torn, 0.05)
