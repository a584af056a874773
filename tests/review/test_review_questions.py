"""The head of the queue, and the clusters of the logs under a person's decisions."""

from __future__ import annotations

import pytest

from newfound.errors import SettingsError
from newfound.methods.consensus import Consensus
from newfound.methods.kmeans import KMeans
from newfound.questions.annotators import Answer
from newfound.review.carrying import Carried
from newfound.review.decisions import Decision
from newfound.review.questions import next_questions, recluster, state_of_answers
from newfound.review.reviewed import load_reviewed
from newfound.workflows.updating import refit

pytestmark = pytest.mark.slow  # dozens of fits


def a_move(session):
    """An utterance that stands for others, and another intent that it may belong to."""
    item = next(i for i in session.view().queue(50) if i.stands_for > 1 and i.asks_about is None)
    return item, next(name for name, _ in item.candidates if name != item.intent)


def test_questions_head_the_queue_in_the_order_of_their_gain_and_nothing_comes_twice(session):
    view = session.view()
    items = view.queue(500)
    questions = list(next_questions(state_of_answers(view.reviewed, session.votes()), 50))
    gains = [q.gain for q in questions]
    assert questions
    assert gains[0] == max(gains)
    asked = [int(session.votes().rows[q.row]) for q in questions]
    assert [i.id for i in items][: len(dict.fromkeys(asked))] == list(dict.fromkeys(asked))
    ids = [item.id for item in items]
    assert len(ids) == len(set(ids)) == len(view.undecided)
    assert items[0].candidates[0][0] == items[0].intent or items[0].asks_about


def test_similar_utterances_follow_a_move_at_the_refit(session, tiny_encoder, tmp_path):
    item, other = a_move(session)
    session.store.decide([Decision("move", {"texts": [item.text], "to": other})], author="ana")
    reviewed = load_reviewed(session.folder, encoder=tiny_encoder)
    corpus, followed = recluster(reviewed, Carried.of(reviewed).corpus)
    assert followed == item.stands_for - 1
    before = Carried.of(reviewed).corpus
    moved = [text for text, a, b in zip(corpus.texts, before.labels, corpus.labels, strict=True) if a != b]
    assert len(moved) == followed
    assert corpus.texts == before.texts
    assert corpus.origins == before.origins
    assert dict(zip(corpus.texts, corpus.labels, strict=True))[item.text] == other
    labelled = {u.text for u in reviewed.model.utterances if u.labelled}
    assert not labelled & set(moved)
    result = refit(session.folder, tmp_path / "refitted", encoder=tiny_encoder, tune="heads")
    assert result.changes.reclustered == followed
    alone = refit(session.folder, encoder=tiny_encoder, tune="heads", recluster=False)
    assert alone.changes.reclustered == 0


def test_without_a_move_nothing_is_clustered_again(session, tiny_encoder):
    new = next(i.name for i in session.view().state.intents if not i.known)
    session.store.decide([Decision("accept", {"intent": new})], author="ana")
    reviewed = load_reviewed(session.folder, encoder=tiny_encoder)
    assert recluster(reviewed, Carried.of(reviewed).corpus) == (Carried.of(reviewed).corpus, 0)


def test_utterances_that_a_person_assigned_stay_whatever_follows_others(session, tiny_encoder):
    item, other = a_move(session)
    reviewed = session.view().reviewed
    texts = [u.text for u in reviewed.assigned if u.intent == item.intent and not u.labelled]
    kept = [text for text in texts if text != item.text][::2]
    session.store.decide([Decision("move", {"texts": kept, "to": item.intent})], author="ana")
    session.store.decide([Decision("move", {"texts": [item.text], "to": other})], author="ana")
    reviewed = load_reviewed(session.folder, encoder=tiny_encoder)
    corpus, _ = recluster(reviewed, Carried.of(reviewed).corpus)
    of_text = dict(zip(corpus.texts, corpus.labels, strict=True))
    assert of_text[item.text] == other
    assert {of_text[text] for text in kept} == {item.intent}


class Recorder:
    """Answers that nothing changes, and notes what it was asked."""

    reliability = 1.0

    def __init__(self, answers=True):
        self.asked, self.answers = [], answers

    def answer(self, question):
        self.asked.append(question)
        return Answer(0) if self.answers else None


def test_a_fit_asks_its_annotator_no_more_than_it_may_and_goes_on_without_answers(themed, tiny_encoder):
    settings = {"n_new": 2, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2}
    plain = Consensus(**settings).fit(themed.texts, themed.labels)
    silent, recorder = Recorder(answers=False), Recorder()
    without = Consensus(**settings, questions=3).fit(themed.texts, themed.labels, annotator=silent)
    assert len(silent.asked) == 3
    assert list(without.labels_) == list(plain.labels_)
    Consensus(**settings, questions=2).fit(themed.texts, themed.labels, annotator=recorder)
    assert len(recorder.asked) == 2
    logs = {t for t, label in zip(themed.texts, themed.labels, strict=True) if label is None}
    assert all(q.text in logs and len(q.candidates) >= 1 for q in recorder.asked)


class GoldAnnotator:
    """Knows the theme of each text by its first word."""

    reliability = 1.0

    def answer(self, question):
        theme = question.text.split()[0]
        fits = [i for i, examples in enumerate(question.candidates) if examples[0].split()[0] == theme]
        return Answer(fits[0] if fits else None)


def test_answers_may_name_known_intents_in_mixed_logs_and_more_intents_than_columns(themed, tiny_encoder):
    for n_new in (1, 2, 6):
        settings = {"n_new": n_new, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2}
        fitted = Consensus(**settings, logs="mixed").fit(themed.texts, themed.labels, annotator=GoldAnnotator())
        assert len(fitted.labels_) == len(themed)


def test_methods_that_ask_nothing_say_so(themed, tiny_encoder):
    with pytest.raises(SettingsError, match="asks no questions"):
        KMeans(n_new=2, encoder=tiny_encoder).fit(themed.texts, themed.labels, annotator=GoldAnnotator())
