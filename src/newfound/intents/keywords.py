"""The words that tell an intent from the others.

By class-based TF-IDF (Grootendorst 2022, BERTopic): words that are frequent in an intent and rare in the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from newfound.text import content_words


def keywords(texts: Sequence[Sequence[str]], most: int = 6) -> list[tuple[str, ...]]:
    """Return, for each intent given by its texts, up to `most` words, best first."""
    return keywords_from_counts([word_counts(own) for own in texts], most)


def word_counts(texts: Sequence[str]) -> Counter[str]:
    """Return in how many of the texts each content word stands."""
    return Counter(word for text in texts for word in set(content_words(text)))


def keywords_from_counts(counts: Sequence[Counter[str]], most: int = 6) -> list[tuple[str, ...]]:
    """Return the keywords of intents of which the words are counted already."""
    total: Counter[str] = Counter()
    for own in counts:
        total.update(own)
    mean = sum(total.values()) / max(1, len(counts))

    def best(own: Counter[str]) -> tuple[str, ...]:
        size = max(1, own.total())
        score = {word: count / size * math.log1p(mean / total[word]) for word, count in own.items()}
        return tuple(sorted(own, key=lambda word: (-score[word], word))[:most])

    return [best(own) for own in counts]
