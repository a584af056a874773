"""Which language a short text is likely in, by its script and its function words.

Languages in Latin letters are told apart by their function words. Of other scripts the script stands for the language,
so that Russian and Ukrainian are one; Chinese and Japanese are told apart by kana.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from newfound.encoders.function_words import FUNCTION_WORDS

UNKNOWN = ""
JAPANESE_SCRIPTS = frozenset({"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
MIN_SHARE_OF_OTHER_LETTERS = 0.2  # of the letters of a text that is not in Latin letters, names in it apart
LETTERS_OF_A_CHINESE_CHARACTER = 3  # one of them says as much as a few letters


def likely_language(text: str) -> str:
    """Return the language of a text, such as `German`, `ARABIC` or `CJK` (Chinese); empty if nothing tells it."""
    letters = Counter(script for character in text if (script := script_of(character)))
    latin = letters.pop("LATIN", 0)
    letters["CJK"] *= LETTERS_OF_A_CHINESE_CHARACTER
    if letters.total() > 0 and letters.total() >= MIN_SHARE_OF_OTHER_LETTERS * (latin + letters.total()):
        return "Japanese" if JAPANESE_SCRIPTS & set(letters) else letters.most_common(1)[0][0]
    words = plain_words(text)
    counts = {language: sum(word in own for word in words) for language, own in FUNCTION_WORDS.items()}
    best, second = sorted(counts, key=lambda language: -counts[language])[:2]
    return best if counts[best] > counts[second] else UNKNOWN


@lru_cache(maxsize=10_000)
def script_of(character: str) -> str:
    """Return the script of a letter, such as LATIN or CJK; an empty text for what is no letter."""
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation around them.

    What has a digit, an underscore or the like within it is no word but a code, of which no part is a word.
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("’", "")
    words = [re.sub(r"^[\W_]+|[\W_]+$", "", part) for part in re.split(r"[\s,;:!?/…。、，]+", plain)]
    return [word for word in words if len(word) > 1 and not re.search(r"[\d_.:]", word)]
