"""In which language an intent is described, and the words of that language.

An intent in several languages is described in the one that most of its users speak; its name is in the language of the
known intents, if enough of its utterances are. Texts in one language are described by all of them, as ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from newfound.encoders.function_words import FUNCTION_WORDS
from newfound.encoders.languages import UNKNOWN, likely_language
from newfound.intents.segmentation import Segmenter, says_something
from newfound.text import carries_meaning

MAX_TEXTS_LOOKED_AT = 1_000  # of all texts, to tell how many languages there are
MAX_TEXTS_READ = 400  # per intent
MIN_SHARE_OF_A_LANGUAGE = 0.02
MIN_TEXTS_OF_A_LANGUAGE = 3


@dataclass(frozen=True, slots=True)
class SpokenTexts:
    """The texts that describe an intent.

    Attributes:
        language: Their language; empty if it is not known.
        texts: Those that are in this language, or all if no second language is frequent.
    """

    language: str
    texts: Sequence[str]


def languages_of(texts: Sequence[str]) -> list[str]:
    """Return the languages that a share of the texts are in, the most frequent first; a part of many is looked at."""
    part = texts[:: max(1, -(-len(texts) // MAX_TEXTS_LOOKED_AT))]
    counts = Counter(language for text in part if (language := likely_language(text)) != UNKNOWN)
    least = max(MIN_TEXTS_OF_A_LANGUAGE, MIN_SHARE_OF_A_LANGUAGE * len(part))
    return [language for language, count in counts.most_common() if count >= least]


def spoken_texts(texts: Sequence[Sequence[str]]) -> list[SpokenTexts]:
    """Return for each intent its texts in the language that most of them are in; all if there is one language."""
    languages = languages_of([text for own in texts for text in own])
    if len(languages) < 2:
        return [SpokenTexts(languages[0] if languages else UNKNOWN, own) for own in texts]
    return [in_one_language(own) for own in texts]


def in_one_language(texts: Sequence[str], preferred: str = UNKNOWN) -> SpokenTexts:
    """Return the texts of an intent that are in one language.

    Args:
        texts: The texts; the first of them are looked at if they are many.
        preferred: The language to take if enough texts are in it; the most frequent one otherwise.
    """
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
        self._segmenter = Segmenter(texts)

    def words(self, text: str) -> list[str]:
        """Return the words of a text, in lower case."""
        return self._segmenter.words(text)

    def content(self, text: str) -> list[str]:
        """Return the words of a text that carry meaning."""
        return [word for word in self.words(text) if self._carries_meaning(word)]

    def _carries_meaning(self, word: str) -> bool:
        return carries_meaning(word) and word not in self._fillers and says_something(word)
