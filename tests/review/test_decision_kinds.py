"""A kind of decision is one class: reading, applying, words, limits and conflicts follow from it."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass
from typing import ClassVar

import pytest

from newfound.errors import ConflictError, DecisionError
from newfound.files import REVIEW_FILE
from newfound.review.decisions import EXISTS, KINDS, STATUS, Decision, Kind, parse
from newfound.review.entries import version_of
from newfound.review.sqlite import SCHEMA
from newfound.review.store import ReviewStore


@dataclass(frozen=True, slots=True)
class Doubt(Kind):
    """Take back that an intent was accepted."""

    short: ClassVar[str | None] = "intent"
    changes: ClassVar[dict] = {"intent": (STATUS,)}
    relies_on: ClassVar[dict] = {"intent": (EXISTS,)}
    intent: str

    def apply(self, review):
        review.check_exists(self.intent)
        review.accepted.discard(self.intent)

    def words(self):
        return f"doubted {self.intent}"


@pytest.fixture
def store(saved, tmp_path):
    return ReviewStore(shutil.copytree(saved, tmp_path / "model"))


def test_a_kind_from_outside_is_recorded_told_and_compared(store, monkeypatch):
    monkeypatch.setitem(KINDS, "doubt", Doubt)
    new = store.names[-1]
    store.decide([parse({"accept": new})], author="ana")
    seen = version_of(store.entries())
    (entry,) = store.decide([parse({"doubt": new})], author="bo", expected_version=seen)
    assert (entry.kind, entry.arguments, entry.words) == ("doubt", {"intent": new}, f"doubted {new}")
    assert store.review().accepted == set()
    with pytest.raises(ConflictError, match=f"bo doubted {new} in the meantime"):
        store.decide([Decision("reject", {"intent": new})], author="ana", expected_version=seen)
    store.decide([Decision("rename", {"intent": new, "to": "other"})], author="ana", expected_version=seen)
    with pytest.raises(DecisionError, match=r"unknown argument 'intents' .did you mean 'intent'"):
        store.decide([parse({"doubt": {"intents": "other"}})], author="bo")
    with pytest.raises(DecisionError, match="'intent' is missing or not a text"):
        store.decide([parse({"doubt": {}})], author="bo")


def test_a_kind_without_apply_or_words_is_refused_when_it_is_made():
    @dataclass(frozen=True, slots=True)
    class Doubt(Kind):
        intent: str

        def words(self) -> str:
            return "doubted"

    with pytest.raises(TypeError, match="apply"):
        Doubt.of({"intent": "a"})


def test_a_kind_of_a_newer_version_is_shown_by_its_name_and_refused():
    decision = Decision("doubt", {"intent": "a"})
    assert decision.words == "doubt"
    with pytest.raises(DecisionError, match="no decision 'doubt'; one of rename, merge"):
        decision.read()


def test_decisions_that_an_earlier_version_has_stored_still_apply(store):
    """The rows are written as the first version wrote them, without the code of this one."""
    first, second = store.names[-2:]
    with sqlite3.connect(store.folder / REVIEW_FILE) as connection:
        connection.execute(SCHEMA)
        rows = [
            ("rename", f'{{"intent": "{first}", "to": "one"}}'),
            ("accept", '{"intent": "one"}'),
            ("comment", '{"intent": "one", "text": "a question"}'),
            ("split", f'{{"intent": "{second}", "into": {{"two": ["a"], "three": ["b", "c"]}}}}'),
            ("merge", '{"intents": ["three", "one"], "into": "one"}'),
            ("reject", '{"intent": "two"}'),
            ("move", '{"texts": ["pay pay"], "to": "four", "create": true}'),
            ("move", '{"texts": ["leak leak"], "to": null}'),
        ]
        connection.executemany(
            "INSERT INTO decisions (at, author, kind, arguments) VALUES ('2026-01-01T00:00:00+00:00', 'ana', ?, ?)",
            rows,
        )
    review = store.review()
    assert {"one", "four"} < set(review.names)
    assert not {first, second, "two", "three"} & set(review.names)
    assert review.accepted == {"one"}
    assert review.moved == {"pay pay": "four", "leak leak": None}
    assert list(review.comments) == ["one"]
