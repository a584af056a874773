"""Keywords of intents by class-based TF-IDF (Grootendorst 2022, BERTopic).

Keywords are words that are frequent in an intent and rare in the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from newfound.text import content_words


def keywords(texts: Sequence[Sequence[str]], count: int = 6) -> list[tuple[str, ...]]:
    """Return the keywords of each intent, best first.

    Args:
        texts: The texts of each intent.
        count: Number of keywords per intent at most.
    """
    counts = [Counter(word for text in own for word in set(content_words(text))) for own in texts]
    total: Counter[str] = Counter()
    for counts_of_intent in counts:
        total.update(counts_of_intent)
    mean = sum(total.values()) / max(1, len(counts))

    def best(counts_of_intent: Counter[str]) -> tuple[str, ...]:
        size = max(1, counts_of_intent.total())
        score = {word: n / size * math.log1p(mean / total[word]) for word, n in counts_of_intent.items()}
        return tuple(sorted(counts_of_intent, key=lambda word: (-score[word], word))[:count])

    return [best(counts_of_intent) for counts_of_intent in counts]
