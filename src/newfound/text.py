"""Splitting text into words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Words that carry no meaning of their own in a request. Short on purpose: other languages pass through unharmed.
FILLERS = frozenset(
    """a about after again all also am an and any are as at be because been being but by can cant could couldnt did
    didnt do does doesnt doing dont for from get getting go going got had has hasnt have havent having he hello help
    her here hey hi him his how i id if ill im in into is isnt it its ive just know let like make me mine more much my
    need no not now of off ok okay on one or our out please she should so some someone still take tell thank thanks that
    thats the their them then there these they thing this those through to too up us use using very want wants was wasnt
    way we were what whats when where wheres which while who why will with without wont would you your yours""".split()
)


def words_of(text: str) -> list[str]:
    """Lower-case words; apostrophes and marks such as vowel signs join, all else that is no letter or digit divides."""
    return _word().findall(text.lower().replace("'", "").replace("’", ""))


@cache
def _word() -> re.Pattern[str]:
    # `\w` leaves out marks, without which words of Hindi and other languages fall to pieces.
    marks = "".join(chr(i) for i in range(0x300, 0xFE00) if unicodedata.category(chr(i))[0] == "M")
    return re.compile(rf"[^\W_](?:[^\W_]|[{marks}])*")


def content_words(text: str) -> list[str]:
    """The words of a text that are not fillers."""
    return [word for word in words_of(text) if word not in FILLERS and (len(word) > 1 or not word.isascii())]


def has_half_character(text: str) -> bool:
    """Whether the text holds a lone surrogate, which JSON can carry and nothing can encode."""
    return any("\ud800" <= character <= "\udfff" for character in text)
