"""From logs alone to a reviewed, exported, updated and refitted model, and what each command makes of it."""

from __future__ import annotations

import pytest

import newfound
from conftest import themed_corpus
from newfound.data.corpus import Corpus
from newfound.errors import DecisionError, NothingToExport
from newfound.exports.registry import EXPORTS
from newfound.report.page import write_page
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore
from newfound.training.progress import LoggingReporter
from newfound.workflows.fitting import DEFAULT_EFFORT_NOTES, settings_of_effort
from newfound.workflows.runtime import Runtime

pytestmark = pytest.mark.slow  # dozens of fits

FAST = {"device": "cpu"}


@pytest.fixture(scope="module")
def texts():
    return list(themed_corpus(per_theme=24).texts)


@pytest.fixture(scope="module")
def folder(texts, tiny_encoder, tmp_path_factory):
    """A model that both tests use: the first one only reads it."""
    out = tmp_path_factory.mktemp("alone") / "my-bot"
    newfound.discover(logs=texts, out=out, n_new=5, encoder=tiny_encoder, **FAST)
    return out


def _accept(folder, *names):
    ReviewStore(folder).decide([Decision("accept", {"intent": name}) for name in names], author="ana")


def test_the_model_predicts_is_evaluated_reported_and_exported(folder, texts, tiny_encoder, tmp_path):
    themes = themed_corpus(per_theme=24, unlabelled=()).labels
    statuses = [p.status for p in newfound.predict(folder, texts, encoder=tiny_encoder, **FAST)]
    assert set(statuses) <= {"new", None}
    assert statuses.count("new") > 0.9 * len(texts)
    result = newfound.evaluate(folder, (texts, themes), encoder=tiny_encoder, **FAST)
    assert result.labels_by_name == 0
    assert result.accuracy > 40, "labels are matched to the new intents"
    reviewed = newfound.load(folder, encoder=tiny_encoder)
    write_page(reviewed.reviewed, tmp_path / "report.html", title="my-bot")
    report = (tmp_path / "report.html").read_text()
    assert "new intents" in report
    assert "known intents cover" not in report
    assert all(0 < intent.certainty <= 1 for intent in reviewed.intents)
    with pytest.raises(NothingToExport, match=r"any of the \d+ utterances; accept intents in the review, or include"):
        newfound.export(folder, "rasa", tmp_path / "nlu.yml", encoder=tiny_encoder)
    assert not (tmp_path / "nlu.yml").exists()
    for name in EXPORTS:
        newfound.export(folder, name, tmp_path / f"export-{name}", encoder=tiny_encoder, with_guesses=True)
        assert (tmp_path / f"export-{name}").exists()


def test_accepted_intents_are_known_after_an_update_and_after_a_refit(folder, texts, tiny_encoder, tmp_path):
    newer = ["cancel book today stop", "cancel book now stop", "please cancel book", "stop cancel book late"]
    with pytest.raises(DecisionError, match="no new intent was accepted yet"):
        newfound.update(folder, newer, encoder=tiny_encoder, **FAST)
    names = [intent.name for intent in newfound.load(folder, encoder=tiny_encoder).intents]
    _accept(folder, names[0])
    updated = newfound.update(folder, newer, tmp_path / "one", n_new=4, encoder=tiny_encoder, **FAST)
    assert [i.name for i in updated.intents if i.known] == names[:1], "one known intent is enough to go on with"
    assert updated.n_new == 4
    _accept(folder, *names[1:3])
    again = newfound.update(folder, newer, n_new=3, encoder=tiny_encoder, **FAST)
    assert {i.name for i in again.intents if i.known} == set(names[:3])
    refitted = newfound.refit(folder, tmp_path / "refitted", encoder=tiny_encoder, **FAST)
    assert {i.name for i in refitted.model.intents if i.known} == set(names[:3])
    assert {i.name for i in refitted.model.intents} == set(names)
    everything = newfound.update(folder, newer, n_new=1, accept_all=True, encoder=tiny_encoder, **FAST)
    assert {i.name for i in everything.intents if i.known} == set(names)


def test_no_fine_tuning_is_chosen_where_nothing_is_known():
    from newfound import Consensus

    notes = []

    class Listener(LoggingReporter):
        def note(self, message):
            notes.append(message)

    runtime, logs = Runtime(Listener(), device="cpu"), Corpus.of(["pay", "move", "read"])
    assert settings_of_effort(Consensus, logs, runtime) == {"tune": "heads"}
    assert notes == [DEFAULT_EFFORT_NOTES["heads"]]
    assert max(map(len, DEFAULT_EFFORT_NOTES.values())) <= 80, "one line at every run"
