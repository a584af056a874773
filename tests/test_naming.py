from __future__ import annotations

import pytest

from newfound.naming import LONGEST_NAME, plain_name


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
    assert len(plain_name("supercalifragilistic" * 9, taken=[])) <= LONGEST_NAME
