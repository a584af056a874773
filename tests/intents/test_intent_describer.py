"""`IntentDescriber` on six utterances of three intents, by hand."""

from __future__ import annotations

import pytest
import torch

from newfound.intents.description import IntentDescriber, expected_error_of
from newfound.model.types import Overlap, Utterance

STATUSES = {"pay": "known", "leak": "accepted", "move": "new"}
UTTERANCES = [
    Utterance("pay my bill", "pay", True, 1.0),
    Utterance("pay the bill", "pay", False, 0.5, count=3),
    Utterance("a water leak", "leak", False, 0.9),
    Utterance("leak of water", "leak", False, 0.7),
    Utterance("moving house", "move", False, 0.6),
    Utterance("hello", None, False, 0.4),
]
VECTORS = torch.tensor([[1.0, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0, 0.8, 0.6], [0, 0, 1], [0.5, 0.5, 0.5]])
# Rows of the nearest neighbours: of "leak", one of four is of another intent; the row of no intent does not count.
NEIGHBOURS = torch.tensor([[1, 5], [0, 5], [3, 3], [2, 4], [3, 3], [0, 1]])
PROBABILITIES = torch.tensor(
    [[0.9, 0.1, 0], [0.5, 0.4, 0.1], [0, 0.9, 0.1], [0, 0.7, 0.3], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3]]
)


@pytest.fixture
def describer():
    return IntentDescriber(STATUSES, UTTERANCES, VECTORS, lambda: PROBABILITIES, neighbours=lambda: NEIGHBOURS)


def test_what_an_intent_is_like(describer):
    pay, leak, move = describer.describe_all()
    assert [(i.name, i.status, i.size, i.labelled) for i in (pay, leak, move)] == [
        ("pay", "known", 4, 1),
        ("leak", "accepted", 2, 0),
        ("move", "new", 1, 0),
    ]
    assert [i.certainty for i in (pay, leak, move)] == [0.5, 0.8, 0.6], "labelled utterances do not count"
    assert set(leak.keywords) == {"water", "leak"}
    assert set(leak.exemplars) == {"a water leak", "leak of water"}
    assert leak.border == ("leak of water", "a water leak"), "the one that is nearest to another intent first"
    assert leak.overlaps == (Overlap("move", 0.25),)
    assert pay.overlaps == ()
    # 3 x 0.5, 0.9, 0.7 and 0.6 of six utterances in the logs; one more has no intent
    assert expected_error_of(describer.utterances) == pytest.approx(1 - 3.7 / 6, abs=1e-4)


def test_a_summary_leaves_out_what_takes_long(describer):
    summary = describer.summary(1)
    assert (summary.name, summary.size, summary.certainty, summary.exemplars, summary.overlaps) == (
        *("leak", 2, 0.8),
        *((), ()),
    )


def test_an_intent_without_utterances_is_described_as_empty():
    empty = IntentDescriber({"pay": "known", "gone": "new"}, UTTERANCES[:2], VECTORS[:2], lambda: PROBABILITIES[:2, :2])
    gone = empty.describe(1)
    assert (gone.size, gone.exemplars, gone.border, gone.certainty) == (0, (), (), None)
    assert gone.expected_error is None, "nothing is known of what is not there"
    labelled = IntentDescriber({"pay": "known"}, UTTERANCES[:1], VECTORS[:1], lambda: PROBABILITIES[:1, :1])
    assert UTTERANCES[0].labelled
    assert labelled.describe(0).certainty == 1.0, "a person has labelled all of it"


def test_neighbours_are_computed_where_none_are_given():
    described = IntentDescriber(STATUSES, UTTERANCES, VECTORS, lambda: PROBABILITIES).describe_all()
    assert [intent.name for intent in described] == list(STATUSES)
    assert all(0 <= overlap.share <= 1 for intent in described for overlap in intent.overlaps)
