"""Words of Chinese and Japanese texts, which have no spaces between words.

A text is cut where the script changes, which ends most words of Japanese. A row of Chinese characters is cut into the
words that the texts at hand make likely: characters that stand together much more often than by chance are a word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from newfound.text import words_of

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


class Segmenter:
    """Cuts texts into words that were learned from many texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Learn the words of some texts."""
        self._counts: Counter[str] = Counter()
        for text in filter(WITHOUT_SPACES.search, texts):
            for row in self._rows(text):
                for length in range(1, MAX_WORD_CHARACTERS + 1):
                    self._counts.update(row[i : i + length] for i in range(len(row) - length + 1))
        self._total = max(1, sum(n for row, n in self._counts.items() if len(row) == 1))
        self._min_gain = MIN_GAIN_EXPONENT * math.log(self._total)

    @staticmethod
    def _rows(text: str) -> Iterator[str]:
        return (row for word in words_of(text) for row in HAN_ROW.findall(word))

    def words(self, text: str) -> list[str]:
        """Return the words of a text; of other languages, those between spaces."""
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


def says_something(word: str) -> bool:
    """Return whether a word may be part of a name: single Chinese characters and Japanese endings may not."""
    return not LONE_OR_GRAMMAR.fullmatch(word)
