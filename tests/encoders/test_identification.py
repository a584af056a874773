"""The language of short texts, and whether there are several."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from newfound.encoders.languages import MAX_VOCABULARY, likely_language, likely_languages

MULTILINGUAL = SimpleNamespace(tokenizer=range(MAX_VOCABULARY + 1))
ENGLISH = ["where is my card", "how do i pay the bill", "card lost"] * 20
GERMAN = ["wo ist meine karte", "wie kann ich die rechnung bezahlen", "karte verloren"] * 20


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Is it going to rain today?", "English"),
        ("Wird es heute heiß?", "German"),
        ("Bugün hava nasıl olacak?", "Turkish"),
        ("今天会下雨吗？", "CJK"),
        ("播放 All Things Must Pass 。", "CJK"),
        ("今日は雨が降りますか", "Japanese"),
        ("アラームをセット", "Japanese"),
        ("كم سيكون الطقس حاراً اليوم ؟", "ARABIC"),
        ("включи музыку", "CYRILLIC"),
        ("RTX4090Ti", ""),
        ("de la", ""),  # several languages have both words
        ("", ""),
        ("12:30 ???", ""),
    ],
)
def test_languages_of_texts(text, language):
    assert likely_language(text) == language


def test_texts_in_two_languages_are_told_apart():
    likely = likely_languages(MULTILINGUAL, ENGLISH + GERMAN)
    assert likely.tolist() == [0, 0, -1] * 20 + [1, 1, -1] * 20


def test_texts_in_one_language_are_left_alone():
    assert likely_languages(MULTILINGUAL, ENGLISH) is None
    assert likely_languages(MULTILINGUAL, GERMAN) is None
    assert likely_languages(MULTILINGUAL, [*ENGLISH, *GERMAN[:9]]) is None  # too few for a mean of their own


def test_an_encoder_for_one_language_is_left_alone():
    assert likely_languages(SimpleNamespace(tokenizer=range(30_000)), ENGLISH + GERMAN) is None
