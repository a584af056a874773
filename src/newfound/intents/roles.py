"""Whether a word of an utterance is an action, an object or a state, told from the words before it.

`cancel` mostly follows "to", "I" or "please", `booking` follows "my" or "the", and `declined` follows "was". Words that
mostly follow "in" or "from" without an article are places, and words that are capitalised within a sentence are names.
In German, nouns are capitalised. Nothing is told of languages without an entry in `CUES`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Literal, NamedTuple

from newfound.encoders.languages import UNKNOWN
from newfound.text import words_of

Role = Literal["action", "object", "state", ""]
MIN_SHARE_OF_ROLE = 0.4  # of the occurrences of a word
MIN_SHARE_OF_PLACE, MIN_OCCURRENCES_OF_PLACE = 0.6, 2
MIN_SHARE_CAPITALISED = 0.8
MIN_STEM_LENGTH = 3
WRITTEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Cues(NamedTuple):
    """What tells the roles of words in a language; `^` is the beginning of a text."""

    actions: str  # words before actions
    objects: str  # before objects
    states: str  # before states
    places: str  # before places
    infinitive: str  # a pattern
    endings: str  # a pattern of what differs between forms of a word
    left_out: str  # times, numbers and words that say nothing


CUES = {
    "English": Cues(
        "^ to i you we they please cant cannot can could would dont didnt not will should lets help and pls",
        "a an the my your our this that these those his her their some any no another of on about with",
        "is are was were been be isnt arent wasnt not get got getting gets hasnt has havent being",
        "in from near at between",
        "$",
        "ings|ing|ied|ed|ies|es|s|e|y",
        """today tomorrow yesterday tonight morning evening afternoon night noon midnight am pm oclock monday tuesday
        wednesday thursday friday saturday sunday january february april june july august september october november
        december week weekend something anything everything another many hundred thousand two three four five six
        seven eight nine ten zero guys sir plz able dear tried trying try wanted wanna wants happened know""",
    ),
    "German": Cues(
        "^ bitte zu",
        """der die das den dem des ein eine einen einem einer mein meine meinen meinem meiner dein deine ihre ihren
        unser unsere kein keine keinen im am zum zur vom beim diese dieser diesem diesen dieses welche alle""",
        "ist sind wurde wird war worden",
        "in aus nach",
        "[a-zäöüß]{3,}(?:en|ern|eln)",
        "en|er|es|e|n|s|t",
        """heute morgen gestern abend nachmittag vormittag morgens abends nachts uhr montag dienstag mittwoch donnerstag
        freitag samstag sonntag januar februar märz april mai juni juli august september oktober november dezember woche
        wochenende jetzt welcher welches welchen etwas viele hier ihn mal namens früh zwei drei vier fünf sechs sieben
        acht neun zehn""",
    ),
    "Spanish": Cues(
        "^ puedo quiero para cómo como favor puedes podría",
        "el la los las un una mi mis su sus tu tus del al este esta estas estos todas todos",
        "está están fue ha han sido es era",
        "en desde",
        r"\w{2,}(?:ar|er|ir)(?:me|lo|la|se|los|las)?",
        "es|s|a|o",
        """hoy mañana ayer noche tarde lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril
        mayo junio julio agosto septiembre octubre noviembre diciembre semana ahora dos tres cuatro cinco favor""",
    ),
    "French": Cues(
        "^ je pour veux peux voudrais puis plaît comment",
        "le la les un une des du mon ma mes votre vos ce cet cette ces au aux notre nos son sa ses",
        "est sont été était ai",
        "en depuis à",
        r"\w{2,}(?:er|ir|re)",
        "es|s|e|x",
        """aujourdhui demain hier soir matin nuit lundi mardi mercredi jeudi vendredi samedi dimanche janvier février
        mars avril mai juin juillet août septembre octobre novembre décembre semaine maintenant deux trois quatre cinq
        plaît""",
    ),
}


class WordRoles:
    """The roles that words have in texts of one language, and which of them are names or places."""

    def __init__(self, language: str, texts: Iterable[str]) -> None:
        """Count before each word what stands before it, and how often it is capitalised within a text."""
        self._cues = CUES.get("English" if language == UNKNOWN else language)
        if self._cues is None:
            return
        actions, objects, states, places, *_, left_out = (frozenset(words.split()) for words in self._cues)
        self._sets: dict[Role, frozenset[str]] = {"object": objects, "action": actions, "state": states}
        self._places, self._left_out = places, left_out | objects | states
        self._infinitive, self._ending = re.compile(self._cues.infinitive), re.compile(f"(?:{self._cues.endings})$")
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
        self._role = cache(self._find_role)

    @property
    def are_known(self) -> bool:
        """Whether anything is told of the language."""
        return self._cues is not None

    def stem(self, word: str) -> str:
        """Return what the forms of a word have in common."""
        if self._cues is None:
            return word
        ending = self._ending.search(word, MIN_STEM_LENGTH)
        stem = word[: ending.start()] if ending else word
        return stem[:-1] if len(stem) > MIN_STEM_LENGTH and stem[-1] == stem[-2] else stem

    def role(self, word: str) -> Role:
        """Return the role that a word mostly has; an empty text if nothing tells it."""
        return "" if self._cues is None else self._role(word)

    def _find_role(self, word: str) -> Role:
        if word in self._nouns:
            return "object"
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
