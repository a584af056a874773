"""Methods and models behave as scikit-learn's users expect."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import newfound
from conftest import themed_corpus
from newfound.errors import DataError, SettingsError
from newfound.methods.registry import METHODS

FAST = {"n_new": 2, "epochs": 4, "pretrain_epochs": 3, "batch_size": 64, "device": "cpu", "tune": "heads"}


@pytest.fixture(scope="module")
def fitted(tiny_encoder, themed):
    return newfound.KMeans(encoder=tiny_encoder, **FAST).fit(themed.texts, themed.labels)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_are_read_set_and_cloned(name, tiny_encoder):
    method = METHODS[name].load()(encoder=tiny_encoder, n_new=3, seed=7)
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


@pytest.mark.parametrize("name", METHODS)
def test_an_unfitted_method_says_so(name, tiny_encoder):
    method = METHODS[name].load()(encoder=tiny_encoder)
    assert not hasattr(method, "classes_")
    assert not hasattr(method, "intents")
    with pytest.raises(NotFittedError):
        check_is_fitted(method)
    for ask in (method.predict, method.predict_proba, method.transform, lambda texts: method.score(texts, ["pay"])):
        with pytest.raises(NotFittedError, match="not fitted yet") as caught:
            ask(["pay"])
        assert isinstance(caught.value, SettingsError), "and newfound's own error, which commands show in one line"


@pytest.mark.parametrize("name", METHODS)
def test_a_method_keeps_the_contract_of_estimators(name, tiny_encoder):
    """What scikit-learn's `check_estimator` asks of estimators, as far as it holds for texts with partial labels."""
    corpus = themed_corpus(per_theme=12)
    texts, labels = list(corpus.texts), list(corpus.labels)
    method = METHODS[name].load()(encoder=tiny_encoder, **FAST)
    parameters = method.get_params()
    assert type(method)(**parameters).get_params() == parameters
    assert method.fit(texts, labels) is method
    assert (texts, labels) == (list(corpus.texts), list(corpus.labels)), "fit changed its input"
    assert method.get_params() == parameters, "fit changed a parameter"
    assert not hasattr(method, "n_features_in_"), "texts have no number of features"
    predicted, probabilities = method.predict(texts), method.predict_proba(texts)
    assert texts == list(corpus.texts), "predict changed its input"
    has_intent = [intent is not None for intent in predicted]  # without one, all probabilities are 0
    assert np.allclose(probabilities.sum(1), has_intent, atol=1e-5)
    assert method.predict(texts[::-1]) == predicted[::-1], "a prediction depends on the other texts"
    assert np.allclose(method.predict_proba(texts[:1]), probabilities[:1], atol=1e-5)
    assert method.fit(texts, labels).predict(texts) == predicted, "a second fit differs from the first"
    assert clone(method).fit(np.array(texts), np.array(labels, dtype=object)).predict(texts) == predicted


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_a_step_of_a_pipeline_and_is_cross_validated(name, tiny_encoder):
    corpus = themed_corpus(per_theme=12)
    shouted = [text.upper() for text in corpus.texts]
    method = METHODS[name].load()(encoder=tiny_encoder, **{**FAST, "epochs": 20})
    pipeline = make_pipeline(FunctionTransformer(lambda texts: [text.lower() for text in texts]), method)
    pipeline.fit(shouted, corpus.labels)
    assert pipeline.predict(shouted) == method.predict(corpus.texts)
    assert list(pipeline.classes_) == list(method.classes_)
    # The labelled texts of each part are scored; those without a label only take part in the discovery.
    scores = cross_val_score(pipeline, shouted, list(corpus.labels), cv=KFold(2, shuffle=True, random_state=0))
    assert scores.shape == (2,)
    assert ((scores > 0) & (scores <= 1)).all()


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
