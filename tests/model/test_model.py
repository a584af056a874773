from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from sklearn.base import clone

from newfound import KMeans, load
from newfound.errors import DataError, ModelError, SettingsError
from newfound.model.folder import load as load_unreviewed

FAST = {"pretrain_epochs": 3, "epochs": 4, "batch_size": 64, "device": "cpu"}


@pytest.fixture(scope="module", params=["heads", "last"])
def fitted(request, tiny_encoder, themed):
    return KMeans(n_new=2, encoder=tiny_encoder, tune=request.param, **FAST).fit(themed.texts, themed.labels)


def test_intents_are_known_first_then_new(fitted, themed):
    assert [intent.known for intent in fitted.intents] == [True] * 3 + [False] * 2
    assert [intent.name for intent in fitted.intents[:3]] == ["leak", "meter", "pay"]
    assert [intent.labelled for intent in fitted.intents] == [30, 30, 30, 0, 0]
    assert sum(intent.size for intent in fitted.intents) == len(themed)
    for intent in fitted.intents[3:]:
        assert 0 < intent.certainty < 1
        assert intent.expected_error == pytest.approx(1 - intent.certainty)
    assert len({intent.name for intent in fitted.intents}) == 5
    for intent in fitted.intents:
        assert set(intent.exemplars) <= set(themed.texts)
        assert len(intent.exemplars) <= 5


def test_predictions_agree_with_each_other(fitted, themed):
    texts = themed.texts[::7]
    probabilities = fitted.predict_proba(texts)
    assert probabilities.shape == (len(texts), 5)
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-5)
    names = [intent.name for intent in fitted.intents]
    assert fitted.predict(texts) == [names[i] for i in probabilities.argmax(1)]
    assert fitted.transform(texts).shape == (len(texts), 32)
    for prediction, row in zip(fitted.model_.classify(texts), probabilities, strict=True):
        assert prediction.probability == pytest.approx(row.max(), abs=1e-6)
    assert fitted.predict([]) == []
    with pytest.raises(SettingsError, match="a list of texts"):
        fitted.predict("one string")
    with pytest.raises(SettingsError, match="a list of texts"):
        fitted.predict([None])


def test_a_saved_model_predicts_identically(fitted, themed, tmp_path, tiny_folder):
    fitted.save(tmp_path / "m")
    assert {p.name for p in (tmp_path / "m").iterdir()} == {"model.json", "utterances.jsonl", "weights.safetensors"}
    loaded = load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(themed.texts), fitted.predict_proba(themed.texts))
    assert loaded.intents == fitted.intents
    assert loaded.provenance == json.loads(json.dumps(fitted.model_.provenance))
    moved = load(tmp_path / "m", encoder=str(tiny_folder))
    assert np.array_equal(moved.predict_proba(themed.texts), fitted.predict_proba(themed.texts))


def test_a_model_with_its_encoder_needs_nothing_else(fitted, themed, tmp_path):
    fitted.model_.save(tmp_path / "m", with_encoder=True)
    about = json.loads((tmp_path / "m" / "model.json").read_text())
    about["encoder"]["name"] = "/nowhere/at/all"
    (tmp_path / "m" / "model.json").write_text(json.dumps(about))
    assert np.array_equal(load(tmp_path / "m").predict_proba(themed.texts), fitted.predict_proba(themed.texts))


def test_provenance_says_where_a_model_comes_from(fitted, themed):
    provenance = fitted.model_.provenance
    assert provenance["method"] == "KMeans"
    assert provenance["settings"]["n_new"] == 2
    assert provenance["settings"]["seed"] == 0
    assert provenance["data"] == {"fingerprint": themed.fingerprint(), "labelled": 90, "unlabelled": 60}
    assert {"newfound", "torch", "transformers", "python"} <= set(provenance["versions"])


@pytest.fixture
def saved(tiny_encoder, themed, tmp_path):
    KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=1).fit(themed.texts, themed.labels).save(tmp_path / "m")
    return tmp_path / "m"


def _edit(folder, change):
    about = json.loads((folder / "model.json").read_text())
    change(about)
    (folder / "model.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda m: shutil.rmtree(m), "no such model folder"),
        (lambda m: (m / "model.json").unlink(), "model.json: missing"),
        (lambda m: (m / "weights.safetensors").unlink(), "weights.safetensors: missing"),
        (lambda m: (m / "model.json").write_text("{"), "damaged"),
        (lambda m: (m / "model.json").write_text("[" * 100_000), "damaged"),
        (lambda m: (m / "model.json").write_text('{"format": "other"}'), "not a description of a newfound model"),
        (lambda m: (m / "weights.safetensors").write_bytes(b"\x80\x04pickle?"), "weights.safetensors: damaged"),
        (lambda m: (m / "weights.safetensors").write_bytes((m / "weights.safetensors").read_bytes()[:-9]), "damaged"),
        (lambda m: _edit(m, lambda a: a.update(version=99)), "format version 99"),
        (lambda m: _edit(m, lambda a: a.pop("intents")), "damaged"),
        (lambda m: _edit(m, lambda a: a.pop("encoder")), "its encoder or provenance"),
        (lambda m: _edit(m, lambda a: a["intents"].pop()), "wrong shape"),
        (lambda m: _edit(m, lambda a: a["intents"][0].update(exemplars=5)), "damaged"),
        (lambda m: _edit(m, lambda a: a["intents"][0].update(size="1")), "damaged"),
        (lambda m: _edit(m, lambda a: a["encoder"].update(max_length=-5)), "damaged"),
        (lambda m: _edit(m, lambda a: a["encoder"].update(pooling=["x"])), "damaged"),
        (lambda m: _edit(m, lambda a: a.update(temperature=0)), "its temperature"),
        (lambda m: _edit(m, lambda a: a["tune"].update(layers=99)), "do not fit together"),
        (lambda m: _edit(m, lambda a: a["tune"].update(layers=1)), "does not belong to this model.json"),
        (lambda m: _edit(m, lambda a: a["encoder"].update(name="evil/repo")), "say where its encoder is"),
        (
            lambda m: _edit(m, lambda a: a["encoder"].update(weights="0" * 64)),
            "is not the one this model was fitted on",
        ),
        (lambda m: _edit(m, lambda a: a["encoder"].update(included=True)), "encoder: missing"),
    ],
)
def test_damaged_and_hostile_folders_are_refused(saved, damage, message):
    damage(saved)
    with pytest.raises(ModelError, match=message):
        load(saved)


def test_saving_never_replaces_what_it_does_not_know(fitted, tmp_path):
    precious = tmp_path / "precious.csv"
    precious.write_text("mine")
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.json").write_text('{"format": "another tool"}')
    for target in (precious, other):
        with pytest.raises(SettingsError, match="holds something else"):
            fitted.save(target, overwrite=True)
    fitted.save(tmp_path / "m")
    with pytest.raises(SettingsError, match="exists"):
        fitted.save(tmp_path / "m")
    fitted.save(tmp_path / "m", overwrite=True)
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(SettingsError, match=r"notes\.txt"):
        fitted.save(tmp_path / "m", overwrite=True)
    (tmp_path / "link").symlink_to(tmp_path / "m")
    with pytest.raises(SettingsError, match="is a link"):
        fitted.save(tmp_path / "link", overwrite=True)
    assert precious.read_text() == "mine"
    assert (tmp_path / "m" / "weights.safetensors").stat().st_mode & 0o777 == 0o644


def test_links_out_of_the_folder_are_refused(saved, tmp_path):
    elsewhere = tmp_path / "elsewhere.safetensors"
    (saved / "weights.safetensors").rename(elsewhere)
    (saved / "weights.safetensors").symlink_to(elsewhere)
    with pytest.raises(ModelError, match="leads out of the model folder"):
        load(saved)


def test_weights_that_are_not_numbers_are_refused(saved):
    from safetensors.torch import load_file, save_file

    tensors = load_file(saved / "weights.safetensors")
    tensors["classifier.weight"][0, 0] = float("nan")
    save_file(tensors, saved / "weights.safetensors")
    with pytest.raises(ModelError, match="not finite"):
        load(saved)


def test_estimators_keep_scikit_learns_contract(tiny_encoder):
    method = KMeans(n_new=4, tune="heads", lr=0.3)
    assert method.get_params()["lr"] == 0.3
    copy = clone(method.set_params(seed=5))
    assert copy is not method
    assert copy.get_params() == method.get_params()
    with pytest.raises(TypeError):
        KMeans(4)
    with pytest.raises(SettingsError, match="not fitted yet"):
        method.predict(["x"])


@pytest.mark.parametrize(
    ("labels", "settings", "error", "message"),
    [
        ([None] * 6, {}, SettingsError, "n_new=1 without known intents"),
        (["a", "b"] * 3, {}, DataError, "no unlabelled utterance"),
        (["a", "b"] * 2 + [None] * 2, {"n_new": 3}, SettingsError, "more than the 2 unlabelled"),
        (["a", "b"] * 2 + [None] * 2, {"n_new": 0}, SettingsError, "whole number from 1"),
        (["a", "b"] * 2 + [None] * 2, {"seed": -1}, SettingsError, "whole number from 0"),
        (["a", "b"] * 2 + [None] * 2, {"n_new": 2.5}, SettingsError, "whole number from 1"),
        (["a", "b"] * 2 + [None] * 2, {"n_new": 1, "device": "tpu"}, SettingsError, "auto, cpu, cuda"),
        (["a", "b"] * 2 + [None] * 2, {"n_new": 1, "tune": "most"}, SettingsError, "is not one of heads"),
        (["a", "b"], {}, DataError, "6 texts but 2 labels"),
    ],
)
def test_what_cannot_work_is_refused_before_training(tiny_encoder, labels, settings, error, message):
    with pytest.raises(error, match=message):
        KMeans(**{"n_new": 1, "encoder": tiny_encoder, "tune": "heads", **settings}).fit(list("pqrstu"), labels)


@pytest.mark.parametrize("tune", ["heads", "last"])
def test_same_seed_same_model(tiny_encoder, themed, tune):
    runs = [
        KMeans(n_new=2, encoder=tiny_encoder, tune=tune, seed=seed, **FAST)
        .fit(themed.texts, themed.labels)
        .predict_proba(themed.texts)
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_pretraining_improves_the_tail_on_known_intents(tiny_encoder, themed):
    method = KMeans(n_new=2, encoder=tiny_encoder, tune="last", pretrain_epochs=15, epochs=2, batch_size=32)
    method.fit(themed.texts, themed.labels)
    losses = [record["loss"] for record in method.history_["pre-training"]]
    assert losses[-1] < losses[0]
    assert torch.isfinite(torch.tensor(losses)).all()


def test_outlier_scores_are_shares_of_the_labelled_training_data(tiny_encoder, themed):
    """About 5 % of the labelled training utterances score above 0.95; what is unlike all of them scores highest."""
    fitted = KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=10, device="cpu").fit(
        themed.texts, themed.labels
    )
    labelled = themed.labelled().texts
    scores = fitted.model_.outlier_scores(labelled)
    assert 0.0 <= scores.min() <= scores.max() <= 1.0
    assert (scores > 0.95).mean() == pytest.approx(0.05, abs=0.03)
    assert fitted.model_.outlier_scores(["why why why why"])[0] > np.median(scores)
    assert [p.outlier for p in fitted.model_.classify(labelled)] == scores.tolist()


def test_vectors_of_a_fine_tuned_model_are_computed_once(tiny_encoder, themed, tmp_path, monkeypatch):
    from newfound import Consensus
    from newfound.model.network import NetworkEmbedder

    settings = {"encoder": tiny_encoder, "n_new": 2, "epochs": 2, "finetune_steps": 5, "device": "cpu"}
    fitted = Consensus(**settings, tune="layers", logs="novel").fit(themed.texts, themed.labels)
    fitted.save(tmp_path / "m")
    first = load_unreviewed(tmp_path / "m", encoder=tiny_encoder).utterance_vectors
    again = load_unreviewed(tmp_path / "m", encoder=tiny_encoder)
    other = Consensus(**settings, tune="layers", logs="novel", seed=1).fit(themed.texts, themed.labels).model_

    def not_again(*arguments):
        raise AssertionError("computed again")

    monkeypatch.setattr(NetworkEmbedder, "_vectors", not_again)
    assert torch.equal(again.utterance_vectors, first)
    with pytest.raises(AssertionError, match="computed again"):
        _ = other.utterance_vectors  # other weights, other vectors
