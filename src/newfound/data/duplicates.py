"""Repeated utterances: each is kept once with the number of times it occurred, and of very many a random sample is."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import replace

from newfound.data.corpus import Corpus, Origin
from newfound.text import words_of

POSSIBLE_NUMBERS = 2**64  # the number of a text is a hash of 64 bits


def same_words(text: str) -> str:
    """Return a key that is equal for texts with the same words."""
    return " ".join(words_of(text)) or text


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


class DistinctSample:
    """A uniform random sample of the distinct texts of a stream, in memory that its size bounds, with exact counts.

    Every text has a number, a keyed hash of its words; the sample holds the texts with the smallest numbers. A text
    that was dropped never comes back, so the counts of those that stay are exact, and the order of the stream does not
    matter. The largest number also tells about how many distinct texts there were (Bar-Yossef et al. 2002).
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        self.size = size
        self._key = seed.to_bytes(8, "little", signed=False)
        self._kept: dict[int, tuple[int, str, Origin]] = {}  # by the texts' numbers: place, text, origin
        self._largest: list[int] = []  # a heap of the negated numbers
        self.seen = 0  # texts, repeats included
        self.is_everything = True  # whether no text was dropped

    def add(self, text: str, origin: Origin) -> None:
        """Take in the next text of the stream; equal words count as the same text."""
        place, self.seen = self.seen, self.seen + origin.count
        digest = hashlib.blake2b(same_words(text).encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        number = int.from_bytes(digest.digest(), "little")
        if number in self._kept:
            first, wording, earlier = self._kept[number]
            self._kept[number] = first, wording, replace(earlier, count=earlier.count + origin.count)
            return
        if len(self._kept) >= self.size:
            self.is_everything = False
            if number > -self._largest[0]:
                return
            del self._kept[-heapq.heapreplace(self._largest, -number)]
        else:
            heapq.heappush(self._largest, -number)
        self._kept[number] = place, text, origin

    def add_all(self, texts: Iterable[str], origins: Iterable[Origin]) -> None:
        """Take in several texts."""
        for text, origin in zip(texts, origins, strict=True):
            self.add(text, origin)

    @property
    def n_distinct(self) -> int:
        """How many distinct texts the stream had: exact as long as all are kept, otherwise estimated."""
        if self.is_everything:
            return len(self._kept)
        return max(len(self._kept) + 1, (self.size - 1) * POSSIBLE_NUMBERS // max(1, -self._largest[0]))

    def corpus(self) -> Corpus:
        """Return the texts that were kept, in the order of the stream, without labels."""
        kept = sorted(self._kept.values(), key=lambda value: value[0])
        return Corpus(tuple(t for _, t, _ in kept), (None,) * len(kept), tuple(o for _, _, o in kept))
