"""Every utterance keeps who labelled it, where it came from and how often it occurred, from round to round."""

from __future__ import annotations

import shutil
from inspect import signature

import pytest

import newfound
from newfound.data.corpus import Corpus, Origin
from newfound.errors import SettingsError
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession
from newfound.review.store import ReviewStore

pytestmark = pytest.mark.slow  # dozens of fits


@pytest.fixture(scope="module")
def discovered(themed, tiny_encoder, tmp_path_factory):
    known = themed.labelled().from_source("known.csv")
    repeated = themed.unlabelled().texts[0]
    logs = Corpus.of([*themed.unlabelled().texts, *[repeated] * 4]).from_source("monday.csv")
    out = tmp_path_factory.mktemp("origins") / "m"
    return newfound.discover(known, logs, out, n_new=2, encoder=tiny_encoder, device="cpu", tune="heads"), repeated


@pytest.fixture
def folder(discovered, tmp_path):
    return shutil.copytree(discovered[0].folder, tmp_path / "m")


def by_text(model):
    return {u.text: u for u in model.utterances}


def test_discovery_keeps_them(discovered, themed):
    result, repeated = discovered
    utterances = by_text(result.model)
    assert utterances[repeated].count >= 5
    assert {u.source for u in result.model.utterances if u.labelled} == {"known.csv"}
    assert {u.source for u in result.model.utterances if not u.labelled} == {"monday.csv"}
    assert sum(intent.size for intent in result.intents) == sum(u.count for u in result.model.utterances)


def test_a_refit_keeps_them_and_there_is_still_something_to_review(discovered, folder, tiny_encoder, tmp_path):
    result, repeated = discovered
    first = next(i for i in result.intents if not i.known)
    moved = next(u.text for u in result.model.utterances if not u.labelled and u.text != repeated)
    ReviewStore(folder).decide(
        [Decision("accept", {"intent": first.name}), Decision("move", {"texts": [moved], "to": first.name})],
        author="ana",
    )
    before, after = by_text(result.model), newfound.refit(folder, tmp_path / "r", encoder=tiny_encoder).model
    for text, u in by_text(after).items():
        assert (u.count, u.source) == (before[text].count, before[text].source), text
        assert u.labelled == (before[text].labelled or text == moved), text
    assert {i.name: i.known for i in after.intents}[first.name]
    session = ReviewSession(tmp_path / "r", encoder=tiny_encoder)
    view = session.view()
    assert view.queue(), "utterances from the logs can still be checked"
    assert 0 < view.state.progress.expected_error < 1
    assert sum(i.size for i in view.state.intents) == sum(u.count for u in after.utterances)


def test_an_update_counts_what_it_has_seen_before_once(discovered, folder, tiny_encoder):
    result, repeated = discovered
    newer = Corpus.of([repeated.upper(), repeated, "cancel book today", "cancel book now"]).from_source("tuesday.csv")
    after = newfound.update(folder, newer, accept_all=True, n_new=1, encoder=tiny_encoder, device="cpu").model
    utterances = by_text(after)
    assert utterances[repeated].count == by_text(result.model)[repeated].count + 2
    assert utterances[repeated].source == "monday.csv"
    assert utterances["cancel book now"].source == "tuesday.csv"
    assert len(after.utterances) == len(result.model.utterances) + 2


def test_with_returns_another_model_and_leaves_this_one(discovered, themed):
    model = discovered[0].model
    names = [intent.name for intent in model.intents]
    weight = model.embedder.network.classifier.weight.detach().clone()
    before = model.predict_proba(themed.texts[:20])
    other = model.with_known([names[-1]])
    assert [i.name for i in model.intents] == names
    assert (model.embedder.network.classifier.weight == weight).all()
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
