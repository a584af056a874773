"""Methods and models behave as scikit-learn's users expect."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.utils.validation import check_is_fitted

import newfound
from newfound.errors import DataError, SettingsError
from newfound.methods.registry import METHODS, method_named

FAST = {"n_new": 2, "epochs": 4, "pretrain_epochs": 3, "batch_size": 64, "device": "cpu", "tune": "heads"}


@pytest.fixture(scope="module")
def fitted(tiny_encoder, themed):
    return newfound.KMeans(encoder=tiny_encoder, **FAST).fit(themed.texts, themed.labels)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_are_read_set_and_cloned(name, tiny_encoder):
    method = method_named(name)(encoder=tiny_encoder, n_new=3, seed=7)
    copy = clone(method)
    assert copy is not method
    assert copy.get_params() == method.get_params()
    assert copy.encoder is tiny_encoder, "clones share the weights"
    assert copy.set_params(n_new=5) is copy
    assert (copy.n_new, method.n_new) == (5, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'n_old'"):
        copy.set_params(n_old=1)
    assert "n_new=3" in repr(method)
    assert is_classifier(method)
    assert not is_clusterer(method)


def test_an_unfitted_method_says_so(tiny_encoder):
    method = newfound.KMeans(encoder=tiny_encoder)
    assert not hasattr(method, "classes_")
    with pytest.raises(NotFittedError):
        check_is_fitted(method)
    with pytest.raises(SettingsError, match="not fitted yet"):
        method.score(["pay"], ["pay"])


def test_classes_are_the_columns_of_the_probabilities(fitted, themed):
    check_is_fitted(fitted)
    texts = list(themed.texts[:20])
    assert list(fitted.classes_) == [intent.name for intent in fitted.intents]
    columns = fitted.predict_proba(texts).argmax(1)
    assert list(fitted.classes_[columns]) == fitted.predict(texts)


def test_labels_are_the_intents_of_the_training_texts(fitted, themed, tiny_encoder):
    given = np.array(themed.labels, dtype=object)
    is_labelled = given != None  # noqa: E711 - elementwise
    assert list(fitted.labels_[is_labelled]) == list(given[is_labelled])
    assert set(fitted.labels_[~is_labelled]) <= set(fitted.classes_)
    other = clone(fitted)
    assert list(other.fit_predict(themed.texts, themed.labels)) == list(fitted.labels_)


def test_score_is_the_accuracy_of_labelled_texts(fitted, themed, tmp_path, tiny_encoder):
    labelled = themed.labelled()
    expected = accuracy_score(labelled.labels, fitted.predict(labelled.texts))
    assert 0 < expected <= 1
    fitted.save(tmp_path / "model")
    reviewed = newfound.load(tmp_path / "model", encoder=tiny_encoder)
    for model in (fitted, fitted.model_, reviewed):
        assert model.score(labelled.texts, labelled.labels) == pytest.approx(expected)
        assert model.score(themed.texts, themed.labels) == pytest.approx(expected), "texts without a label do not count"
        assert get_scorer("accuracy")(model, list(labelled.texts), list(labelled.labels)) == pytest.approx(expected)
        with pytest.raises(DataError, match="no labelled utterance"):
            model.score(["pay"], [None])


def test_loaded_models_are_classifiers(fitted, tmp_path, tiny_encoder):
    fitted.save(tmp_path / "model")
    reviewed = newfound.load(tmp_path / "model", encoder=tiny_encoder)
    for model in (fitted.model_, reviewed):
        assert is_classifier(model)
        assert list(model.classes_) == list(fitted.classes_)
        assert list(model.labels_) == list(fitted.labels_)
        assert model.predict_proba(["pay", "solar"]).shape == (2, len(model.classes_))
