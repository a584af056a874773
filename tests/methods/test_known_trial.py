"""Labels that are hidden from a fit, to see whether known intents suffer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import newfound
from newfound.methods.checking import KnownTrial
from newfound.methods.context import EncodedCorpus
from newfound.model.types import KnownCheck


def context(y, by_person=None):
    y = torch.tensor(y)
    given = torch.ones(len(y), dtype=torch.bool) if by_person is None else torch.tensor(by_person)
    train = EncodedCorpus(None, [], None, y, given)
    return SimpleNamespace(seed=0, y=y, train=train, n_known=int(y.max()) + 1)


def test_a_tenth_of_the_labels_is_drawn_of_all_intents_in_turn():
    trial = KnownTrial.draw(context([0] * 40 + [1] * 20 + [2] * 4 + [-1] * 30))
    assert len(trial.rows) == 6, "a tenth of 64"
    assert sorted(trial.y.tolist()) == [0, 0, 0, 1, 1, 1], "intent 2 has too few labels to hide one"
    assert len(set(trial.rows.tolist())) == 6


def test_at_most_two_hundred_and_a_fifth_of_an_intent_are_hidden():
    assert len(KnownTrial.draw(context([i % 10 for i in range(5_000)])).rows) == 200
    trial = KnownTrial.draw(context([0] * 1_000 + [1] * 5))
    assert trial.y.tolist().count(1) == 1


def test_without_enough_labels_nothing_is_hidden():
    trial = KnownTrial.draw(context([0, 0, 0, 1, 1, 1, -1]))
    assert not len(trial.rows)
    assert trial.compare(None, None, None, None) is None


def test_only_what_a_person_labelled_is_compared():
    trial = KnownTrial.draw(context([0] * 40 + [1] * 40, by_person=[True] * 40 + [False] * 40))
    assert set(trial.y.tolist()) == {0}


def test_hidden_labels_come_back():
    y = torch.tensor([0] * 10 + [1] * 10)
    trial = KnownTrial.draw(context(y.tolist()))
    hidden = y.index_fill(0, trial.rows, -1)
    assert (hidden[trial.rows] == -1).all()
    assert torch.equal(hidden.index_copy(0, trial.rows, trial.y), y)


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["quick", "standard"])
def test_discover_update_and_refit_say_how_known_intents_fare(effort, tiny_encoder, themed, tmp_path):
    known, logs = themed.labelled(), list(themed.unlabelled().texts)
    options = {"encoder": tiny_encoder, "device": "cpu", "effort": effort}
    result = newfound.discover(known, logs, tmp_path / "m", settings={"finetune_steps": 5}, **options)
    check = result.known_check
    assert check == KnownCheck.of(newfound.load(tmp_path / "m", encoder=tiny_encoder).provenance)
    assert check.labels == round(0.1 * len(known))
    assert check.now >= check.plain - 0.2
    assert newfound.refit(tmp_path / "m", tmp_path / "r", **options).known_check.labels > 0
    newer = [f"{text} now" for text in logs[:20]]
    updated = newfound.update(tmp_path / "m", newer, accept_all=True, n_new=1, **options)
    assert updated.known_check.labels > 0
