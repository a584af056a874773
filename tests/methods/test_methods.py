"""What every method owes its user, and what DPL and E2E promise in particular. All on the tiny encoder."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from conftest import themed_corpus
from newfound import DPL, E2E, Consensus, DeepAligned, DeepAlignedMix, KMeans
from newfound.algorithms.metrics import strict_scores
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError, SettingsError
from newfound.methods.context import watch_nothing
from newfound.methods.deepaligned_mix import _name_columns
from newfound.methods.dpl import PrototypeNetwork
from newfound.methods.fitted import surplus_columns
from newfound.methods.registry import METHODS
from newfound.model.network import CosineClassifier
from newfound.training.run import Run

FAST = {"n_new": 2, "epochs": 4, "pretrain_epochs": 3, "batch_size": 64, "device": "cpu"}
CLASSES = {name: METHODS[name].load() for name in METHODS}
METHOD = pytest.mark.parametrize("method", CLASSES.values(), ids=CLASSES)
NEURAL = pytest.mark.parametrize("method", [DPL, E2E])


@pytest.fixture(scope="module")
def themed():
    """Fewer utterances than elsewhere, for the many fits."""
    return themed_corpus(per_theme=12)


def fit(method, encoder, corpus, run=None, watch=watch_nothing, validation=None, **settings):
    steps = {Consensus: {"finetune_steps": 5}, DeepAligned: {"joint_epochs": 5}}.get(method, {})
    fitted = method(encoder=encoder, **{**FAST, **steps, **settings})
    return fitted.fit(corpus.texts, corpus.labels, run=run, watch=watch, validation=validation)


@pytest.mark.slow
@METHOD
@pytest.mark.parametrize("tune", ["heads", "all"])
def test_same_seed_same_predictions(method, tune, tiny_encoder):
    corpus = themed_corpus(per_theme=10)
    settings = {"tune": tune, "epochs": 2, "pretrain_epochs": 1}
    runs = [fit(method, tiny_encoder, corpus, seed=s, **settings).predict_proba(corpus.texts) for s in (3, 3, 4)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("method", [m for m in CLASSES.values() if m is not DeepAlignedMix])
def test_hidden_themes_are_found(method, tiny_encoder):
    """Two hidden themes with hardly a word in common; known ones stay known.

    Over seeds 0 to 9 the other methods have at least 83.2 (standard deviation at most 2.5) on known and 80.3 (at most
    2.4) on new themes on average, and the consensus, which looks for known themes in the logs, too, over seeds 0 to 7
    at least 84.4 and 75.0 (standard deviation 1.4), so that 70 is more than three standard deviations below; a guess
    has 20.
    """
    corpus, test = themed_corpus(per_theme=60), themed_corpus(per_theme=30, unlabelled=(), seed=1)
    fitted = fit(method, tiny_encoder, corpus, tune="heads", epochs=30)
    ids = {name: i for i, name in enumerate(["leak", "meter", "pay", "move", "solar"])}
    gold = np.array([ids[label] for label in test.labels])
    scores = strict_scores(gold, fitted.model_.predict_ids(test.texts), 3)
    assert scores.ind_acc > 70
    assert scores.ood_acc > 70


def test_labels_may_be_whole_numbers(tiny_encoder, themed):
    """Labels of a data frame: numbers with gaps, which are floats there. They are the same as their digits as text."""
    number = {name: i for i, name in enumerate(themed.intents)}
    floats = np.array([np.nan if label is None else number[label] for label in themed.labels])
    ints = [None if label is None else number[label] for label in themed.labels]
    texts = [None if i is None else str(i) for i in ints]
    fitted = [KMeans(encoder=tiny_encoder, tune="heads", **FAST).fit(themed.texts, y) for y in (floats, ints, texts)]
    assert [intent.name for intent in fitted[0].intents][:3] == ["0", "1", "2"]
    assert fitted[0].predict(themed.texts) == fitted[1].predict(themed.texts) == fitted[2].predict(themed.texts)


@METHOD
@pytest.mark.parametrize(
    ("labels", "settings", "error", "message"),
    [
        (["a", "b"] * 4, {}, DataError, "no unlabelled utterance"),
        (["a", "b"] * 2 + [None] * 4, {"n_new": 5}, SettingsError, "more than the 4 unlabelled"),
        (["a", "b"] * 2 + [None] * 4, {"temperature": 0}, SettingsError, "temperature=0 must be above 0"),
        (["a", "b"] * 2 + [None] * 4, {"temperature": -1.0}, SettingsError, "temperature=-1.0 must be above 0"),
    ],
)
def test_bad_problems_are_refused_before_training(method, tiny_encoder, labels, settings, error, message, monkeypatch):
    monkeypatch.setattr(Encoder, "features", lambda *a, **k: pytest.fail("it began to work"))
    with pytest.raises(error, match=message):
        method(encoder=tiny_encoder, **{**FAST, **settings}).fit(list("pqrstuvw"), labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.7}, "strictly between 0 and 1"),
        ({"tau": 0}, "tau=0 must be above 0"),
        ({"dropout": 1.0}, r"dropout=1.0 must lie in \[0, 1\)"),
        ({"epochs": -1}, "epochs=-1 must be a whole number from 0"),
        ({"lr": float("nan")}, "lr=nan must be above 0"),
        ({"batch_size": 1}, "batch_size=1 must be a whole number from 2"),
        ({"min_lr": 9}, "min_lr=9 is higher than lr=0.1"),
        ({"dense": 1}, "dense=1 must be true or false"),
    ],
)
def test_bad_settings_of_dpl_are_refused_before_training(tiny_encoder, themed, settings, message, monkeypatch):
    monkeypatch.setattr(Encoder, "features", lambda *a, **k: pytest.fail("it began to work"))
    with pytest.raises(SettingsError, match=message):
        fit(DPL, tiny_encoder, themed, **settings)


@pytest.mark.parametrize("objectives", ["pcl+ins", "pcl", "ins", "scl", "pcl+scl"])
def test_every_ablation_trains_its_own_losses(objectives, tiny_encoder, themed):
    record = fit(DPL, tiny_encoder, themed, tune="last", objectives=objectives).history_["discovery"][-1]
    assert {"pcl", "ins", "scl"} & set(record) == set(objectives.split("+"))
    parts = [record[name] for name in (*objectives.split("+"), "ce")]
    assert record["loss"] == pytest.approx(sum(parts) / 3, rel=1e-4), "what remains keeps its weight"


@pytest.mark.parametrize("method", [DPL, E2E, DeepAligned, DeepAlignedMix])
def test_an_analysis_sees_every_epoch_and_changes_nothing_but_the_history(method, tiny_encoder, themed):
    seen = {}

    def watch(epoch):
        seen[epoch.number] = (len(epoch.pseudo_labels()), len(epoch.vectors()), epoch.prototypes.ndim)
        return {"seen": 1.0}

    watched = fit(method, tiny_encoder, themed, tune="last", watch=watch)
    blind = fit(method, tiny_encoder, themed, tune="last")
    assert np.array_equal(watched.predict_proba(themed.texts), blind.predict_proba(themed.texts))
    assert [record["epoch"] for record in watched.history_["discovery"]] == [0, 1, 2, 3]
    assert all(record["seen"] == 1 for record in watched.history_["discovery"])
    assert seen == dict.fromkeys(range(4), (len(themed), len(themed), 2))


@METHOD
@pytest.mark.parametrize("n_new", [1, 12])
def test_wrong_numbers_of_new_intents_do_not_crash(method, n_new, tiny_encoder):
    """Too few: no crash. Too many: no intent without an utterance is left over, even if all of them are without."""
    corpus = themed_corpus(per_theme=10)
    fitted = fit(method, tiny_encoder, corpus, tune="last", n_new=n_new, epochs=2, pretrain_epochs=1)
    assert 3 <= len(fitted.intents) <= 3 + n_new
    assert fitted.predict_proba(corpus.texts).shape == (len(corpus), len(fitted.intents))
    assert all(intent.size > 0 for intent in fitted.intents if not intent.known)


def test_surplus_columns_by_hand():
    """Columns 0 is known; 1 and 2 point the same way (2 is larger); nothing is near 3; 4 is a new intent of its own."""
    classifier = CosineClassifier(3, 5)
    with torch.no_grad():
        classifier.weight.copy_(torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0.01], [-1, -1, -1], [0, 0, 1]]))
    x = torch.tensor([[1.0, 0, 0], [0, 1, -0.1], [0, 1, 0.1], [0, 1, 0.2], [0, 0, 1]])
    assert surplus_columns(classifier, x, 1) == ([3], [1])


def test_deepaligned_keeps_its_best_clustering_and_its_numbering(tiny_encoder, themed):
    fitted = fit(DeepAligned, tiny_encoder, themed, tune="last", epochs=5)
    history = fitted.history_["discovery"]
    assert [record["score"] for record in history] == [record["silhouette"] for record in history]
    assert all(0 <= record["changed"] < 0.5 for record in history), "aligned clusters keep their numbers"
    assert len(fitted.history_["joint training"]) == fitted.joint_epochs


def test_deepaligned_mix_names_columns_by_the_known_utterances():
    """Column 2 is predicted for intent 0 and column 0 for intent 1: they change places, new ones follow."""
    network = torch.nn.Module()
    network.classifier = CosineClassifier(3, 3)
    with torch.no_grad():
        network.classifier.weight.copy_(torch.eye(3))
    x = torch.tensor([[0.0, 0, 1], [0, 0.1, 1], [1, 0, 0], [0, 1, 0]])
    y = torch.tensor([0, 0, 1, -1])
    job = SimpleNamespace(known_rows=torch.arange(3), y=y, n_known=2, n_new=1, device=x.device, embed=lambda _: x)
    _name_columns(job, network)
    assert network.classifier.weight.argmax(1).tolist() == [2, 0, 1]


@NEURAL
def test_inference_runs_only_the_classifier_branch(method, tiny_encoder, themed, tmp_path):
    """Projection, prototypes and extra heads serve training: a saved model does not hold them."""
    from safetensors.torch import load_file

    fitted = fit(method, tiny_encoder, themed, tune="last")
    fitted.save(tmp_path / "m")
    names = set(load_file(tmp_path / "m" / "weights.safetensors"))
    assert all(name.startswith("tail.") or name == "classifier.weight" for name in names)
    assert fitted.parameters_["inference"] < fitted.parameters_["trainable"] < fitted.parameters_["total"]


def test_trunk_dropout_and_stored_views_predict_without_noise(tiny_encoder, themed):
    for settings in ({"trunk_dropout": True}, {"trunk_views": 3}, {"trunk_views": 0}):
        fitted = fit(DPL, tiny_encoder, themed, tune="last", **settings)
        assert np.array_equal(fitted.predict_proba(themed.texts), fitted.predict_proba(themed.texts))
        assert fitted.model_.embedder.network.tail.trunk is None


def test_stored_views_differ_and_none_is_the_clean_one(tiny_encoder, themed):
    tune = tiny_encoder.tune("last")
    features = tiny_encoder.features(themed.texts, tune)
    noisy = tiny_encoder.with_noise(features, themed.texts, tune, seeds=[1, 2, 3]).noisy
    assert noisy.shape == (3, *features.data.flat.shape)
    assert not torch.equal(noisy[0], noisy[1])
    assert not torch.equal(noisy[0], features.data.flat)
    again = tiny_encoder.with_noise(features, themed.texts, tune, seeds=[1, 2, 3]).noisy
    assert torch.equal(noisy, again)
    assert torch.nn.functional.cosine_similarity(noisy.mean(0), features.data.flat, dim=-1).mean() > 0.9


def test_shared_memory_changes_no_result(tiny_encoder, themed):
    memory: dict = {}
    alone = [fit(m, tiny_encoder, themed, tune="last").predict_proba(themed.texts) for m in (KMeans, DPL)]
    shared = [
        fit(m, tiny_encoder, themed, tune="last", run=Run(memory=memory)).predict_proba(themed.texts)
        for m in (KMeans, DPL, DPL)
    ]
    assert np.array_equal(alone[0], shared[0])
    assert np.array_equal(alone[1], shared[1])
    assert np.array_equal(shared[1], shared[2])
    assert memory
    short = {"tune": "last", "max_length": 5}
    alone_short = fit(DPL, tiny_encoder, themed, **short).predict_proba(themed.texts)
    shared_short = fit(DPL, tiny_encoder, themed, run=Run(memory=memory), **short).predict_proba(themed.texts)
    assert np.array_equal(alone_short, shared_short), "features of another length must not be taken from the memory"
    assert not np.array_equal(alone_short, alone[1])


def test_prototypes_start_where_they_are_told(tiny_encoder, themed):
    def prototypes(start):
        fitted = DPL(encoder=tiny_encoder, tune="heads", start=start, **{**FAST, "epochs": 0})
        fitted.fit(themed.texts, themed.labels)
        network = fitted.model_.embedder.network
        assert isinstance(network, PrototypeNetwork)
        return network.mu

    assert prototypes("zeros").abs().sum() == 0
    assert torch.allclose(prototypes("random").norm(dim=-1), torch.ones(5))
    for start in ("kmeans", "balanced"):
        assert torch.allclose(prototypes(start).norm(dim=-1), torch.ones(5), atol=1e-5)
    assert not torch.equal(prototypes("random"), prototypes("kmeans"))
