"""Repeats in logs: a greeting that was typed a thousand times is learned once, and counts a thousand times."""

from __future__ import annotations

from collections import Counter

from newfound.data.corpus import Corpus
from newfound.naming import words_of


def distinct(logs: Corpus) -> tuple[Corpus, dict[str, int]]:
    """The first of each group of utterances with the same words, and how often each was said in any writing."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for text in logs.texts:
        counts[first.setdefault(" ".join(words_of(text)) or text, text)] += 1
    return Corpus.of(first.values()), dict(counts)
