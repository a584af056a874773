"""Repeated utterances in logs are kept once, with the number of times they occurred."""

from __future__ import annotations

from dataclasses import replace

from newfound.data.corpus import Corpus
from newfound.text import words_of


def distinct(logs: Corpus) -> Corpus:
    """Return the first of each group of utterances with the same words, with the count of the whole group."""
    first: dict[str, int] = {}
    counts: dict[str, int] = {}
    for i, (text, origin) in enumerate(zip(logs.texts, logs.origins, strict=True)):
        key = same_words(text)
        first.setdefault(key, i)
        counts[key] = counts.get(key, 0) + origin.count
    kept = logs.take(list(first.values()))
    origins = tuple(replace(origin, count=count) for origin, count in zip(kept.origins, counts.values(), strict=True))
    return Corpus(kept.texts, kept.labels, origins)


def add_counts(earlier: Corpus, logs: Corpus) -> tuple[Corpus, Corpus]:
    """Count utterances of new logs that an earlier corpus already has as further occurrences there.

    Args:
        earlier: The earlier corpus.
        logs: The new logs.

    Returns:
        The earlier corpus with the raised counts, and the logs without the utterances that it already has.
    """
    row_of = {same_words(text): i for i, text in reversed(list(enumerate(earlier.texts)))}
    added: dict[int, int] = {}
    kept = []
    for i, (text, origin) in enumerate(zip(logs.texts, logs.origins, strict=True)):
        row = row_of.get(same_words(text))
        if row is None:
            kept.append(i)
        else:
            added[row] = added.get(row, 0) + origin.count
    origins = tuple(replace(o, count=o.count + added[i]) if i in added else o for i, o in enumerate(earlier.origins))
    return Corpus(earlier.texts, earlier.labels, origins), logs.take(kept)


def same_words(text: str) -> str:
    """Return a key that is equal for texts with the same words."""
    return " ".join(words_of(text)) or text
