"""What a decision and the queue cost: each version is computed once, and nothing of it while the log is locked."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from newfound.questions import state
from newfound.review import queries, reviewed, sqlite
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession


@pytest.fixture
def computed(monkeypatch):
    """The versions whose queue was computed, in their order."""
    versions, compute = [], queries.order_queue

    def counting(view, votes):
        order = compute(view, votes)
        versions.append(view.version)
        return order

    monkeypatch.setattr(queries, "order_queue", counting)
    return versions


def test_the_queue_is_computed_once_for_all_who_ask(session, computed):
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda count: session.view().queue(count), [5, 20, 20, 200]))
    assert computed == [0]
    assert answers[0] == answers[1][:5] == answers[3][:5]


def test_questions_join_the_queue_when_the_votes_are_counted(session, computed, monkeypatch):
    counted, votes = threading.Event(), session.votes()
    monkeypatch.setattr(ReviewSession, "votes", lambda self, *, wait: votes if counted.is_set() else None)
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
    calls, modules = Counter(), {"_arguments": sqlite, "kmeans": state, "round_probability": reviewed}

    def count(name, function, *given, **more):
        calls[name] += 1
        return function(*given, **more)

    for name, module in modules.items():
        monkeypatch.setattr(module, name, partial(count, name, getattr(module, name)))
    item, *_ = session.view().queue(500)
    at_first = calls.copy()
    new, other = (intent.name for intent in session.view().state.intents[:2])
    moves = [{"texts": [item.text], "to": item.intent}, {"texts": [item.text], "to": None}]
    moves += [{"texts": [u.text], "to": "made", "create": True} for u in session.view().queue(9)[8:]]
    for number, decision in enumerate([Decision("move", arguments) for arguments in moves]):
        calls.clear()
        session.store.decide([decision], author="ana")
        assert [session.view().state.version, len(session.view().entries)] == [number + 1] * 2
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
    assert ours.state == fresh.state
    assert ours.queue(500) == fresh.queue(500)
    assert ours.reviewed.utterance_probabilities.equal(fresh.reviewed.utterance_probabilities)
