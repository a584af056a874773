"""Small talk: texts that greet, thank, agree, decline or say goodbye, and say nothing else, in seven languages.

The lists, in `small_talk.json`, hold phrases with commas between them; a slash between words stands for either word.
Texts are compared without accents ("fuer" is "für" is "fur") and with repeated letters as one ("hiii"). What is listed
before the bar is small talk; what is listed after it (`sir`, `for your help`) may stand beside small talk, and says
nothing alone.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from importlib import resources
from itertools import product

from newfound.text import words_of

MAX_WORDS = 5  # of a phrase
EVERYWHERE = "hi, hello, hey, bye, ok, okay, okey, super, sorry, pardon, thanks, thx, haha, lol, wow, oh, hm, perfect"
SMALL_TALK: dict[str, str] = json.loads(resources.files("newfound").joinpath("small_talk.json").read_text("utf-8"))


def is_small_talk(text: str) -> bool:
    """Return whether a text consists of small talk: "hi, good morning" does, "hi, cancel my order" does not."""
    words = _plain_words(text)
    return any(_consists_of(words, both) and not _consists_of(words, beside) for both, beside in _phrases())


def _plain_words(text: str) -> list[str]:
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return words_of(re.sub(r"([aou])e", r"\1", re.sub(r"(\w)\1+", r"\1", plain)))


@cache
def _phrases() -> list[tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]]:
    """Return the phrases of each language: all of them, and those that only stand beside others."""
    lists = [listed.split("|") for listed in SMALL_TALK.values()]
    return [(_expand(f"{EVERYWHERE}, {talk}, {beside}"), _expand(beside)) for talk, beside in lists]


def _expand(listed: str) -> frozenset[tuple[str, ...]]:
    phrases = (product(*(word.split("/") for word in phrase.split())) for phrase in listed.split(","))
    return frozenset(tuple(_plain_words(" ".join(words))) for either in phrases for words in either)


def _consists_of(words: list[str], phrases: frozenset[tuple[str, ...]]) -> bool:
    """Return whether phrases, one after the other, make up the words."""
    ends = {0}  # the places at which a phrase may begin
    for i in range(len(words)):
        if i in ends:
            ends |= {i + n for n in range(1, MAX_WORDS + 1) if tuple(words[i : i + n]) in phrases}
    return bool(words) and len(words) in ends
