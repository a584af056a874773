"""Gentle fine-tuning, and the efforts that use it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import newfound
from newfound.data.corpus import Corpus
from newfound.errors import SettingsError
from newfound.methods.consensus import Consensus
from newfound.methods.finetuning import epochs_for_steps, steps_of_epoch
from newfound.methods.kmeans import KMeans
from newfound.model.folder import load
from newfound.training.schedule import AdamWSchedule
from newfound.workflows.fitting import TrainingOptions, has_few_labels, settings_of_effort
from newfound.workflows.runtime import Runtime

pytestmark = pytest.mark.slow  # dozens of fits

FAST = {"n_new": 2, "device": "cpu", "epochs": 5, "finetune_epochs": 2, "round_epochs": 1, "rounds": 1}


@pytest.fixture(scope="module")
def tuned(tiny_encoder, themed):
    return Consensus(encoder=tiny_encoder, tune="layers", logs="novel", **FAST).fit(themed.texts, themed.labels)


def test_rates_by_hand():
    """Two epochs of ten steps, a tenth of them warm-up: 1/2, 1, then half a cosine over eighteen steps."""
    schedule = AdamWSchedule(epochs=2, lr=2.0, head_lr=4.0, warmup=0.1)
    rates = [schedule.rates(step, 10) for step in range(20)]
    assert [r["encoder"] for r in rates[:3]] == pytest.approx([1.0, 2.0, 2.0])
    assert rates[11]["encoder"] == pytest.approx(1.0)
    assert rates[-1]["encoder"] == pytest.approx(2.0 * (1 + np.cos(np.pi * 17 / 18)) / 2)
    assert all(r["heads"] == pytest.approx(2 * r["encoder"]) for r in rates)


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"lr": 0}, {"head_lr": -1}, {"warmup": 1.0}])
def test_schedules_that_cannot_work_are_refused(wrong):
    with pytest.raises(SettingsError):
        AdamWSchedule(**wrong)


def test_every_layer_moves_and_the_word_embeddings_do_not(tuned, tiny_encoder):
    tail = tuned.model_.network.tail
    fresh = tiny_encoder.tail(tuned.model_.tune)
    before, after = dict(fresh.named_parameters()), dict(tail.named_parameters())
    moved = {name for name in after if not torch.equal(before[name], after[name])}
    assert not any("embeddings" in name for name in moved)
    assert {name.split(".")[2] for name in moved if ".layers." in name} == {"0", "1", "2"}
    assert set(tail.trained()) == {name for name in after if "embeddings" not in name}


def test_the_loss_falls_and_rounds_are_recorded(tuned):
    assert [len(tuned.history_[stage]) for stage in ("fine-tuning", "round 1", "training")] == [2, 1, 5]
    assert len(tuned.history_["consensus"]) == 2


def test_same_seed_same_model(tiny_encoder, themed, tuned):
    again = Consensus(encoder=tiny_encoder, tune="layers", logs="novel", **FAST).fit(themed.texts, themed.labels)
    np.testing.assert_array_equal(again.predict_proba(themed.texts), tuned.predict_proba(themed.texts))


@pytest.mark.parametrize("with_encoder", [False, True])
def test_a_tuned_model_is_saved_whole_and_loads_identically(tuned, themed, tiny_folder, tmp_path, with_encoder):
    tuned.model_.save(tmp_path / "m", with_encoder=with_encoder)
    loaded = load(tmp_path / "m", encoder=None if with_encoder else str(tiny_folder))
    np.testing.assert_array_equal(loaded.predict_proba(themed.texts), tuned.predict_proba(themed.texts))


def test_the_encoder_is_left_as_it_was(tiny_encoder, tiny_folder, tuned):
    from newfound.encoders.encoder import load_encoder

    assert tiny_encoder.weights_hash() == load_encoder(str(tiny_folder)).weights_hash()


def test_mixed_logs_estimated_numbers_refits_and_updates_work_on_a_tuned_model(tiny_encoder, themed, tmp_path):
    known, logs = themed.labelled(), [*themed.unlabelled().texts, *themed.labelled().texts[:20]]
    settings = {"finetune_epochs": 1, "finetune_steps": 1, "round_epochs": 1, "epochs": 5}
    options = {"encoder": tiny_encoder, "device": "cpu", "effort": "best"}
    result = newfound.discover(known, logs, tmp_path / "m", settings=settings, **options)
    assert result.n_new == sum(not i.known for i in result.intents)
    assert newfound.refit(tmp_path / "m", encoder=tiny_encoder, device="cpu", effort="standard").model.intents
    updated = newfound.update(
        tmp_path / "m",
        ["cancel book", "book cancel now"],
        n_new=1,
        accept_all=True,
        encoder=tiny_encoder,
        effort="quick",
    )
    assert {i.name for i in updated.intents} >= {i.name for i in result.intents}


class Notes:
    def __init__(self):
        self.said = []

    def note(self, message):
        self.said.append(message)


def test_what_an_effort_stands_for():
    notes = Notes()
    runtime = Runtime(notes, device="cpu")

    def settings(method=Consensus, **options):
        return settings_of_effort(method, TrainingOptions(**options), runtime)

    assert settings(effort="quick") == {"tune": "heads"}
    assert settings(effort="standard") == {"tune": "layers", "rounds": 0}
    assert settings(effort="best") == {"tune": "layers", "rounds": "auto"}
    assert settings(effort="best", tune="last:2") == {"tune": "last:2", "rounds": "auto"}
    assert settings(KMeans, effort="best") == {"tune": "last"}
    assert settings(tune="last") == {"tune": "last", "rounds": 0}
    assert notes.said == []
    assert settings() == {"tune": "heads"}
    assert "no GPU here" in notes.said[0]
    with pytest.raises(SettingsError, match="one of auto, quick, standard, best"):
        settings(effort="more")


def test_a_fine_tuning_that_draws_a_part_of_the_data_says_so(monkeypatch):
    from types import SimpleNamespace

    from newfound.methods import finetuning

    said = []
    context = SimpleNamespace(
        unlabelled_rows=torch.arange(100_000), run=SimpleNamespace(reporter=SimpleNamespace(note=said.append))
    )
    finetuning._note_sampling(context, torch.arange(5_000) % 50)
    assert said == [
        "an epoch of the fine-tuning draws 5,000 of 5,000 labelled and 5,120 of 100,000 unlabelled utterances"
    ]
    context.unlabelled_rows = torch.arange(6_000)
    finetuning._note_sampling(context, torch.arange(5_000) % 50)
    assert len(said) == 1


def test_on_a_gpu_few_labels_leave_the_encoder_as_it_is(monkeypatch):
    """With 5 labels for each intent, fine-tuning lost on half of the corpora; with 10 it gained on nearly all."""
    monkeypatch.setattr("newfound.workflows.fitting.pick_device", lambda _: torch.device("cuda"))
    few = Corpus.of([f"text {i}" for i in range(15)], [f"intent {i % 3}" for i in range(15)])
    many = Corpus.of([f"text {i}" for i in range(30)], [f"intent {i % 3}" for i in range(30)])
    one = Corpus.of([f"text {i}" for i in range(30)], ["intent"] * 30)
    assert [has_few_labels(corpus) for corpus in (few, many, one, Corpus.of([]))] == [True, False, True, True]
    notes = Notes()
    runtime = Runtime(notes)
    assert settings_of_effort(Consensus, TrainingOptions(), runtime, few_labels=True) == {"tune": "heads"}
    assert "too few labels" in notes.said[0]
    assert settings_of_effort(Consensus, TrainingOptions(), runtime)["tune"] == "layers"


def test_few_labels_are_trained_on_for_enough_steps():
    """Sixteen labels of two intents are one step an epoch; 600 of 50 intents three."""
    few, many = torch.tensor([0, 1] * 8), torch.arange(600) % 50
    assert (steps_of_epoch(few), epochs_for_steps(few, 100)) == (1, 100)
    assert (steps_of_epoch(many), epochs_for_steps(many, 100)) == (3, 34)
