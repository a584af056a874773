"""Names of intents from the words that people say.

A name is made of two or three words that stand close to each other in many utterances of the intent and in few of the
intents that it is most like: mostly an action and its object (`cancel_booking`), an object and what is the matter with
it (`card_declined`, `card_not_working`), or words that belong together (`exchange_rate`). In English, a word and its
negation or its particle (`top_up`) count as one word.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from newfound.intents.languages import LanguageWords
from newfound.text import FILLERS, carries_meaning

MAX_WORDS_READ = 40  # per text
MAX_WORDS_APART = 5  # from one word of a name to the next
MAX_SIMILAR_INTENTS = 4  # that a name must tell apart
MIN_SHARE_OF_TEXTS = 0.06  # of the utterances that must have a pair for it to be a name
MIN_TEXTS = 2  # with a unit or a pair, likewise
MIN_SHARE_OF_THIRD_UNIT = 0.35  # of the utterances with a pair; a third unit that so many have belongs to it
MIN_SHARE_OF_PAIR = 0.1  # of the utterances with its better word; a pair that fewer have says less than the word alone
SMOOTHING_SHARE = 0.02  # words that hardly anybody says are no contrast
MAX_CANDIDATES = 10  # phrases of an intent of which the one is taken whose meaning is nearest to its utterances
NEGATIONS = frozenset(
    "not cannot cant couldnt unable never isnt arent wasnt dont doesnt didnt hasnt havent hadnt wont".split()
)
PARTICLES = frozenset("back down in off on out over up".split())
MAX_DISTANCE_OF_NEGATION = 3  # words without meaning of their own from a negation to the word that it negates
Phrase = tuple[str, ...]
Likeness = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""The cosine of phrases to the utterances of the intents that get a name, [phrases, intents]."""


class Unit(NamedTuple):
    """A word of an utterance, with its negation (as `not_working`) or particle, and which word of it this is."""

    text: str
    position: int


def units_of(words: LanguageWords, texts: Sequence[str]) -> dict[str, list[Unit]]:
    """Return the words of each text that mean something, in their order.

    The texts tell which words are mostly said with a particle, as `top up`.
    """
    said_in = {text: words.words(text)[:MAX_WORDS_READ] for text in texts}
    said, with_particle = Counter[str](), Counter[Phrase]()
    for text in texts:
        said.update(said_in[text])
        pairs = pairwise(said_in[text])
        with_particle.update(pair for pair in pairs if pair[1] in PARTICLES and pair[0] not in FILLERS)
    phrasal = {pair for pair, n in with_particle.items() if n >= max(MIN_TEXTS, said[pair[0]] / 2)}
    units: dict[str, list[Unit]] = {text: [] for text in texts}
    for text, row in said_in.items():
        content = set(words.content(text))
        for i, word in enumerate(row):
            if word not in content or word in NEGATIONS or word.isdigit():
                continue
            if tuple(row[i : i + 2]) in phrasal:
                word = f"{word}_{row[i + 1]}"
            units[text].append(Unit(f"not_{word}" if _is_negated(row, i) else word, i))
    return units


def _is_negated(words: Sequence[str], position: int) -> bool:
    for word in reversed(words[max(0, position - MAX_DISTANCE_OF_NEGATION) : position]):
        if word in NEGATIONS or carries_meaning(word):
            return word in NEGATIONS
    return False


class _Counts:
    """In how many utterances of an intent each unit, and each pair of units that are near, occurs."""

    def __init__(self, utterances: Sequence[Sequence[Unit]]) -> None:
        self.size, self.utterances = len(utterances), utterances
        self.units: Counter[str] = Counter()
        self.pairs: Counter[Phrase] = Counter()
        for units in utterances:
            self.units.update({unit.text for unit in units})
            near = [(a, b) for a, b in combinations(units, 2) if b.position - a.position <= MAX_WORDS_APART]
            self.pairs.update({(a.text, b.text) for a, b in near if a.text != b.text})
        self.least = max(MIN_TEXTS, MIN_SHARE_OF_TEXTS * self.size)  # utterances with it, for a name

    def share(self, unit: str) -> float:
        return self.units[unit] / max(1, self.size)


class PhraseNames:
    """Names for some intents, which tell them from one another and from the other intents."""

    def __init__(self, texts: Sequence[Sequence[Sequence[Unit]]], others: Sequence[Sequence[Sequence[Unit]]]) -> None:
        """Count the units of each utterance of each intent that gets a name, and of further intents."""
        self._counts = [_Counts(intent) for intent in (*texts, *others)]
        self._n = len(texts)
        self._neighbours = _neighbours(self._counts, self._n)
        self._total: dict[str, float] = {}  # shares, summed over the intents
        for counts in self._counts:
            for unit in counts.units:
                self._total[unit] = self._total.get(unit, 0.0) + counts.share(unit)

    def names(self, taken: Collection[str], likeness: Likeness | None = None) -> list[str | None]:
        """Return one name for each intent that is not taken; None for an intent that has none of its own.

        Without the likeness of phrases to the utterances, counts alone decide.
        """
        ranked = [list(dict.fromkeys(self._rank_phrases(i))) for i in range(self._n)]
        if likeness is not None:
            ranked = self._by_meaning(ranked, likeness)
        names = [_to_name(phrases[0]) if phrases else None for phrases in ranked]
        # Intents with the same name are told apart by what differs between them, all of them.
        alike: dict[str, list[int]] = {}
        for i, name in enumerate(names):
            if name is not None:
                alike.setdefault(name, []).append(i)
        used = set(taken)
        for name, group in alike.items():
            if len(group) == 1 and name not in used:
                used.add(name)
                continue
            for i in group:
                names[i] = refined = self._refine_name(i, ranked[i], [j for j in group if j != i], used)
                if refined is not None:
                    used.add(refined)
        return names

    def _by_meaning(self, ranked: Sequence[Sequence[Phrase]], likeness: Likeness) -> list[list[Phrase]]:
        """Return the phrases of each intent with the first ones in the order of their meaning's nearness."""
        words = [[_to_name(p).replace("_", " ") for p in own[:MAX_CANDIDATES]] for own in ranked]
        row = {phrase: i for i, phrase in enumerate(dict.fromkeys(phrase for own in words for phrase in own))}
        if not row:
            return [list(own) for own in ranked]
        near = likeness(list(row))
        ordered = []
        for i, own in enumerate(ranked):
            value = [-round(float(near[row[text], i]), 4) for text in words[i]]
            first = np.argsort(value, kind="stable").tolist()
            ordered.append([*(own[rank] for rank in first), *own[MAX_CANDIDATES:]])
        return ordered

    def _refine_name(self, i: int, ranked: Sequence[Phrase], rivals: Sequence[int], used: set[str]) -> str | None:
        """Return a name with a word that tells an intent from those with the same name, or another name."""
        against = list(rivals) or self._neighbours[i]
        counts = self._counts[i]

        def gain(unit: str) -> float:
            other = max((self._counts[j].share(unit) for j in against), default=0.0)
            return counts.share(unit) * math.log((counts.share(unit) + SMOOTHING_SHARE) / (other + SMOOTHING_SHARE))

        frequent = [u for u, n in counts.units.items() if n >= counts.least]
        telling = sorted((u for u in frequent if gain(u) > 0 and u not in ranked[0]), key=lambda u: (-gain(u), u))
        for unit in telling[:3]:
            name = _to_name(self._extend(i, ranked[0], unit))
            if name not in used:
                return name
        return next((name for phrase in ranked[1:] if (name := _to_name(phrase)) not in used), None)

    def _contrast(self, i: int, unit: str) -> float:
        """How well a unit tells an intent from its neighbours and from all."""
        share = self._counts[i].share(unit)
        near = max((self._counts[j].share(unit) for j in self._neighbours[i]), default=0.0)
        everywhere = self._total[unit] / len(self._counts)
        return math.log1p(share / (near + everywhere + SMOOTHING_SHARE))

    def _rank_phrases(self, i: int) -> Iterator[Phrase]:
        """Yield possible names, the best first."""
        counts = self._counts[i]
        weights = {unit: counts.share(unit) * self._contrast(i, unit) for unit in counts.units}
        pairs = [pair for pair, n in counts.pairs.items() if n >= counts.least]

        def score(pair: Phrase) -> float:
            return math.sqrt(counts.pairs[pair] / counts.size) * (weights[pair[0]] + weights[pair[1]])

        order = sorted(pairs, key=lambda pair: (-score(pair), pair))
        best_unit = max(weights, key=lambda unit: (weights[unit], unit), default=None)
        if best_unit is not None and counts.units[best_unit] >= counts.least:
            pairs_with_it = max((counts.pairs[pair] for pair in pairs if best_unit in pair), default=0)
            if pairs_with_it < MIN_SHARE_OF_PAIR * counts.units[best_unit] and (not order or best_unit in order[0]):
                yield (best_unit,)
        for pair in order:
            yield self._whole(i, pair)
        for unit in sorted(weights, key=lambda unit: (-weights[unit], unit))[:3]:
            yield (unit,)

    def _whole(self, i: int, pair: Phrase) -> Phrase:
        """Return a pair with the third unit that most utterances with the pair have beside it."""
        beside: Counter[Phrase] = Counter()
        n = 0
        for units in self._counts[i].utterances:
            bases = [unit.text for unit in units]
            if pair[0] not in bases or pair[1] not in bases[bases.index(pair[0]) :]:
                continue
            first = bases.index(pair[0])
            second = bases.index(pair[1], first)
            n += 1
            triples = set()
            if first > 0 and units[first].position - units[first - 1].position == 1:
                triples.add((bases[first - 1], *pair))
            if second - first == 2:
                triples.add((pair[0], bases[first + 1], pair[1]))
            if second + 1 < len(units) and units[second + 1].position - units[second].position <= 2:
                triples.add((*pair, bases[second + 1]))
            beside.update(phrase for phrase in triples if len(set(phrase)) == 3)
        if beside:
            phrase, count = max(beside.items(), key=lambda item: (item[1], item[0]))
            if count >= max(MIN_TEXTS, MIN_SHARE_OF_THIRD_UNIT * n):
                return phrase
        return pair

    def _extend(self, i: int, phrase: Phrase, unit: str) -> Phrase:
        """Return a phrase with a further unit, before or after it as it is mostly said."""
        pairs = self._counts[i].pairs
        before = sum(pairs[unit, other] - pairs[other, unit] for other in phrase)
        return (unit, *phrase) if before > 0 else (*phrase, unit)


def _to_name(phrase: Phrase) -> str:
    return "_".join(phrase)


def _neighbours(counts: Sequence[_Counts], n: int) -> list[list[int]]:
    """Return the intents whose words are most like those of each of the first `n` intents."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.preprocessing import normalize

    if not any(own.units for own in counts):
        return [[] for _ in range(n)]
    frequency = Counter(unit for own in counts for unit in own.units)
    weights = [
        {unit: own.share(unit) * math.log(len(counts) / frequency[unit] + 1) for unit in own.units} for own in counts
    ]
    x = normalize(DictVectorizer().fit_transform(weights))
    similarity: npt.NDArray[np.float64] = (x[:n] @ x.T).toarray()
    similarity[np.arange(n), np.arange(n)] = -1
    order = np.argsort(-similarity.round(9), axis=1, kind="stable")[:, :MAX_SIMILAR_INTENTS]
    return [[j for j in row if j != i] for i, row in enumerate(order.tolist())]
