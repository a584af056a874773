"""How well known intents do on held-out labels: when they fall, what is said, and what a damaged folder may hold."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from newfound.model.types import KnownCheck
from newfound.workflows.publishing import model_card

FALLEN = KnownCheck(labels=120, plain=0.9333, now=0.8, lost=19, gained=3)


@pytest.mark.parametrize(
    ("labels", "plain", "now", "lost", "gained", "falls"),
    [
        (120, 0.9333, 0.8, 19, 3, True),  # 16 fewer are right, and chance explains 2 * sqrt(22) = 9.4
        (14, 0.9286, 0.7143, 3, 0, False),  # 21 points, and 3 fewer: chance explains 2 * sqrt(3) = 3.5
        (100, 0.9, 0.8, 35, 25, False),  # 10 points, and 10 fewer: chance explains 2 * sqrt(60) = 15.5
        (1000, 0.93, 0.88, 50, 0, False),  # 5 points are not more than 5, whatever 0.93 - 0.88 is as a float
        (1000, 0.93, 0.879, 51, 0, True),
        (120, 0.8, 0.9333, 3, 19, False),
        (50, 1.0, 1.0, 0, 0, False),
    ],
)
def test_known_intents_fall_if_it_is_much_and_no_chance(labels, plain, now, lost, gained, falls):
    assert KnownCheck(labels, plain, now, lost, gained).falls is falls


def test_the_sentence_has_rounded_percentages():
    sentence = "Known intents: 93 % with a plain classifier, 91 % now (on 1,120 held-out labels)"
    assert KnownCheck(1120, 0.9304, 0.9071, 40, 14).sentence == sentence


def test_a_provenance_holds_it_as_json_and_may_hold_anything_else():
    stored = json.loads(json.dumps({"known_check": asdict(FALLEN)}))
    assert KnownCheck.of(stored) == FALLEN
    assert KnownCheck.of({"known_check": {"labels": 2, "plain": 1, "now": 1, "lost": 0, "gained": 0}}) is not None
    assert KnownCheck.of({}) is None
    for damage in (
        {"plain": "x"},
        {"now": 1.5},
        {"plain": float("nan")},
        {"lost": -1},
        {"labels": 2},
        {"gained": None},
    ):
        assert KnownCheck.of({"known_check": {**stored["known_check"], **damage}}) is None, damage
    assert KnownCheck.of({"known_check": [1, 2]}) is None


def test_the_card_has_it_if_it_was_measured(saved):
    about = json.loads((saved / "model.json").read_bytes())
    about["provenance"].pop("known_check", None)
    assert "Known intents" not in model_card(about, (), "hf://ana/bot")
    about["provenance"]["known_check"] = asdict(FALLEN)
    assert f"- {FALLEN.sentence}\n" in model_card(about, (), "hf://ana/bot")
