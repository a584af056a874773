"""Whether a word of an utterance is an action, an object or a state, told from the words before it.

`cancel` mostly follows "to", "I" or "please", `booking` follows "my" or "the", and `declined` follows "was". Words that
mostly follow "in" or "from" without an article are places, and words that are capitalised within a sentence are names.
In German, nouns are capitalised. Nothing is told of languages without an entry in `roles.json`.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from importlib import resources
from typing import Literal

from newfound.encoders.languages import UNKNOWN
from newfound.text import words_of

Role = Literal["action", "object", "state", ""]
MIN_SHARE_OF_ROLE = 0.4  # of the occurrences of a word
MIN_SHARE_OF_PLACE, MIN_OCCURRENCES_OF_PLACE = 0.6, 2
MIN_SHARE_CAPITALISED = 0.8
MIN_STEM_LENGTH = 3
WRITTEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


CUES: dict[str, dict[str, str]] = json.loads(
    resources.files("newfound.intents").joinpath("roles.json").read_text("utf-8")
)
"""Of each language the words before `actions` (`^` is the beginning of a text), `objects`, `states` and `places`,
patterns of `infinitives` and of the `endings` in which forms of a word differ, and words that are `left_out`: times,
numbers, and words that say nothing."""


class WordRoles:
    """The roles that words have in texts of one language, and which of them are names or places."""

    def __init__(self, language: str, texts: Iterable[str]) -> None:
        """Count before each word what stands before it, and how often it is capitalised within a text."""
        self._cues = CUES.get("English" if language == UNKNOWN else language)
        self.are_known = self._cues is not None
        if self._cues is None:
            return
        sets = {what: frozenset(words.split()) for what, words in self._cues.items()}
        self._sets: dict[Role, frozenset[str]] = {role: sets[f"{role}s"] for role in ("object", "action", "state")}
        self._places, self._left_out = sets["places"], sets["left_out"] | sets["objects"] | sets["states"]
        self._infinitive = re.compile(self._cues["infinitives"])
        self._ending = re.compile(f"(?:{self._cues['endings']})$")
        self._before: defaultdict[str, Counter[str]] = defaultdict(Counter)
        inside, capitalised = Counter[str](), Counter[str]()
        for text in texts:
            before = "^"
            for i, written in enumerate(WRITTEN.findall(text)):
                for word in words_of(written):
                    self._before[word][before] += 1
                    if i and len(written) > 1:
                        inside[word] += 1
                        capitalised[word] += written[0].isupper() and written[1:].islower()
                    before = word
        is_cased = 2 * capitalised.total() < inside.total() or language == "German"
        named = {word for word, n in inside.items() if is_cased and capitalised[word] >= MIN_SHARE_CAPITALISED * n}
        self._nouns, self._names = (named, set[str]()) if language == "German" else (set[str](), named)

    def stem(self, word: str) -> str:
        """Return what the forms of a word have in common."""
        if self._cues is None:
            return word
        ending = self._ending.search(word, MIN_STEM_LENGTH)
        stem = word[: ending.start()] if ending else word
        return stem[:-1] if len(stem) > MIN_STEM_LENGTH and stem[-1] == stem[-2] else stem

    def role(self, word: str) -> Role:
        """Return the role that a word mostly has; an empty text if nothing tells it."""
        if self._cues is None or word in self._nouns:
            return "" if self._cues is None else "object"
        before = self._before[word]
        counts = {role: sum(before[w] for w in words) for role, words in self._sets.items()}
        if self._infinitive.fullmatch(word):
            counts["action"] = before.total() - counts["object"]
        role = max(counts, key=lambda role: counts[role])
        return role if counts[role] >= MIN_SHARE_OF_ROLE * before.total() else ""

    def is_left_out(self, word: str) -> bool:
        """Return whether a word is a time, a number, an article or a single letter."""
        is_short = word.isdigit() or (len(word) == 1 and word < "ɐ")
        return is_short or (self._cues is not None and word in self._left_out)

    def is_of_one_case(self, word: str) -> bool:
        """Return whether a word is likely a code, a name or a place, of which a text may have any."""
        if any(character.isdigit() for character in word):
            return True
        if self._cues is None or word in self._names:
            return self._cues is not None
        before = self._before[word]
        n = sum(before[w] for w in self._places)
        return n >= MIN_OCCURRENCES_OF_PLACE and n + before["to"] >= MIN_SHARE_OF_PLACE * before.total()
