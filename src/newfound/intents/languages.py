"""In which language an intent is described, and the words of that language.

An intent in several languages is described in the one that most of its users speak; its name is in the language of the
known intents, if enough of its utterances are. Texts in one language are described by all of them, as ever.

Chinese and Japanese have no spaces between words. A text is cut where the script changes, which ends most words of
Japanese. A row of Chinese characters is cut into the words that the texts at hand make likely: characters that stand
together much more often than by chance are a word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from newfound.encoders.function_words import FUNCTION_WORDS
from newfound.encoders.languages import UNKNOWN, likely_language
from newfound.text import carries_meaning, words_of

MAX_TEXTS_LOOKED_AT = 1_000  # of all texts, to tell how many languages there are
MAX_TEXTS_READ = 400  # per intent
MIN_SHARE_OF_A_LANGUAGE = 0.02
MIN_TEXTS_OF_A_LANGUAGE = 3
HAN, HIRAGANA, KATAKANA = "\u3400-\u4dbf\u4e00-\u9fff々", "\u3041-\u309f", "\u30a1-\u30ffー"
GRAMMAR = "的吗呢我你您请"  # characters that are words by themselves: particles, pronouns, "please"
HAN_ROW = re.compile(f"[{GRAMMAR}]|(?:(?![{GRAMMAR}])[{HAN}])+")
SAME_SCRIPT = re.compile(f"{HAN_ROW.pattern}|[{HIRAGANA}]+|[{KATAKANA}]+|[^{HAN}{HIRAGANA}{KATAKANA}]+")
WITHOUT_SPACES = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}]")
LONE_OR_GRAMMAR = re.compile(f"[{HAN}]|[{HIRAGANA}]+")  # single characters and endings say little by themselves
MAX_WORD_CHARACTERS = 3  # of a Chinese word
MIN_OCCURRENCES = 3  # of characters together, for a word
# How much more often than by chance each further character of a word must be there: the power of all characters.
MIN_GAIN_EXPONENT = 0.34


class SpokenTexts(NamedTuple):
    """The texts that describe an intent: those in one language, or all if no second language is frequent."""

    language: str  # empty if it is not known
    texts: Sequence[str]


def languages_of(texts: Sequence[str]) -> list[str]:
    """Return the languages that a share of the texts are in, the most frequent first; a part of many is looked at."""
    part = texts[:: max(1, -(-len(texts) // MAX_TEXTS_LOOKED_AT))]
    counts = Counter(language for text in part if (language := likely_language(text)) != UNKNOWN)
    min_texts = max(MIN_TEXTS_OF_A_LANGUAGE, MIN_SHARE_OF_A_LANGUAGE * len(part))
    return [language for language, count in counts.most_common() if count >= min_texts]


def spoken_texts(texts: Sequence[Sequence[str]]) -> list[SpokenTexts]:
    """Return for each intent its texts in the language that most of them are in; all if there is one language."""
    languages = languages_of([text for own in texts for text in own])
    if len(languages) < 2:
        return [SpokenTexts(languages[0] if languages else UNKNOWN, own) for own in texts]
    return [in_one_language(own) for own in texts]


def in_one_language(texts: Sequence[str], preferred: str = UNKNOWN) -> SpokenTexts:
    """Return the texts of an intent that are in the preferred language if these are enough, or else in the main one."""
    texts = texts[:MAX_TEXTS_READ]
    by_language: dict[str, list[str]] = {}
    for text in texts:
        by_language.setdefault(likely_language(text), []).append(text)
    unknown = by_language.pop(UNKNOWN, [])
    if not by_language:
        return SpokenTexts(UNKNOWN, unknown)
    chosen = max(by_language, key=lambda language: len(by_language[language]))
    if len(by_language.get(preferred, ())) >= max(MIN_TEXTS_OF_A_LANGUAGE, MIN_SHARE_OF_A_LANGUAGE * len(texts)):
        chosen = preferred
    return SpokenTexts(chosen, by_language[chosen])


class LanguageWords:
    """Splits texts of one language into words."""

    def __init__(self, language: str, texts: Iterable[str]) -> None:
        """Take the language, and the texts from which words without spaces between them are learned.

        The list of fillers is English; of other languages, function words are none of the words that carry meaning.
        """
        self._fillers = FUNCTION_WORDS.get(language, frozenset()) if language != "English" else frozenset()
        self._carries_meaning = cache(self._is_content_word)  # the same words occur again and again
        self._counts: Counter[str] = Counter()
        words = (word for text in filter(WITHOUT_SPACES.search, texts) for word in words_of(text))
        for row in (row for word in words for row in HAN_ROW.findall(word)):
            for length in range(1, MAX_WORD_CHARACTERS + 1):
                self._counts.update(row[i : i + length] for i in range(len(row) - length + 1))
        self._total = max(1, sum(n for row, n in self._counts.items() if len(row) == 1))
        self._min_gain = MIN_GAIN_EXPONENT * math.log(self._total)

    def words(self, text: str) -> list[str]:
        """Return the words of a text in lower case; where it has no spaces, as the texts made them likely."""
        words = words_of(text)
        return [piece for word in words for piece in self._pieces(word)] if WITHOUT_SPACES.search(text) else words

    def _pieces(self, word: str) -> list[str]:
        if not WITHOUT_SPACES.search(word):
            return [word]
        runs = SAME_SCRIPT.findall(word)
        return [piece for run in runs for piece in (self._cut(run) if HAN_ROW.match(run) else [run])]

    def _cut(self, row: str) -> list[str]:
        """Return the most likely words of a row of Chinese characters."""
        best: list[tuple[float, list[str]]] = [(0.0, [])]
        for end in range(1, len(row) + 1):
            options = []
            for start in range(max(0, end - MAX_WORD_CHARACTERS), end):
                piece = row[start:end]
                if len(piece) == 1 or self._counts[piece] >= MIN_OCCURRENCES:
                    options.append((best[start][0] + self._score(piece), [*best[start][1], piece]))
            best.append(max(options, key=lambda option: option[0]))
        return best[-1][1]

    def _score(self, piece: str) -> float:
        return math.log(max(self._counts[piece], 0.5) / self._total) - self._min_gain * (len(piece) - 1)

    def content(self, text: str) -> list[str]:
        """Return the words of a text that carry meaning."""
        return [word for word in self.words(text) if self._carries_meaning(word)]

    def _is_content_word(self, word: str) -> bool:
        return carries_meaning(word) and word not in self._fillers and not LONE_OR_GRAMMAR.fullmatch(word)
