"""Guards of quality: the real encoder on the demo corpus, 15 known and 12 new intents, with a frozen encoder.

A guard must hold on every processor: a margin is five standard deviations over seeds. Where one seed says little, the
mean of three is compared.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from newfound.algorithms.metrics import accuracy, map_clusters, strict_scores
from newfound.data.demo_corpus import load_demo
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import load_encoder
from newfound.methods.registry import METHODS
from newfound.paths import feature_cache_dir
from newfound.training.run import Run

pytestmark = pytest.mark.real_encoder


@cache
def demo():
    """The task, the encoder, and a memory that all fits share."""
    return load_demo(), load_encoder("minilm", cache=FeatureCache(feature_cache_dir())), {}


def fit(method, train, **settings):
    """Return a model that encodes no text that was encoded before."""
    _, encoder, memory = demo()
    settings = {"encoder": encoder, "tune": "heads", "device": "cpu", **settings}
    fitted = METHODS[method].load()(**settings).fit(train.texts, train.labels, run=Run(memory=memory))
    return fitted.model_.with_cache(encoder.cache)


@cache
def fitted(method, **settings):
    task, *_ = demo()
    return fit(method, task.observed_train, n_new=len(task.new), **settings)


@cache
def accuracy_on_logs(method, **settings):
    """The share of the logs with the right intent, in percent, and what the model expects it to be."""
    task, *_ = demo()
    logs = [i for i, label in enumerate(task.observed_train.labels) if label is None]
    texts, gold = [task.train.texts[i] for i in logs], task.gold_ids(task.train)[logs]
    probabilities = fitted(method, **settings).predict_proba(texts)
    return accuracy(gold, map_clusters(gold, probabilities.argmax(1))), 100 * float(probabilities.max(1).mean())


def scores_on_test(method, **settings):
    task, *_ = demo()
    predicted = fitted(method, **settings).predict_ids(task.test.texts)
    return strict_scores(task.gold_ids(task.test), predicted, len(task.known))


def test_consensus_is_not_below_kmeans_and_not_below_a_floor():
    """On the logs it has 91.5 (standard deviation 0.3) and k-means 83.4 (4.6), of ten seeds at most 88.8."""
    assert accuracy_on_logs("consensus", logs="novel")[0] >= accuracy_on_logs("kmeans")[0]
    found = scores_on_test("consensus", logs="novel")
    assert found.ind_acc > 76, "78.5 on average, standard deviation 0.3"
    assert found.ood_acc > 81, "84.7 on average, standard deviation 0.6"


def test_dpl_is_not_below_kmeans():
    """Six known and five new intents: of the logs, k-means has 97.5 % with every seed, DPL 97.4 % (0.8) over six."""
    task, *_ = demo()
    names = [*task.known[:6], *task.new[:5]]
    rows = [i for i, label in enumerate(task.train.labels) if label in names]
    some, gold = task.observed_train.take(rows), [names.index(task.train.labels[i]) for i in rows]
    logs = [i for i, label in enumerate(some.labels) if label is None]

    def right(method):
        models = [fit(method, some, n_new=5, seed=seed) for seed in range(3)]
        found = [model.predict_proba([some.texts[i] for i in logs]).argmax(1) for model in models]
        true = np.array(gold)[logs]
        return np.mean([accuracy(true, map_clusters(true, predicted)) for predicted in found])

    assert right("dpl") > max(right("kmeans") - 2, 94)


def test_the_accuracy_that_consensus_expects_is_near_the_real_one():
    """It expects 78.0 and has 92.3 with seed 0: in logs of new intents only it is too modest, and never too sure."""
    right, expected = accuracy_on_logs("consensus", logs="novel")
    assert right - 25 < expected < right + 5
