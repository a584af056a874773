"""What became of the intents of one model in another."""

import time

from hypothesis import given
from hypothesis import strategies as st

from newfound.algorithms.rounds import carried_ids, compare_rounds


def assigned(**sizes: str) -> dict[str, str]:
    """One utterance for each letter: `assigned(card="abc")` has a, b and c in the intent card."""
    return {letter: intent for intent, letters in sizes.items() for letter in letters}


def test_every_kind_of_change():
    before = assigned(card="abcd", top_up="efgh", fee="ijkl", rate="mn", limit="opqr", atm="st")
    after = assigned(card="abcdXY", topping_up="efgh", fees="ijklmn", limit_up="op", limit_down="qr", refund="UVW")
    assert {(relation.change, *relation) for relation in compare_rounds(before, after)} == {
        ("kept", ("card",), ("card",), 4),
        ("renamed", ("top_up",), ("topping_up",), 4),
        ("merged", ("fee", "rate"), ("fees",), 6),
        ("split", ("limit",), ("limit_down", "limit_up"), 4),
        ("gone", ("atm",), (), 0),
        ("new", (), ("refund",), 0),
    }


def test_a_few_utterances_that_moved_are_no_split():
    before, after = assigned(card="abcdefgh", fee="ij"), assigned(card="abcdefg", fee="hijXYZ")
    assert {r.change for r in compare_rounds(before, after)} == {"kept"}


def test_an_intent_keeps_its_id_in_another_round():
    before = assigned(card="abcd", fee="ij", rate="klm")
    after = assigned(cards="abcd", fees="ijklm", refund="XY")
    ids = carried_ids(
        compare_rounds(before, after), {"card": "1", "fee": "2", "rate": "3"}, {"fee": 2, "rate": 3, "fees": 5}
    )
    assert ids == {"cards": "1", "fees": "3"}  # `rate` was the larger one


@given(st.dictionaries(st.integers(0, 30).map(str), st.sampled_from([*"abcd", None])), st.data())
def test_every_intent_is_told_once(before, data):
    after = {text: data.draw(st.sampled_from([*"wxyz", None])) for text in before}
    relations = compare_rounds(before, after)
    for side, intents in (("before", before), ("after", after)):
        told = [name for relation in relations for name in getattr(relation, side)]
        assert sorted(told) == sorted({name for name in intents.values() if name is not None})


def test_many_intents_that_become_one_take_no_time():
    """The steps do not grow with the square of the intents."""
    before = {f"text {i}": f"intent {i}" for i in range(30_000)}
    started = time.process_time()
    (relation,) = compare_rounds(before, dict.fromkeys(before, "all"))
    assert (relation.change, len(relation.before), relation.moved) == ("merged", 30_000, 30_000)
    assert time.process_time() - started < 10
