"""Guards of quality: the real encoder on the demo corpus, 15 known and 12 new intents, with a frozen encoder.

A guard must hold for every seed and on every processor, so each margin is five standard deviations over seeds 0 to 9.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from newfound.algorithms.metrics import accuracy, map_clusters, strict_scores
from newfound.data.demo_corpus import load_demo
from newfound.encoders.encoder import load_encoder
from newfound.methods.registry import method_named
from newfound.training.run import Run

pytestmark = pytest.mark.real_encoder


@cache
def demo():
    """The task, the encoder, and a memory that all fits share."""
    return load_demo(), load_encoder("minilm"), {}


@cache
def fitted(method, **settings):
    task, encoder, memory = demo()
    settings = {"encoder": encoder, "n_new": len(task.new), "tune": "heads", "device": "cpu", **settings}
    train = task.observed_train
    return method_named(method)(**settings).fit(train.texts, train.labels, run=Run(memory=memory)).model_


@cache
def scores(method, **settings):
    task, *_ = demo()
    predicted = fitted(method, **settings).predict_ids(task.test.texts)
    return strict_scores(task.gold_ids(task.test), predicted, len(task.known))


def test_consensus_is_not_below_kmeans_and_not_below_a_floor():
    found, naive = scores("consensus", logs="novel"), scores("kmeans")
    assert found.ood_acc > naive.ood_acc - MARGIN
    assert found.ind_acc > FLOOR
    assert found.ood_acc > FLOOR


def test_dpl_is_not_below_kmeans_and_not_below_a_floor():
    found, naive = scores("dpl"), scores("kmeans")
    assert found.ood_acc > naive.ood_acc - MARGIN
    assert found.ind_acc > FLOOR
    assert found.ood_acc > FLOOR


def test_the_expected_error_is_near_the_real_one():
    """What the model says of its predictions of the logs is compared with the gold labels of the logs."""
    task, *_ = demo()
    model = fitted("consensus", logs="novel")
    logs = [i for i, label in enumerate(task.observed_train.labels) if label is None]
    gold = task.gold_ids(task.train)[logs]
    texts = [task.train.texts[i] for i in logs]
    right = accuracy(gold, map_clusters(gold, model.predict_ids(texts))) / 100
    expected = float(np.mean(model.predict_proba(texts).max(1)))
    assert expected == pytest.approx(right, abs=0.1)
    assert model.reliability < 1
