"""Two reviewers do not block each other: only decisions about the same intent or utterance are in conflict."""

from __future__ import annotations

import sqlite3

import pytest

from newfound.errors import ConflictError, DecisionError
from newfound.files import REVIEW_FILE
from newfound.review.decisions import Decision
from newfound.review.entries import Entry, check_conflicts, events
from newfound.review.state import Review
from newfound.review.store import ReviewStore

ACCEPT = Decision("accept", {"intent": "a"})
RENAME = Decision("rename", {"intent": "a", "to": "z"})
REJECT = Decision("reject", {"intent": "a"})
MERGE_AWAY = Decision("merge", {"intents": ["a"], "into": "b"})
MERGE_INTO = Decision("merge", {"intents": ["c"], "into": "a"})
SPLIT = Decision("split", {"intent": "a", "into": {"x": ["1"], "y": ["2"]}})
MOVE_IN = Decision("move", {"texts": ["t"], "to": "a"})
MOVE_AWAY = Decision("move", {"texts": ["t"], "to": "b"})
COMMENT = Decision("comment", {"intent": "a", "text": "?"})
ELSEWHERE = Decision("rename", {"intent": "q", "to": "r"})


def contradicts(first, second):
    """Whether a decision is refused if its author has not seen the first one."""
    try:
        check_conflicts([Entry(1, "2026-01-01T00:00:00+00:00", "ana", first.kind, first.arguments)], 0, [second])
    except ConflictError:
        return True
    return False


@pytest.mark.parametrize(
    ("first", "second", "is_conflict"),
    [
        (ACCEPT, ELSEWHERE, False),
        (ACCEPT, ACCEPT, False),
        (ACCEPT, RENAME, False),
        (ACCEPT, MOVE_IN, False),
        (ACCEPT, REJECT, True),
        (ACCEPT, MERGE_AWAY, True),
        (ACCEPT, SPLIT, True),
        (RENAME, ACCEPT, True),
        (RENAME, RENAME, True),
        (RENAME, MOVE_IN, True),
        (RENAME, COMMENT, True),
        (REJECT, MOVE_IN, True),
        (MOVE_IN, REJECT, True),
        (MOVE_IN, SPLIT, False),
        (MOVE_IN, MOVE_IN, False),
        (MOVE_IN, MOVE_AWAY, True),
        (MOVE_IN, Decision("move", {"texts": ["t"], "to": None}), True),
        (MOVE_IN, Decision("move", {"texts": ["another"], "to": "b"}), False),
        (MERGE_INTO, Decision("merge", {"intents": ["d"], "into": "a"}), False),
        (MERGE_INTO, ACCEPT, True),
        (MERGE_INTO, MOVE_IN, False),
        (SPLIT, Decision("move", {"texts": ["t"], "to": "x", "create": True}), True),
        (COMMENT, REJECT, False),
    ],
)
def test_what_goes_together_and_what_does_not(first, second, is_conflict):
    assert contradicts(first, second) is is_conflict


@pytest.mark.parametrize(
    "arguments", [{}, {"texts": 3, "to": []}, {"intents": "a", "into": {"a": 1}}, {"intent": None}]
)
@pytest.mark.parametrize("kind", ["rename", "merge", "split", "reject", "accept", "move", "comment", "unheard of"])
def test_malformed_decisions_contradict_nothing(kind, arguments):
    """They are compared before they are checked, and must be refused as wrong, not break the server."""
    contradicts(Decision(kind, arguments), Decision(kind, arguments))


@pytest.mark.slow
def test_the_order_of_decisions_and_undos_does_not_depend_on_the_clock(folder, monkeypatch):
    """All happens within one second, or the clock is set back: the version still says what a reviewer has seen."""
    store = ReviewStore(folder)
    first, second = store.names[-2:]
    store.decide([Decision("rename", {"intent": first, "to": "one"})], author="ana")
    with sqlite3.connect(folder / REVIEW_FILE) as connection:
        connection.execute("UPDATE decisions SET at = '2999-01-01T00:00:00+00:00'")
    store.decide([Decision("rename", {"intent": second, "to": "two"})], author="bo")
    seen = len(events(store.entries()))
    store.undo(author="bo", id=1)
    store.decide([Decision("accept", {"intent": "two"})], author="bo")
    happened = events(store.entries())
    assert [(e.author, e.is_undo, e.id) for e in happened] == [
        ("ana", False, 1),
        ("bo", False, 2),
        ("bo", True, 1),
        ("bo", False, 3),
    ]
    with pytest.raises(ConflictError, match=f"bo took back that ana renamed {first} to one"):
        store.decide([Decision("accept", {"intent": "one"})], author="ana", expected_version=seen)
    store.decide([Decision("accept", {"intent": "two"})], author="ana", expected_version=seen)


def test_comments_follow_their_intent(session):
    first, second = session.store.names[-2:]
    session.store.decide([Decision("comment", {"intent": first, "text": "same as the\nother one?"})], author="ana")
    session.store.decide([Decision("comment", {"intent": second, "text": "keep"})], author="bo")
    session.store.decide([Decision("rename", {"intent": first, "to": "house"})], author="bo")
    (comment,) = session.view().intent("house").comments
    assert (comment.author, comment.arguments["text"]) == ("ana", "same as the\nother one?")
    session.store.decide([Decision("merge", {"intents": ["house"], "into": second})], author="bo")
    assert [c.author for c in session.view().intent(second).comments] == ["ana", "bo"]
    assert {i.name: i.comments for i in session.view().state.intents if i.comments} == {second: 2}
    session.store.undo(author="ana", only_own=True)
    assert [c.arguments["text"] for c in session.view().intent(second).comments] == ["keep"]
    with pytest.raises(DecisionError, match="invisible character U\\+202E"):
        session.store.decide([Decision("comment", {"intent": second, "text": "a\u202eb"})], author="ana")
    with pytest.raises(DecisionError, match="1 to 2000 characters"):
        session.store.decide([Decision("comment", {"intent": second, "text": " "})], author="ana")


def test_colours_stay_with_an_intent(folder):
    store = ReviewStore(folder)
    last = store.names[-1]
    number = store.review().numbers[last]
    assert len(set(store.review().numbers.values())) == len(store.names)
    store.decide([Decision("rename", {"intent": last, "to": "sun"})], author="ana")
    assert store.review().numbers["sun"] == number
    texts = sorted(store._texts)[:4]
    store.decide([Decision("split", {"intent": "sun", "into": {"dawn": texts[:2], "dusk": texts[2:]}})], author="ana")
    numbers = store.review().numbers
    assert numbers["dawn"] == number
    assert len(set(numbers.values())) == len(numbers)


def test_decisions_in_words():
    said = {
        "accepted a": ACCEPT,
        "renamed a to z": RENAME,
        "rejected a": REJECT,
        "merged a into b": MERGE_AWAY,
        "split a into x and y": SPLIT,
        "put “t” into a": MOVE_IN,
        "put “t” into no intent": Decision("move", {"texts": ["t"], "to": None}),
        "made the intent n of 2 utterances (“t”, …)": Decision(
            "move", {"texts": ["t", "u"], "to": "n", "create": True}
        ),
        "commented on a: “?”": COMMENT,
        "teleport": Decision("teleport", {}),
        "rename": Decision("rename", {"intent": 1}),
    }
    assert {decision.words for decision in said.values()} == set(said)
    entry = Entry(
        1, "2026-01-01T00:00:00+00:00", "ana", ACCEPT.kind, ACCEPT.arguments, "2026-01-01T00:00:01+00:00", "bo"
    )
    assert [event.words for event in events([entry])] == ["ana accepted a", "bo took back that ana accepted a"]


def test_a_comment_that_two_parts_share_is_shown_once_when_they_are_merged_again():
    review = Review.begin(["a", "b"], [])
    review.apply(Decision("comment", {"intent": "a", "text": "?"}))
    review.apply(Decision("split", {"intent": "a", "into": {"x": ["1"], "y": ["2"]}}))
    review.apply(Decision("merge", {"intents": ["y"], "into": "x"}))
    assert review.comments == {"x": (0,)}


def test_comments_on_an_intent_are_bounded(session):
    first, second = session.store.names[-2:]
    comments = [Decision("comment", {"intent": first, "text": f"comment {i}"}) for i in range(200)]
    session.store.decide(comments, author="ana")
    with pytest.raises(DecisionError, match="has 200 comments, and more are not kept; undo some of them first"):
        session.store.decide([Decision("comment", {"intent": first, "text": "one more"})], author="ana")
    session.store.decide([Decision("comment", {"intent": second, "text": "of another"})], author="ana")
    shown = session.view().intent(first).comments
    assert [comment.arguments["text"] for comment in shown] == [f"comment {i}" for i in range(200)]
    session.store.decide([Decision("merge", {"intents": [second], "into": first})], author="ana")
    assert len(session.view().intent(first).comments) == 201, "what is recorded already stays"
