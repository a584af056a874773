"""Every utterance keeps who labelled it, where it came from and how often it occurred, from round to round."""

from __future__ import annotations

from inspect import signature

import pytest

import newfound
from newfound.data.corpus import Corpus, Origin
from newfound.errors import SettingsError
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession
from newfound.review.store import ReviewStore
from newfound.training.progress import LoggingReporter
from newfound.workflows.runtime import Runtime
from newfound.workflows.updating import with_names_given

pytestmark = pytest.mark.slow  # dozens of fits


@pytest.fixture
def discovered(themed, tiny_encoder, tmp_path):
    known = themed.labelled().from_source("known.csv")
    repeated = themed.unlabelled().texts[0]
    logs = Corpus.of([*themed.unlabelled().texts, *[repeated] * 4]).from_source("monday.csv")
    result = newfound.discover(known, logs, tmp_path / "m", n_new=2, encoder=tiny_encoder, device="cpu")
    return result, repeated


def by_text(model):
    return {u.text: u for u in model.utterances}


def test_discovery_keeps_them(discovered, themed):
    result, repeated = discovered
    utterances = by_text(result.model)
    assert utterances[repeated].count >= 5
    assert {u.source for u in result.model.utterances if u.labelled} == {"known.csv"}
    assert {u.source for u in result.model.utterances if not u.labelled} == {"monday.csv"}
    assert sum(intent.size for intent in result.intents) == sum(u.count for u in result.model.utterances)


def test_a_refit_keeps_them_and_there_is_still_something_to_review(discovered, tiny_encoder, tmp_path):
    result, repeated = discovered
    first = next(i for i in result.intents if not i.known)
    moved = next(u.text for u in result.model.utterances if not u.labelled and u.text != repeated)
    ReviewStore(tmp_path / "m").decide(
        [Decision("accept", {"intent": first.name}), Decision("move", {"texts": [moved], "to": first.name})],
        author="ana",
    )
    before, after = by_text(result.model), newfound.refit(tmp_path / "m", tmp_path / "r", encoder=tiny_encoder).model
    for text, u in by_text(after).items():
        assert (u.count, u.source) == (before[text].count, before[text].source), text
        assert u.labelled == (before[text].labelled or text == moved), text
    assert {i.name: i.known for i in after.intents}[first.name]
    session = ReviewSession(tmp_path / "r", encoder=tiny_encoder)
    view = session.view()
    assert view.queue(), "utterances from the logs can still be checked"
    assert 0 < view.state().progress.expected_error < 1
    assert sum(i.size for i in view.state().intents) == sum(u.count for u in after.utterances)


def test_the_expected_error_of_a_refit_is_the_one_that_its_model_shows(themed, tiny_encoder, tmp_path):
    """New intents give up a part of their probability; a refit compared its model without that."""
    result = newfound.discover(
        themed.labelled(), themed.unlabelled(), n_new=3, encoder=tiny_encoder, device="cpu", logs_hold="novel"
    )
    result.model.with_reliability(0.6).save(tmp_path / "m")
    accepted = next(i.name for i in result.intents if not i.known)
    ReviewStore(tmp_path / "m").decide([Decision("accept", {"intent": accepted})], author="ana")
    before = ReviewSession(tmp_path / "m", encoder=tiny_encoder).view().state()
    changes = newfound.refit(tmp_path / "m", tmp_path / "r", encoder=tiny_encoder, device="cpu").changes
    assert changes.expected_error_before == before.progress.expected_error
    after = ReviewSession(tmp_path / "r", encoder=tiny_encoder).view()
    assert changes.expected_error_after == pytest.approx(after.state().progress.expected_error, abs=2e-4)
    described = {i.name: i.certainty for i in ReviewStore(tmp_path / "r").intents}
    assert described == pytest.approx({i.name: i.certainty for i in after.state().intents}, abs=2e-4)


def test_an_update_counts_what_it_has_seen_before_once(discovered, tiny_encoder, tmp_path):
    result, repeated = discovered
    newer = Corpus.of([repeated.upper(), repeated, "cancel book today", "cancel book now"]).from_source("tuesday.csv")
    after = newfound.update(tmp_path / "m", newer, accept_all=True, n_new=1, encoder=tiny_encoder, device="cpu").model
    utterances = by_text(after)
    assert utterances[repeated].count == by_text(result.model)[repeated].count + 2
    assert utterances[repeated].source == "monday.csv"
    assert utterances["cancel book now"].source == "tuesday.csv"
    assert len(after.utterances) == len(result.model.utterances) + 2


class Listener(LoggingReporter):
    """Keeps what it is told."""

    def __init__(self):
        self.notes, self.warnings = [], []

    def note(self, message):
        self.notes.append(message)

    def warn(self, message):
        self.warnings.append(message)


def test_a_name_that_a_person_gave_is_kept_if_its_intent_is_found_again(discovered, tiny_encoder, tmp_path):
    result, _ = discovered
    first, second = (i.name for i in result.intents if not i.known)
    renamed = Decision("rename", {"intent": first, "to": "moving house"})
    ReviewStore(tmp_path / "m").decide([renamed, Decision("accept", {"intent": second})], author="ana")
    listener = Listener()
    settings = {"encoder": tiny_encoder, "device": "cpu", "reporter": listener}
    after = newfound.update(tmp_path / "m", ["cancel book today", "cancel book now"], n_new=1, **settings)
    assert any("moving house: renamed, split or merged, but not accepted" in note for note in listener.notes)
    assert {i.name: (i.known, i.accepted) for i in after.intents}[second] == (True, True)
    assert {i.name: i.known for i in after.intents}["moving house"] is False
    assert not listener.warnings


def test_a_name_whose_intent_is_not_found_again_is_said_to_be_lost(discovered):
    model = discovered[0].model
    new = [i for i, intent in enumerate(model.intents) if not intent.known]
    texts = {i: [u.text for u in model.utterances if u.intent == i] for i in new}
    swallowed = {text: "small" if text == texts[new[0]][0] else None for text in texts[new[0]]}
    torn = {text: "torn" for i in new for text in texts[i][:4]}
    listener = Listener()
    for given in (swallowed, torn):
        named = with_names_given(model, given, Runtime(listener))
        assert [i.name for i in named.intents] == [i.name for i in model.intents]
    assert [warning.split(":")[0] for warning in listener.warnings] == ["small", "torn"]


def test_with_returns_another_model_and_leaves_this_one(discovered, themed):
    model = discovered[0].model
    names = [intent.name for intent in model.intents]
    weight = model.network.classifier.weight.detach().clone()
    before = model.predict_proba(themed.texts[:20])
    other = model.with_known([names[-1]])
    assert [i.name for i in model.intents] == names
    assert (model.network.classifier.weight == weight).all()
    assert (model.predict_proba(themed.texts[:20]) == before).all()
    assert other.intents[0].name == names[-1]
    assert other.intents[0].known
    assert other.predict(themed.texts) == model.predict(themed.texts)
    renamed = model.with_names([name.upper() for name in names])
    assert [i.name for i in model.intents] == names
    assert [i.name for i in renamed.intents] == [name.upper() for name in names]


def test_origins_follow_the_rows_of_a_corpus():
    corpus = Corpus.of(["a", "b", "c"], ["x", None, "y"], [Origin(True, "f", 1), Origin(False, "g", 3), Origin(True)])
    assert corpus.take([1]).origins == (Origin(False, "g", 3),)
    assert (corpus + corpus).origins == corpus.origins * 2
    assert corpus.hiding(["x"]).origins[0] == Origin(False, "f", 1)
    assert [o.labelled for o in Corpus.of(["a", "b"], ["x", None]).origins] == [True, False]


def test_any_kind_of_model_can_be_evaluated_and_calls_show_their_arguments(discovered):
    result, _ = discovered
    labelled = ([u.text for u in result.model.utterances[:20]], ["pay"] * 20)
    scores = [newfound.evaluate(m, labelled).accuracy for m in (result, result.model)]
    assert scores[0] == scores[1]
    with pytest.raises(SettingsError, match="a model folder, a loaded model or a fitted method"):
        newfound.evaluate(object(), labelled)
    with pytest.raises(SettingsError, match=r"discover\(\(texts, labels\), logs\)"):
        newfound.discover(["a"], ["b"], ["c"])
    assert list(signature(newfound.discover).parameters)[:3] == ["known", "logs", "out"]
