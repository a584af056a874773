"""Discovery without known intents, or with a single one, on the tiny encoder."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from conftest import themed_corpus
from newfound import DPL, E2E, Consensus, DeepAligned, DeepAlignedMix, KMeans
from newfound.algorithms.metrics import accuracy, adjusted_rand_index, map_clusters
from newfound.errors import DataError, NoKnownIntents, NothingToFineTuneOn, SettingsError
from newfound.model.folder import load
from newfound.questions.annotators import Answer
from newfound.training.run import Run

pytestmark = pytest.mark.slow  # dozens of fits

FAST = {"device": "cpu", "tune": "heads", "epochs": 20}
ALL_THEMES = ("pay", "meter", "leak", "move", "solar")
WITHOUT_KNOWN = pytest.mark.parametrize("method", [Consensus, KMeans])


@pytest.fixture(scope="module")
def logs():
    """All five themes without a label, and the theme of each text."""
    return themed_corpus(per_theme=40).texts, themed_corpus(per_theme=40, unlabelled=()).labels


@WITHOUT_KNOWN
def test_all_intents_are_found_without_labels(method, tiny_encoder, logs):
    texts, themes = logs
    fitted = method(encoder=tiny_encoder, n_new=5, **FAST).fit(texts)
    assert len(fitted.intents) == 5
    assert not any(intent.known for intent in fitted.intents)
    gold = np.array([ALL_THEMES.index(theme) for theme in themes])
    found = np.array([[*fitted.classes_.tolist(), None].index(name) for name in fitted.predict(texts)])
    assert accuracy(gold, map_clusters(gold, found)) > 40, "five themes of words, in a random encoder"
    assert fitted.fit_predict(texts).tolist() == method(encoder=tiny_encoder, n_new=5, **FAST).fit(texts).predict(texts)


@WITHOUT_KNOWN
def test_the_number_is_estimated_without_labels(method, tiny_encoder, logs):
    notes = []
    run = Run(reporter=_Listener(notes))
    fitted = method(encoder=tiny_encoder, **FAST).fit(logs[0], run=run)
    assert 2 <= len(fitted.intents) <= 20
    assert any("estimated number of new intents" in note for note in notes)


@WITHOUT_KNOWN
@pytest.mark.parametrize("per_intent", [1, 20])
def test_one_known_intent_is_kept_beside_the_new_ones(method, tiny_encoder, logs, per_intent):
    """Whatever the number of its utterances, it stays known, and the others are found."""
    texts, themes = logs
    rows = [i for i, theme in enumerate(themes) if theme == "pay"][:per_intent]
    labels = ["pay" if i in rows else None for i in range(len(texts))]
    fitted = method(encoder=tiny_encoder, n_new=4, **FAST).fit(texts, labels)
    assert [intent.name for intent in fitted.intents if intent.known] == ["pay"]
    assert len(fitted.intents) == 5
    assert all(fitted.labels_[i] == "pay" for i in rows)
    estimated = method(encoder=tiny_encoder, **FAST).fit(texts, labels)
    assert [intent.name for intent in estimated.intents if intent.known] == ["pay"]
    assert len(estimated.intents) >= 2


@pytest.mark.parametrize("effort", ["standard", "best"])
@pytest.mark.parametrize(("labelled", "what"), [(0, "no intents are known"), (3, "only one intent is known")])
def test_fine_tuning_without_two_known_intents_is_refused(effort, labelled, what, tiny_encoder, logs):
    """Instance contrast alone spoils the vectors: 39.7 in place of 66.1 points of accuracy on BANKING77."""
    labels = ["pay" if i < labelled else None for i in range(len(logs[0]))]
    with pytest.raises(NothingToFineTuneOn, match=f"{what}.*effort quick"):
        Consensus(encoder=tiny_encoder, n_new=4, device="cpu", **Consensus.EFFORTS[effort]).fit(logs[0], labels)


@pytest.mark.parametrize("method", [DPL, E2E, DeepAligned, DeepAlignedMix])
@pytest.mark.parametrize(("known", "what"), [(0, "no known intents"), (1, "only one known intent")])
def test_methods_that_learn_from_known_intents_say_so(method, known, what, tiny_encoder):
    labels = ["a"] * 3 * known + [None] * (6 - 3 * known)
    with pytest.raises(NoKnownIntents, match=f"{what}.*{method.__name__} needs at least two.*consensus or kmeans"):
        method(n_new=2, encoder=tiny_encoder).fit(["pay"] * 6, labels)


@WITHOUT_KNOWN
def test_what_leaves_nothing_to_tell_apart_is_refused(method, tiny_encoder):
    with pytest.raises(SettingsError, match="n_new=1 without known intents"):
        method(n_new=1, encoder=tiny_encoder).fit(["pay", "move", "read"])
    with pytest.raises(DataError, match="a single utterance"):
        method(encoder=tiny_encoder).fit(["pay", "pay"])
    with pytest.raises(DataError, match="no unlabelled utterance"):
        method(encoder=tiny_encoder).fit([])


@WITHOUT_KNOWN
@pytest.mark.parametrize("texts", [["pay bill", "move house"], ["pay bill", "move house", "pay the bill"]])
def test_a_handful_of_texts_works(method, texts, tiny_encoder):
    assert len(method(encoder=tiny_encoder, **FAST).fit(texts).intents) >= 2


def test_the_folder_keeps_everything(tiny_encoder, logs, tmp_path):
    fitted = Consensus(encoder=tiny_encoder, n_new=5, **FAST).fit(logs[0])
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model", encoder=tiny_encoder)
    texts = [*logs[0][:20], "zzz qqq"]
    assert again.classify(texts) == fitted.model_.classify(texts)
    about = json.loads((tmp_path / "model" / "model.json").read_text())
    assert len(about["typical"]) == 101, "what is typical comes from the logs"
    assert 0 < about["reliability"] <= 1
    scores = again.outlier_scores(logs[0])
    assert 0.3 < scores.mean() < 0.7, "half of what was learned from is less typical than the median"


class _Listener:
    """A reporter that collects notes."""

    def __init__(self, notes):
        from newfound.training.progress import LoggingReporter

        self._silent, self.notes = LoggingReporter(), notes

    def note(self, message):
        self.notes.append(message)

    def warn(self, message):
        self.notes.append(message)

    def task(self, title, total):
        return self._silent.task(title, total)


def test_of_many_rows_each_is_seen_less_often_but_labelled_ones_as_often_as_ever():
    planned = [Consensus(epochs=50)._schedule_for(n) for n in (100, 20_000, 40_000, 100_000, 10**6)]
    assert [(schedule.epochs, times) for schedule, times in planned] == [(50, 1), (50, 1), (25, 2), (10, 5), (5, 50)]
    assert [schedule.warmup_epochs for schedule, _ in planned] == [10, 10, 5, 2, 0]
    assert Consensus(epochs=2)._schedule_for(10**6)[0].epochs == 2


def test_a_fit_on_more_rows_than_are_seen_in_all_epochs(tiny_encoder, themed, monkeypatch):
    monkeypatch.setattr("newfound.methods.consensus.MAX_ROWS_FOR_ALL_EPOCHS", len(themed) // 4)
    for tune in ("heads", "layers"):
        settings = {**FAST, "tune": tune, "epochs": 20}
        fitted = Consensus(encoder=tiny_encoder, n_new=2, **settings).fit(themed.texts, themed.labels)
        assert len(fitted.history_["training"]) == 5
        assert np.isfinite(fitted.predict_proba(themed.texts)).all()


def test_labels_that_were_given_stay_where_all_rows_are_clustered():
    given, clusters = torch.tensor([0, 1, -1, -1]), torch.tensor([1, 1, 2, 0])
    rows = torch.arange(4)
    labels = Consensus(n_new=1)._put_together(torch.eye(4), given, rows, rows, [clusters], clusters)
    assert (labels.y.tolist(), given.tolist()) == ([0, 1, 2, 0], [0, 1, -1, -1])


def test_in_mixed_logs_new_rows_are_clustered_among_known_ones_too():
    group = torch.arange(40) // 10  # one known intent, of which half is labelled, and three new ones
    x = torch.nn.functional.normalize(torch.eye(4)[group] + 0.01 * torch.rand(40, 4), dim=-1)
    context = SimpleNamespace(y=torch.where(torch.arange(40) < 5, 0, -1), n_known=1, n_new=3, seed=0)
    votes = Consensus(runs=2)._cluster_with_known(context, x, torch.arange(10, 40), torch.arange(10))
    assert [len(vote) for vote in votes] == [30] * 8, "two views, two runs, from the labels and without"
    assert all(adjusted_rand_index(vote.numpy(), group[10:].numpy()) == 1 for vote in votes)


def test_answers_that_name_a_known_intent_hold_in_logs_of_which_only_a_part_votes(tiny_encoder, themed, monkeypatch):
    class EverythingIsPay:
        reliability = 1.0

        def answer(self, question):
            known = [i for i, examples in enumerate(question.candidates) if examples[0] in paying]
            return Answer(known[0] if known else None)

    paying = {t for t, label in zip(themed.texts, themed.labels, strict=True) if label == "pay"}
    settings = {**FAST, "n_new": 2, "logs": "mixed", "encoder": tiny_encoder}
    logs = [i for i, label in enumerate(themed.labels) if label is None]

    def paid():
        fitted = Consensus(**settings).fit(themed.texts, themed.labels, annotator=EverythingIsPay())
        return sum(fitted.labels_[i] == "pay" for i in logs)

    plain = Consensus(**settings).fit(themed.texts, themed.labels)
    before = sum(plain.labels_[i] == "pay" for i in logs)
    assert paid() > before
    monkeypatch.setattr("newfound.methods.consensus.MAX_CLUSTERED_ROWS", len(logs) // 2)
    assert paid() > before


def test_agreement_is_known_for_rows_that_were_not_clustered(tiny_encoder, themed, monkeypatch):
    """In large logs, the agreement on rows that follow the others was taken to be 1."""
    shares = []
    label = Consensus._label

    def noted(self, context, *vectors):
        labels = label(self, context, *vectors)
        shares.append(labels.agreement[context.unlabelled_rows])
        return labels

    monkeypatch.setattr(Consensus, "_label", noted)
    monkeypatch.setattr("newfound.methods.consensus.MAX_CLUSTERED_ROWS", 30)
    Consensus(encoder=tiny_encoder, n_new=6, logs="novel", **FAST).fit(themed.texts, themed.labels)
    assert len(shares[0]) > 30
    assert (shares[0] < 1).float().mean() > 0.1
    assert ((shares[0] >= 0) & (shares[0] <= 1)).all()
