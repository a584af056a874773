"""The default on everyday logs: the real encoder, ten labels for each known intent, everything else in the logs.

Fine-tuning once made nearly every utterance look untypical beside the labelled ones, and half of ordinary logs lost
their intent; no test fitted the default on mixed logs.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from newfound.algorithms.metrics import strict_scores
from newfound.data.demo_corpus import load_demo
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import load_encoder
from newfound.methods.consensus import Consensus
from newfound.paths import feature_cache_dir

pytestmark = pytest.mark.real_encoder

LABELS = 10
STEPS = 20  # of the fine-tuning: a third of the default


@cache
def everyday(effort):
    """Accuracies on the rows of the logs, and the share of them that has no intent."""
    task = load_demo()
    known, labels = set(task.known), []
    given = dict.fromkeys(known, 0)
    for label in task.train.labels:
        is_given = label in known and given[label] < LABELS
        labels.append(label if is_given else None)
        given[label] = given.get(label, 0) + is_given
    encoder = load_encoder("minilm", cache=FeatureCache(feature_cache_dir()))
    settings = {"n_new": len(task.new), "encoder": encoder, "device": "cpu", "finetune_steps": STEPS}
    fitted = Consensus(**settings, **Consensus.EFFORTS[effort]).fit(task.train.texts, labels)
    number = {name: i for i, name in enumerate(fitted.classes_)} | {None: -1}
    logs = [i for i, label in enumerate(labels) if label is None]
    predicted = np.array([number[fitted.labels_[i]] for i in logs])
    return strict_scores(task.gold_ids(task.train)[logs], predicted, len(known)), float(np.mean(predicted < 0))


@pytest.mark.parametrize("effort", ["quick", "standard"])
def test_clean_rows_keep_their_intent(effort):
    assert everyday(effort)[1] < 0.05


def test_fine_tuning_is_not_below_a_frozen_encoder():
    quick, standard = everyday("quick")[0], everyday("standard")[0]
    assert standard.all_acc > quick.all_acc - 5
    assert standard.ind_acc > quick.ind_acc - 5
