"""A uniform random sample of the distinct texts of a stream, in memory that its size bounds.

Every text has a number, a keyed hash of its words; the sample holds the texts with the smallest numbers. A text that
was dropped never comes back, so the counts of those that stay are exact, and the order of the stream does not matter.
The largest number in the sample also tells about how many distinct texts there were (Bar-Yossef et al. 2002).
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable

from newfound.data.corpus import Corpus, Origin
from newfound.data.duplicates import same_words

POSSIBLE_NUMBERS = 2**64  # the number of a text is a hash of 64 bits


class DistinctSample:
    """Keeps a limited number of distinct texts of a stream, with how often each occurred."""

    def __init__(self, size: int, *, seed: int = 0) -> None:
        """Begin with nothing.

        Args:
            size: How many distinct texts to keep at most.
            seed: Other seeds keep other texts.
        """
        self.size = size
        self._key = seed.to_bytes(8, "little", signed=False)
        self._kept: dict[int, tuple[int, str, Origin]] = {}  # by the texts' numbers: place, text, origin
        self._largest: list[int] = []  # a heap of the negated numbers
        self.seen = 0  # texts, repeats included
        self.is_everything = True  # whether no text was dropped

    def add(self, text: str, origin: Origin) -> None:
        """Take in the next text of the stream.

        Args:
            text: The utterance; equal words count as the same text.
            origin: Where it came from, and how often it occurred.
        """
        place, self.seen = self.seen, self.seen + origin.count
        digest = hashlib.blake2b(same_words(text).encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        number = int.from_bytes(digest.digest(), "little")
        kept = self._kept.get(number)
        if kept is not None:
            first, wording, earlier = kept
            self._kept[number] = first, wording, Origin(earlier.labelled, earlier.source, earlier.count + origin.count)
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
