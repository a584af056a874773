"""No sequence of decisions can break a model folder: whatever was recorded, every view of it can be made."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newfound.errors import DecisionError
from newfound.review.decisions import MAX_PARTS, Decision
from newfound.review.entries import Entry
from newfound.review.queries import ReviewView
from newfound.review.reviewed import ReviewedModel
from newfound.review.session import ReviewSession
from newfound.review.state import Review

pytestmark = pytest.mark.slow  # fuzzing


@pytest.fixture(scope="module")
def pristine(saved, tiny_encoder):
    return ReviewSession(saved, encoder=tiny_encoder)


NAMES = st.sampled_from(["leak", "meter", "pay", "new 1", "new 2", "x", "y", "z"])


@st.composite
def decisions(draw):
    kind = draw(st.sampled_from(["rename", "merge", "split", "reject", "accept", "move", "comment", "divide"]))
    name, other = draw(NAMES), draw(NAMES)
    texts = [f"text {i}" for i in draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))]
    arguments = {
        "rename": {"intent": name, "to": other},
        "merge": {"intents": [name, draw(NAMES)], "into": other},
        "split": {"intent": name, "into": {other: texts[:1], draw(NAMES): texts}},
        "reject": {"intent": name},
        "accept": {"intent": name},
        "comment": {"intent": name, "text": other},
        "move": {"texts": texts, "to": draw(st.none() | NAMES)},
        "divide": {"text": "text 1 text 2", "parts": {"text 1": name, "text 2": other}},
    }[kind]
    if kind == "move" and arguments["to"] is not None and draw(st.booleans()):
        arguments["create"] = True
    return Decision(kind, arguments)


@settings(max_examples=100, deadline=None)
@given(st.lists(decisions(), max_size=12))
def test_a_review_is_consistent_after_any_decisions(sequence):
    review = Review.begin(["leak", "meter", "pay", "new 1", "new 2"], ["leak", "meter", "pay"])
    for decision in sequence:
        before = review.copy()
        try:
            review.apply(decision)
        except DecisionError:
            assert review == before, "a refusal changes nothing"
            continue
        names = set(review.names)
        assert {name for possible in review.assigned.values() for name in possible} <= names
        assert review.known | review.accepted <= names
        assert set(review.numbers) == names, "every intent has a number, and nothing else does"
        assert set(review.comments) <= names
        assert {i for positions in review.comments.values() for i in positions} <= set(range(review.n_comments))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(decisions(), max_size=8), st.randoms(use_true_random=False))
def test_every_view_can_be_made_of_what_a_review_allows(pristine, sequence, random):
    """On a real model: names and texts are the model's own."""
    store = pristine.store
    texts = [u.text for u in pristine.model.utterances]
    own = {"new 1": store.names[3], "new 2": store.names[4]}

    def real(value):
        if isinstance(value, str):
            return texts[hash(value) % len(texts)] if value.startswith("text ") else own.get(value, value)
        if isinstance(value, list):
            return [real(v) for v in value]
        return {real(k): real(v) for k, v in value.items()} if isinstance(value, dict) else value

    review, entries = Review.begin(store.names, store.known), []
    for decision in sequence:
        entries.append(Entry(1, "", "ana", decision.kind, real(dict(decision.arguments))))
        try:
            review.apply(entries[-1].decision)
            review.check_consistent()
        except DecisionError:
            return
    view = ReviewView(pristine, ReviewedModel(pristine.model, review), entries)
    state = view.state
    assert sum(i.size for i in state.intents) + sum(u.intent is None for u in view.describer.utterances) == len(texts)
    view.queue()
    view.points()
    for intent in state.intents:
        view.intent(intent.name)
    if any(u.intent is not None for u in view.describer.utterances):
        assert view.reviewed.assigned


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two\nlines", "invisible character U\\+000A"),
        ("right\u202eto left", "invisible character U\\+202E"),
        ("\u200b", "invisible character"),
        (" pay", "begin or end"),
        ("\u3164\u200d", "begin or end"),
        ("x" * 201, "1 to 200"),
    ],
)
def test_names_that_a_person_cannot_read_are_refused(session, name, message):
    with pytest.raises(DecisionError, match=message):
        session.store.decide([Decision("rename", {"intent": "pay", "to": name})], author="ana")
    assert not session.store.exists


@pytest.mark.parametrize("name", ["bezahlen", "платёж", "支払い", "pay 💳", "family 👨‍👩‍👧", "می‌خواهم"])
def test_names_in_any_script_are_accepted(session, name):
    session.store.decide([Decision("rename", {"intent": "pay", "to": name})], author="ana")
    assert name in session.view().names


def test_what_a_new_decision_may_not_hold(session):
    name = session.store.names[-1]
    parts = {f"part {i}": ["pay"] for i in range(MAX_PARTS + 1)}
    with pytest.raises(DecisionError, match=f"at most {MAX_PARTS} parts"):
        session.store.decide([Decision("split", {"intent": name, "into": parts})], author="ana")
