"""Keywords of intents by class-based TF-IDF (Grootendorst 2022, BERTopic).

Keywords are words that are frequent in an intent and rare in the others. They are in the language of most of the
intent's utterances.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from newfound.intents.languages import LanguageWords, spoken_texts


def keywords(texts: Sequence[Sequence[str]], count: int = 6) -> list[tuple[str, ...]]:
    """Return the keywords of each intent, best first.

    Args:
        texts: The texts of each intent.
        count: Number of keywords per intent at most.
    """
    spoken = spoken_texts(texts)
    by_language: dict[str, list[str]] = {}
    for intent in spoken:
        by_language.setdefault(intent.language, []).extend(intent.texts)
    words = {language: LanguageWords(language, own) for language, own in by_language.items()}
    counts = [Counter(word for text in own.texts for word in set(words[own.language].content(text))) for own in spoken]
    total: Counter[str] = Counter()
    for counts_of_intent in counts:
        total.update(counts_of_intent)
    mean = sum(total.values()) / max(1, len(counts))

    def best(counts_of_intent: Counter[str]) -> tuple[str, ...]:
        size = max(1, counts_of_intent.total())
        score = {word: n / size * math.log1p(mean / total[word]) for word, n in counts_of_intent.items()}
        return tuple(sorted(counts_of_intent, key=lambda word: (-score[word], word))[:count])

    return [best(counts_of_intent) for counts_of_intent in counts]
