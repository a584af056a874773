from __future__ import annotations

import pytest
import torch

from newfound.intents.examples import border_cases, exemplars
from newfound.intents.keywords import keywords
from newfound.intents.naming import MAX_NAME_LENGTH, name_intents, plain_name


@pytest.mark.parametrize(
    ("utterance", "taken", "name"),
    [
        ("How do I get my money back?", [], "how_do_i_get_my_money"),
        ("I'd like a refund!", ["id_like_a_refund"], "id_like_a_refund_2"),
        ("I'd like a refund!", ["id_like_a_refund", "id_like_a_refund_2"], "id_like_a_refund_3"),
        ("¿Dónde está mi tarjeta?", [], "dónde_está_mi_tarjeta"),
        ("???", [], "new_intent"),
        ("", ["new_intent"], "new_intent_2"),
    ],
)
def test_plain_names(utterance, taken, name):
    assert plain_name(utterance, taken=taken) == name


def test_names_are_short():
    assert len(plain_name("supercalifragilistic" * 9, taken=[])) <= MAX_NAME_LENGTH


CANCEL = [
    "please cancel my booking",
    "i want to cancel the booking",
    "cancel booking 4711 now",
    "can you cancel a booking",
]
PASSWORD = ["reset my password", "forgot it, reset password", "how do i reset the password", "password reset please"]
BAGGAGE = ["my bag is lost", "lost bag at the airport", "you have lost my bag", "i lost a bag"]


def test_names_are_action_and_object():
    assert name_intents([CANCEL, PASSWORD, BAGGAGE]) == ["cancel_booking", "reset_password", "lost_bag"]


def test_names_are_unique_also_among_the_known():
    names = name_intents([CANCEL, CANCEL, PASSWORD], taken=["reset_password"])
    assert len({*names, "reset_password"}) == 4


def test_an_intent_without_words_still_gets_a_name():
    assert name_intents([["???", "!!"], [], ["¿?"]]) == ["new_intent", "new_intent_2", "new_intent_3"]


def test_keywords_are_what_the_others_lack():
    top = [words[:2] for words in keywords([CANCEL, PASSWORD, BAGGAGE])]
    assert [set(words) for words in top] == [{"cancel", "booking"}, {"reset", "password"}, {"lost", "bag"}]


def test_exemplars_are_close_to_the_prototype_and_differ_from_one_another():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.01], [0.9, 0.4], [0.0, 1.0]])
    texts = ["a card", "A card!", "my card", "else"]
    assert exemplars(x, torch.tensor([1.0, 0.0]), texts, count=2) == [0, 2]
    assert exemplars(x, torch.tensor([1.0, 0.0]), texts, count=9) == [0, 2, 3]  # the repeat stays out


def test_border_cases_by_hand():
    """Margins of column 0 over the best other: 0.8, 0.1, -0.2."""
    logits = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.4, 0.1], [0.3, 0.1, 0.5]])
    assert border_cases(logits, 0, ["sure", "nearly", "hardly"], count=2) == [2, 1]


def test_words_with_vowel_signs_stay_whole():
    from newfound.text import words_of

    assert words_of("मेरा कार्ड खो गया है!") == ["मेरा", "कार्ड", "खो", "गया", "है"]
    assert words_of("don't e-mail ME\N{VARIATION SELECTOR-16} 24/7") == ["dont", "e", "mail", "me", "24", "7"]
