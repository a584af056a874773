"""Repeated utterances: each is kept once with the number of times it occurred, and of very many a random sample is."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from newfound.data.corpus import Corpus, Origin, merge_origins
from newfound.data.said import ALONE, Gathered
from newfound.text import words_of


def same_words(text: str) -> str:
    """Return a key that is equal for texts with the same words."""
    return " ".join(words_of(text)) or text


def distinct(logs: Corpus) -> Corpus:
    """Return the commonest wording of each group of utterances with the same words, with the count of the whole group.

    Among equally common ones it is that with the fewest capitals: the order of logs must not matter.
    """

    def rank(i: int) -> tuple[int, int, str]:
        return -wordings[logs.texts[i]], sum(map(str.isupper, logs.texts[i])), logs.texts[i]

    wordings, rows = Counter(logs.texts), dict[str, list[int]]()
    for i, text in enumerate(logs.texts):
        rows.setdefault(same_words(text), []).append(i)
    kept = logs.take([min(own, key=rank) for own in rows.values()])
    origins = tuple(merge_origins([logs.origins[i] for i in own]) for own in rows.values())
    return Corpus(kept.texts, kept.labels, origins)


def distinct_examples(labelled: Corpus) -> Corpus:
    """Return labelled utterances without repeats of a text with its label, which are no further examples."""
    pairs = list(zip(labelled.texts, labelled.labels, strict=True))
    first = {pair: i for i, pair in reversed(list(enumerate(pairs)))}
    return labelled if len(first) == len(pairs) else labelled.take(sorted(first.values()))


def add_counts(earlier: Corpus, logs: Corpus) -> tuple[Corpus, Corpus]:
    """Count utterances of new logs that an earlier corpus already has as further occurrences there.

    Returns that corpus with the raised counts, and the logs without the utterances that it already has.
    """
    row_of = {same_words(text): i for i, text in reversed(list(enumerate(earlier.texts)))}
    added: dict[int, list[Origin]] = {}
    kept = []
    for i, (text, origin) in enumerate(zip(logs.texts, logs.origins, strict=True)):
        row = row_of.get(same_words(text))
        if row is None:
            kept.append(i)
        else:
            added.setdefault(row, []).append(origin)
    origins = tuple(merge_origins([o, *added.get(i, ())]) for i, o in enumerate(earlier.origins))
    return Corpus(earlier.texts, earlier.labels, origins), logs.take(kept)


class DistinctSample:
    """A uniform random sample of the distinct texts of a stream, in memory that its size bounds, with exact counts.

    Every text has a number, a keyed hash of its words; the sample holds the texts with the smallest numbers. A text
    that was dropped never comes back, so the counts of those that stay are exact, and the order of the stream does not
    matter.
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        self.size = size
        self._key = seed.to_bytes(8, "little", signed=False)
        # By the texts' numbers: place in the stream, first wording and first origin; and all counts so far.
        self._kept: dict[int, tuple[int, str, Origin]] = {}
        self._counts: dict[int, int] = {}
        self._days: dict[int, Counter[str]] = {}
        self._said: dict[int, Gathered] = {}
        self._largest: list[int] = []  # a heap of the negated numbers
        self.seen = 0  # texts, repeats included
        self.is_everything = True  # whether no text was dropped

    def add(self, text: str, origin: Origin) -> None:
        """Take in the next text of the stream; equal words count as the same text."""
        place, self.seen = self.seen, self.seen + origin.count
        digest = hashlib.blake2b(same_words(text).encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        number = int.from_bytes(digest.digest(), "little")
        if number not in self._kept:
            if len(self._kept) < self.size:
                heapq.heappush(self._largest, -number)
            else:
                self.is_everything = False
                if number > -self._largest[0]:
                    return
                dropped = -heapq.heapreplace(self._largest, -number)
                for by_number in (self._kept, self._counts, self._days, self._said):
                    by_number.pop(dropped, None)
            self._kept[number] = place, text, origin
        self._counts[number] = self._counts.get(number, 0) + origin.count
        if origin.days:
            self._days.setdefault(number, Counter()).update(dict(origin.days))
        if origin.said is not ALONE:
            self._said.setdefault(number, Gathered()).add(origin.said)

    def add_all(self, texts: Iterable[str], origins: Iterable[Origin]) -> None:
        for text, origin in zip(texts, origins, strict=True):
            self.add(text, origin)

    def corpus(self) -> Corpus:
        """Return the texts that were kept, in the order of the stream, without labels."""
        kept = sorted(self._kept.items(), key=lambda item: item[1][0])
        return Corpus.of((text for _, (_, text, _) in kept), None, (self._origin(n, o) for n, (_, _, o) in kept))

    def _origin(self, number: int, first: Origin) -> Origin:
        days = tuple(sorted(self._days.get(number, {}).items()))
        said = self._said[number].said() if number in self._said else ALONE
        return replace(first, count=self._counts[number], days=days, said=said)
