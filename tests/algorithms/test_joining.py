"""Joining pieces by what the known intents teach, and words beside vectors."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from newfound.algorithms.consensus import surer, unanimity
from newfound.algorithms.joining import NEIGHBOURS, Joiner, join_pieces, learn_joining, pair_features
from newfound.algorithms.lexical import with_words
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.neighbours import nearest
from newfound.training.seeding import derive


def intents_of_two_lumps(intents: int, per_lump: int = 15, seed: int = 0):
    """Every intent is two lumps side by side; the intents lie far apart."""
    generator = torch.Generator().manual_seed(seed)
    x, y = [], []
    for intent in range(intents):
        centre = F.normalize(torch.randn(24, generator=generator), dim=-1)
        for _ in range(2):
            lump = centre + 0.1 * torch.randn(24, generator=generator)
            x.append(lump + 0.03 * torch.randn(per_lump, 24, generator=generator))
            y += [intent] * per_lump
    return F.normalize(torch.cat(x), dim=-1), torch.tensor(y)


def test_features_of_a_pair_by_hand():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    pieces = torch.tensor([0, 0, 1, 2])
    votes = [torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1, 1])]
    near = torch.tensor([[1], [0], [3], [2]])
    features = pair_features(x, pieces, votes, near)
    assert features.shape == (3, 3, 9)
    assert np.allclose(features, features.transpose(1, 0, 2))
    assert features[1, 2, 0] == pytest.approx(0.8)  # cosine of the centres
    assert features[1, 2, 1] == pytest.approx(1.0)  # each has its only neighbour in the other
    assert features[0, 1, 1] == 0.0
    assert features[0, 1, 4] == pytest.approx(0.25)  # together in no vote, and half of piece 0 in the second one
    assert features[0, 1, 5] == pytest.approx(np.log(2 / (4 / 3)))  # the larger size over the mean size


def test_what_known_intents_teach_joins_the_pieces_of_the_logs():
    known, y = intents_of_two_lumps(12, seed=1)
    logs, gold = intents_of_two_lumps(10, seed=2)
    joiner = learn_joining(known, y, 10, seed=partial(derive, 0))
    assert joiner is not None
    near = nearest(logs, NEIGHBOURS)[1]
    found = join_pieces(logs, 10, 2, joiner, [torch.zeros(len(logs), dtype=torch.int64)], near, seed=3)
    assert accuracy(gold.numpy(), map_clusters(gold.numpy(), found.numpy())) > 95
    again = join_pieces(logs, 10, 2, joiner, [torch.zeros(len(logs), dtype=torch.int64)], near, seed=3)
    assert torch.equal(found, again)


def test_one_known_intent_teaches_nothing():
    x, _ = intents_of_two_lumps(3)
    assert learn_joining(x, torch.zeros(len(x), dtype=torch.int64), 3, seed=partial(derive, 0)) is None


def test_joining_ends_with_as_many_clusters_as_asked_for():
    x, _ = intents_of_two_lumps(6)
    near = nearest(x, NEIGHBOURS)[1]
    rule = Joiner(np.eye(9)[0], 0.0)  # by the cosine of the centres alone
    votes = [torch.zeros(len(x), dtype=torch.int64)]
    assert len(join_pieces(x, 4, 3, rule, votes, near, seed=0).unique()) == 4


def test_other_labellings_count_only_where_they_are_surer():
    sure = [torch.tensor([0, 0, 1, 1, 2, 2])] * 3
    torn = [torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([0, 1, 1, 2, 2, 0]), torch.tensor([0, 1, 2, 0, 1, 2])]
    assert surer(sure, torn, 0.05)
    assert not surer(torn, sure, 0.05)
    assert not surer(sure, sure, 0.05)
    assert not surer(sure, torn, 1.01 - unanimity(torn))
    assert not surer([], torn, 0.05)


def test_words_tell_apart_what_vectors_do_not():
    texts = [f"please fix my {thing} today" for thing in ("toaster", "kettle") for _ in range(5)]
    x = F.normalize(torch.ones(10, 4), dim=-1)
    worded = with_words(x, texts, seed=0)
    assert torch.allclose(worded.norm(dim=-1), torch.ones(10))
    similarity = worded @ worded.T
    assert similarity[0, 1] == pytest.approx(1.0)
    assert similarity[0, 5] < 0.95
    assert torch.equal(with_words(x, [f"word{i}" for i in range(10)], seed=0), x)  # no word occurs twice
