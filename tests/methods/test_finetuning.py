"""Gentle fine-tuning, and the efforts that use it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import newfound
from newfound.data.corpus import Corpus
from newfound.encoders.tail import Tail
from newfound.errors import SettingsError
from newfound.methods.consensus import Consensus, has_few_labels
from newfound.methods.finetuning import FineTuning
from newfound.methods.kmeans import KMeans
from newfound.model.folder import load
from newfound.training.schedule import AdamWSchedule
from newfound.workflows.fitting import settings_of_effort
from newfound.workflows.runtime import Runtime

pytestmark = pytest.mark.slow  # dozens of fits

FAST = {"n_new": 2, "device": "cpu", "epochs": 5, "finetune_steps": 20}


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


def test_few_labels_take_fewer_steps():
    """Five intents give 20 rows to a step, so that 15 rows are seen 30 times in 22 steps."""
    assert FineTuning().bounded(15, 5).steps == 22
    assert FineTuning().bounded(1_000, 5).steps == FineTuning().steps


def test_every_layer_moves_and_the_word_embeddings_do_not(tuned, tiny_encoder):
    tail = tuned.model_.embedder.network.tail
    fresh = tiny_encoder.tail(tuned.model_.embedder.tune)
    before, after = dict(fresh.named_parameters()), dict(tail.named_parameters())
    moved = {name for name in after if not torch.equal(before[name], after[name])}
    assert not any("embeddings" in name for name in moved)
    assert {name.split(".")[2] for name in moved if ".layers." in name} == {"0", "1", "2"}
    assert set(tail.trained()) == {name for name in after if "embeddings" not in name}


def test_the_loss_falls(tuned):
    losses = [epoch["supervised"] for epoch in tuned.history_["fine-tuning"]]
    assert len(losses) == 2, "twenty steps are two epochs of the progress bar"
    assert losses[1] < losses[0]


@pytest.mark.parametrize(("weight", "seen"), [(None, False), (0.1, True)])
def test_rows_of_the_logs_are_run_only_if_they_count(tiny_encoder, themed, monkeypatch, weight, seen):
    steps = []

    def note(tail, features, batch, views=1):
        if tail.training:
            steps.append((len(batch.rows), tail.stack.attention_dropout))
        return forward(tail, features, batch, views)

    forward = Tail.forward
    monkeypatch.setattr(Tail, "forward", note)
    method = Consensus(encoder=tiny_encoder, tune="last", instance_weight=weight, **FAST)
    model = method.fit(themed.texts, themed.labels).model_
    known = sum(intent.known for intent in model.intents)
    assert len(steps) == 20
    assert {rows > 4 * known for rows, _ in steps} == {seen}, "a step has four labelled rows of each known intent"
    assert not any(dropout for _, dropout in steps)
    assert model.embedder.network.tail.stack.attention_dropout, "other trainings have it"


def test_the_model_has_the_vectors_of_its_own_network(tiny_encoder, themed):
    """They are computed once, after the fine-tuning, and not again for names, limits and examples."""
    model = Consensus(encoder=tiny_encoder, tune="last", **FAST).fit(themed.texts, themed.labels).model_
    shown = {u.text: u.probability for u in model.utterances if not u.labelled and u.intent is not None}
    predicted = model.predict_proba(list(shown)).max(1)
    np.testing.assert_allclose(predicted, list(shown.values()), atol=2e-3)


@pytest.mark.parametrize(("labels", "share"), [(8, 0.8), (7, 0.5)])
def test_vectors_before_and_after_are_joined_by_how_many_labels_there_are(labels, share):
    frozen, tuned = torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # the tuned encoder makes the two rows one
    context = SimpleNamespace(tune=SimpleNamespace(layers=1), n_known=1, y=torch.tensor([0] * labels + [-1]))
    joined = Consensus()._join(context, frozen, tuned)
    assert torch.allclose(joined @ joined.T, torch.tensor([[1.0, share], [share, 1.0]]))
    assert Consensus(logs="novel")._join(context, frozen, tuned) is tuned


def test_half_of_the_layers_move_by_default(tiny_encoder, themed):
    model = Consensus(encoder=tiny_encoder, logs="novel", **FAST).fit(themed.texts, themed.labels).model_
    assert model.embedder.tune.layers == 1, "of three"
    assert not model.embedder.tune.everything


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
    settings = {"finetune_steps": 1, "epochs": 5}
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


def corpus(labels):
    """Three intents with this many labels each, and some logs."""
    texts = [f"text {i}" for i in range(3 * labels + 5)]
    return Corpus.of(texts, [f"intent {i % 3}" if i < 3 * labels else None for i in range(len(texts))])


def test_what_an_effort_stands_for():
    notes = Notes()
    runtime = Runtime(notes, device="cpu")

    def settings(method=Consensus, labels=10, **options):
        return settings_of_effort(method, corpus(labels), runtime, **options)

    assert settings(effort="quick") == {"tune": "heads"}
    assert settings(effort="standard") == {"tune": "upper"}
    assert settings(effort="best") == {"tune": "upper"}, "in mixed logs all layers gained nothing"
    assert settings(effort="best", logs_hold="novel") == {"tune": "layers"}
    assert settings(effort="best", tune="last:2") == {"tune": "last:2"}
    assert settings(KMeans, effort="best") == {"tune": "last"}
    assert settings(tune="last") == {"tune": "last"}
    assert notes.said == []
    assert settings() == {"tune": "upper"}, "on a CPU, too"
    assert "upper half of the encoder is fine-tuned first" in notes.said[0]
    assert settings(labels=2) == {"tune": "heads"}
    assert "too few labels" in notes.said[1]
    assert settings(KMeans) == {"tune": "heads"}
    with pytest.raises(SettingsError, match="one of auto, quick, standard, best"):
        settings(effort="more")


def test_the_estimator_and_the_workflow_mean_the_same_recipe():
    """`Consensus()` and `newfound.discover` train the same layers with the same labels, on every device."""
    for labels in (2, 3, 10):
        for device in ("cpu", "cuda"):
            auto = Consensus.auto_tune(corpus(labels), torch.device(device))
            assert auto == ("heads" if labels < 3 else Consensus.EFFORTS["standard"]["tune"])
    assert set(Consensus.EFFORTS["standard"]) == {"tune"}, "everything else is the default of the estimator"


def test_how_many_labels_are_few():
    one = Corpus.of([f"text {i}" for i in range(30)], ["intent"] * 30)
    assert [has_few_labels(c) for c in (corpus(2), corpus(3), one, Corpus.of([]))] == [True, False, True, True]


def test_long_logs_that_do_not_fit_into_memory_leave_the_encoder_as_it_is(monkeypatch):
    monkeypatch.setattr("newfound.methods.consensus.MAX_TOKENS_TO_FINE_TUNE", 50)
    assert Consensus.auto_tune(corpus(10), torch.device("cpu")) == "heads"
