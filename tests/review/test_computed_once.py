"""What a decision and the queue cost: each version is computed once, and nothing of it while the log is locked."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest

from newfound.errors import ConflictError
from newfound.files import REVIEW_FILE
from newfound.questions import evidence
from newfound.review import reviewed, sqlite, store
from newfound.review.decisions import Decision
from newfound.review.questions import ReviewQueue
from newfound.review.reviewed import ReviewedModel
from newfound.review.session import ReviewSession
from newfound.review.store import ReviewStore


@pytest.fixture
def session(saved, tmp_path, tiny_encoder):
    return ReviewSession(shutil.copytree(saved, tmp_path / "model"), encoder=tiny_encoder)


@pytest.fixture
def computed(monkeypatch):
    """The versions whose queue was computed, in their order."""
    versions, compute = [], ReviewQueue._compute

    def counting(self, votes):
        order = compute(self, votes)
        versions.append(self._view.version)
        return order

    monkeypatch.setattr(ReviewQueue, "_compute", counting)
    return versions


def wait_until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_queue_is_computed_once_for_all_who_ask(session, computed):
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda count: session.view().queue(count), [5, 20, 20, 200]))
    assert computed == [0]
    assert answers[0] == answers[1][:5] == answers[3][:5]


def test_the_queue_is_computed_again_only_when_somebody_asks(session, computed):
    """A reviewer has the next questions on the page already, so a decision does not wait for them."""
    item = session.view().queue()[0]
    session.store.decide([Decision("move", {"texts": [item.text], "to": item.intent})], author="ana")
    assert computed == [0]
    assert item.text not in [one.text for one in session.view().queue()]
    session.store.undo(author="ana", only_own=True)
    assert item.text in [one.text for one in session.view().queue()]
    assert computed == [0, 1, 2]


def test_questions_join_the_queue_when_the_votes_are_counted(session, computed, monkeypatch):
    monkeypatch.setattr("newfound.review.session.MAX_UTTERANCES_TO_WAIT_FOR", {"layout": 10, "votes": 10})
    counted, votes = threading.Event(), session.votes
    monkeypatch.setattr(ReviewSession, "votes_now", lambda self: votes if counted.is_set() else None)
    view = session.view()
    view.queue()
    view.queue()
    assert computed == [0]
    counted.set()
    view.queue()
    view.queue()
    assert computed == [0, 0]


def test_a_decision_costs_what_it_changes_and_not_what_there_is(session, monkeypatch, tiny_encoder):
    """Of the log nothing is read again, of the utterances only the moved ones are assigned, and few are cut."""
    calls, modules = Counter(), {"_arguments": sqlite, "kmeans": evidence, "round_probability": reviewed}

    def count(name, function, *given, **more):
        calls[name] += 1
        return function(*given, **more)

    for name, module in modules.items():
        monkeypatch.setattr(module, name, partial(count, name, getattr(module, name)))
    item, *_ = session.view().queue(500)
    at_first = calls.copy()
    new, other = (intent.name for intent in session.view().state().intents[:2])
    moves = [{"texts": [item.text], "to": item.intent}, {"texts": [item.text], "to": None}]
    moves += [{"texts": [u.text], "to": "made", "create": True} for u in session.view().queue(9)[8:]]
    for number, decision in enumerate([Decision("move", arguments) for arguments in moves]):
        calls.clear()
        session.store.decide([decision], author="ana")
        assert [session.view().state().version, len(session.view().entries)] == [number + 1] * 2
        session.view().queue(500)
        assert calls["_arguments"] == 0
        assert calls["round_probability"] == 0 < at_first["round_probability"]
        assert calls["kmeans"] < at_first["kmeans"]
    split = session.view().intent(new).split
    into = {part.name: list(part.utterances) for part in split.parts}
    for decision in (Decision("split", {"intent": new, "into": into}), Decision("accept", {"intent": other})):
        session.store.decide([decision], author="ana")
    session.store.undo(author="ana", only_own=True)
    ours, fresh = session.view(), ReviewSession(session.folder, encoder=tiny_encoder).view()
    assert ours.state() == fresh.state()
    assert ours.queue(500) == fresh.queue(500)
    assert ours.reviewed.utterance_probabilities.equal(fresh.reviewed.utterance_probabilities)


def test_a_state_is_made_once_for_each_decision_and_not_while_the_log_is_locked(session, monkeypatch):
    path = session.folder / REVIEW_FILE
    made, describe = [], ReviewedModel.describer

    def checking(self, **more):
        if path.exists():
            with sqlite3.connect(path, timeout=0) as other:
                other.execute("BEGIN IMMEDIATE")  # raises if the log is locked
                other.execute("ROLLBACK")
        made.append(self)
        return describe(self, **more)

    monkeypatch.setattr(ReviewedModel, "describer", checking)
    name = session.store.names[-1]
    for number, decision in enumerate([("accept", {}), ("comment", {"text": "yes"})], 1):
        session.store.decide([Decision(decision[0], {"intent": name, **decision[1]})], author="ana")
        assert session.view().state() == session.view().state()
        assert len(made) == number
    assert session.view() is session.view(), "until somebody decides"


def test_what_others_record_before_the_log_is_locked_is_heeded(session, monkeypatch):
    first, second = session.store.names[-2:]
    other, hold = ReviewStore(session.folder), store.hold_model

    def after(decision):
        @contextmanager
        def holding(*given, **more):
            with monkeypatch.context() as patch:
                patch.setattr(store, "hold_model", hold)
                other.decide([decision], author="bo")
            with hold(*given, **more):
                yield

        monkeypatch.setattr(store, "hold_model", holding)

    after(Decision("rename", {"intent": second, "to": "theirs"}))
    session.store.decide([Decision("accept", {"intent": first})], author="ana", expected_version=0)
    assert [entry.author for entry in session.store.entries()] == ["bo", "ana"]
    after(Decision("rename", {"intent": first, "to": "gone"}))
    with pytest.raises(ConflictError, match="bo renamed"):
        session.store.decide([Decision("reject", {"intent": first})], author="ana", expected_version=2)


def test_a_computation_that_failed_is_tried_again_in_one_thread_for_all_models(session, tiny_encoder, monkeypatch):
    monkeypatch.setattr("newfound.review.session.MAX_UTTERANCES_TO_WAIT_FOR", {"layout": 10, "votes": 10})
    begun, go_on = [], threading.Event()

    def count(model):
        begun.append(model)
        go_on.wait(60)
        if len(begun) == 1:
            raise MemoryError
        return "votes"

    monkeypatch.setattr("newfound.review.session.LogVotes", count)
    for one in (session, session, ReviewSession(session.folder, encoder=tiny_encoder)):
        assert one.votes_now() is None
    wait_until(lambda: begun)
    assert len(begun) == 1
    go_on.set()
    wait_until(lambda: session.votes_now() == "votes")
