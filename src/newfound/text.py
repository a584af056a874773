"""Splitting text into words, cutting it, what a mistyped word may mean, and how shares are written."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from itertools import islice

MAX_NAMES_COMPARED = 20_000
MAX_LENGTH_COMPARED = 300  # characters
INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})  # categories of Unicode: control, format, separators
MIN_LIKENESS = 0.6  # from 0 to 1, as difflib measures it

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


def carries_meaning(word: str) -> bool:
    """Return whether a word is neither a filler nor a single Latin letter."""
    return word not in FILLERS and (len(word) > 1 or not word.isascii())


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'a' or 'b'?)` with what looks most like a word; an empty text if nothing does."""
    by_folded = {name.casefold(): name for name in islice(known, MAX_NAMES_COMPARED)}
    close = get_close_matches(word.casefold()[:MAX_LENGTH_COMPARED], by_folded, n=2, cutoff=MIN_LIKENESS)
    return f" (did you mean {' or '.join(repr(by_folded[name][:80]) for name in close)}?)" if close else ""


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen: it has only spaces, control and format characters, or none."""
    return all(character.isspace() or unicodedata.category(character) in INVISIBLE_CATEGORIES for character in text)


def is_wordless(text: str) -> bool:
    """Return whether a text holds no word: only digits, signs, smileys or single letters.

    In scripts that write words without letters beside them, such as Chinese, one character is a word.
    """
    return not any(len(word) > 1 or not word.isascii() for word in words_of(text) if not word.isdecimal())


def shorten(text: str, width: int, end: str = "…") -> str:
    """Return a text with at most so many characters; one that is longer is cut and marked."""
    return text if len(text) <= width else text[: width - len(end)] + end


def join_words(words: Iterable[object], conjunction: str) -> str:
    """Return words as in a sentence: with commas, and a conjunction before the last one."""
    *others, last = map(str, words)
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def has_half_character(text: str) -> bool:
    """Whether the text holds a lone surrogate, which JSON can carry and nothing can encode."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def percent(share: float | None) -> str:
    """Return a share as a percentage; the only place that rounds one. `report/shared/format.js` follows the same rule.

    A share is a number between 0 and 1, or None if it is not known.
    """
    if share is None:
        return "–"
    hundredths = math.floor(share * 10000 + 0.5)  # of a percent, so that the rest is exact
    tenths = (hundredths + 5) // 10
    return f"{tenths // 10}.{tenths % 10} %" if tenths < 100 else f"{(hundredths + 50) // 100} %"
