from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.harness.conditions import Condition, apply_condition

from conftest import themed_corpus
from newfound.data.task import make_task
from newfound.errors import SettingsError

STRAY = tuple(f"nothing {i}" for i in range(40))


@pytest.fixture
def task():
    gold = themed_corpus(unlabelled=())  # 30 of each theme
    return make_task("toy", ["pay", "meter", "leak"], ["move", "solar"], train=gold, dev=gold, test=gold)


def test_a_long_tail_falls_to_one_over_the_factor_and_leaves_known_intents_alone(task):
    sizes = apply_condition(task, Condition(imbalance=10)).train.sizes
    assert sorted(sizes[intent] for intent in task.new) == [3, 30]
    assert {sizes[intent] for intent in task.known} == {30}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_mixed_logs_have_the_share_and_the_same_new_utterances_at_every_level(task, share):
    """45 known utterances keep their label and 45 are spare, which at 60 % are joined by 30 new ones."""
    mixed = apply_condition(task, Condition(mixed=share))
    seen = mixed.observed_train
    assert Counter(seen.labels) == {"pay": 15, "meter": 15, "leak": 15, None: 30 + len(mixed.unlabelled)}
    assert len(mixed.unlabelled) == round(30 * share / (1 - share))
    assert {mixed.train.labels[i] for i in mixed.unlabelled} <= set(task.known)
    new = {text for text, label in zip(mixed.train.texts, mixed.train.labels, strict=True) if label in task.new}
    unmixed = apply_condition(task, Condition(mixed=0.0)).train
    assert new == {text for text, label in zip(unmixed.texts, unmixed.labels, strict=True) if label in task.new}


@pytest.mark.parametrize(("share", "kept"), [(0.1, 3), (0.001, 1), (0.0, 0), (1.0, 30)])
def test_few_labels_leave_the_rest_to_the_logs(task, share, kept):
    few = apply_condition(task, Condition(labelled=share))
    assert few.train == task.train, "no utterance is lost"
    counts = Counter(few.observed_train.labels)
    assert {counts[intent] for intent in task.known} == {kept}
    assert counts[None] == 150 - 3 * kept
    assert few.observed_train.intents == (tuple(sorted(task.known)) if kept else ())


def test_noise_is_in_the_logs_without_a_label_and_other_noise_in_the_test(task):
    noisy = apply_condition(task, Condition(noise=0.3), out_of_scope=STRAY)
    in_logs = [text for text in noisy.train.texts if text in STRAY]
    assert len(in_logs) == round(60 * 0.3 / 0.7)  # 30 are spare: enough for all 60 new utterances
    assert set(in_logs).isdisjoint(noisy.out_of_scope)
    assert len(noisy.out_of_scope) == 10
    assert (noisy.gold_ids(noisy.train) == -1).sum() == len(in_logs)
    assert apply_condition(task, Condition(noise=0.0), out_of_scope=STRAY).train == task.train


def test_conditions_repeat_with_the_seed_and_refuse_what_cannot_be(task):
    condition = Condition(imbalance=5)
    assert apply_condition(task, condition, seed=1) == apply_condition(task, condition, seed=1)
    assert apply_condition(task, condition, seed=1) != apply_condition(task, condition, seed=2)
    for wrong in ({"imbalance": 0.5}, {"noise": 0.5}, {"mixed": -0.1}):
        with pytest.raises(SettingsError, match="must"):
            Condition(**wrong)
    with pytest.raises(SettingsError, match="out-of-scope"):
        apply_condition(task, Condition(noise=0.1))
