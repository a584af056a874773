"""Names of English intents: what people do with what, as they say it.

A name is made of two or three units (`english.units_of`) that stand close to each other in many utterances of the
intent and in few of the intents that it is most like: an action and its object (`cancel_booking`), an object and what
is the matter with it (`card_declined`, `card_not_working`), or words that belong together (`exchange_rate`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from newfound.intents.english import Unit, ing_form, units_of

MAX_DISTANCE = 5  # words from one unit of a name to the next
NEIGHBOURS = 4  # intents that a name must tell apart
MIN_SHARE = 0.06  # of the utterances that must have a pair for it to be a name
MIN_COUNT = 2
ACTION_BONUS = 1.5  # a pair that starts with what somebody does
SHARE_OF_WHOLE_PHRASE = 0.35  # of the utterances with a pair; a third unit that so many have belongs to it
MIN_SHARE_OF_ACTION = 0.2  # of the utterances with an object; an action that so many have belongs to it
SHARE_OF_PAIR = 0.1  # of the utterances with its better word; a pair that fewer have says less than the word alone
NEAR = 1.0  # the weight of the nearest intents in the contrast
SMOOTHING = 0.02  # share; words that hardly anybody says are no contrast
CANDIDATES = 10  # phrases of an intent of which the one is taken whose meaning is nearest to its utterances
Phrase = tuple[str, ...]
Likeness = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""The cosine of phrases to the utterances of the intents that get a name, [phrases, intents]."""


@dataclass(slots=True)
class _Counts:
    """In how many utterances of an intent something occurs."""

    size: int
    units: Counter[str] = field(default_factory=Counter)
    forms: dict[str, Counter[str]] = field(default_factory=dict)
    acted: Counter[str] = field(default_factory=Counter)  # units that are said as an action
    pairs: Counter[Phrase] = field(default_factory=Counter)
    actions: Counter[Phrase] = field(default_factory=Counter)  # pairs that start with an action
    utterances: list[list[Unit]] = field(default_factory=list)

    def share(self, unit: str) -> float:
        return self.units[unit] / max(1, self.size)


class PhraseNames:
    """Names for some intents, which tell them from one another and from the other intents."""

    def __init__(self, texts: Sequence[Sequence[Sequence[str]]], others: Sequence[Sequence[Sequence[str]]]) -> None:
        """Count what is said.

        Args:
            texts: The words of each utterance of each intent that gets a name.
            others: The same of further intents.
        """
        vocabulary = {word for intent in (*texts, *others) for text in intent for word in text}
        self._counts = [_count(intent, vocabulary) for intent in (*texts, *others)]
        self._n = len(texts)
        self._neighbours = _neighbours(self._counts, self._n)
        self._total: dict[str, float] = {}  # shares, summed over the intents
        for counts in self._counts:
            for unit in counts.units:
                self._total[unit] = self._total.get(unit, 0.0) + counts.share(unit)

    def names(self, taken: Collection[str], likeness: Likeness | None = None) -> list[str | None]:
        """Return one name for each intent; None for an intent that has none of its own.

        Args:
            taken: Names that must not be used.
            likeness: How near phrases are to the utterances; without it, counts alone decide.
        """
        ranked = [list(dict.fromkeys(self._ranked(i))) for i in range(self._n)]
        if likeness is not None:
            ranked = self._by_meaning(ranked, likeness)
        names = [self._written(i, phrases[0]) if phrases else None for i, phrases in enumerate(ranked)]
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
                names[i] = self._refined(i, ranked[i], [j for j in group if j != i], used)
                if names[i] is not None:
                    used.add(names[i] or "")
        return names

    def _by_meaning(self, ranked: Sequence[Sequence[Phrase]], likeness: Likeness) -> list[list[Phrase]]:
        """Return the phrases of each intent with the first ones in the order of their meaning's nearness."""
        words = [[self._written(i, p).replace("_", " ") for p in own[:CANDIDATES]] for i, own in enumerate(ranked)]
        row = {phrase: i for i, phrase in enumerate(dict.fromkeys(phrase for own in words for phrase in own))}
        if not row:
            return [list(own) for own in ranked]
        near = likeness(list(row))
        ordered = []
        for i, own in enumerate(ranked):
            value = [-round(float(near[row[text], i]), 4) for text in words[i]]
            first = np.argsort(value, kind="stable").tolist()
            ordered.append([*(own[rank] for rank in first), *own[CANDIDATES:]])
        return ordered

    def _refined(self, i: int, ranked: Sequence[Phrase], rivals: Sequence[int], used: set[str]) -> str | None:
        """Return a name with a word that tells an intent from those with the same name, or another name."""
        against = list(rivals) or self._neighbours[i]
        counts = self._counts[i]

        def gain(unit: str) -> float:
            other = max((self._counts[j].share(unit) for j in against), default=0.0)
            return counts.share(unit) * math.log((counts.share(unit) + SMOOTHING) / (other + SMOOTHING))

        frequent = [u for u, n in counts.units.items() if n >= max(MIN_COUNT, MIN_SHARE * counts.size)]
        telling = sorted((u for u in frequent if gain(u) > 0 and u not in ranked[0]), key=lambda u: (-gain(u), u))
        for unit in telling[:3]:
            name = self._written(i, self._extended(i, ranked[0], unit))
            if name not in used:
                return name
        return next((name for phrase in ranked[1:] if (name := self._written(i, phrase)) not in used), None)

    def _weight(self, i: int, unit: str) -> float:
        """How much a unit says about an intent."""
        return self._counts[i].share(unit) * self._contrast(i, unit)

    def _contrast(self, i: int, unit: str) -> float:
        """How well a unit tells an intent from its neighbours and from all."""
        share = self._counts[i].share(unit)
        near = max((self._counts[j].share(unit) for j in self._neighbours[i]), default=0.0)
        everywhere = self._total[unit] / len(self._counts)
        return math.log1p(share / (NEAR * near + everywhere + SMOOTHING))

    def _ranked(self, i: int) -> Iterator[Phrase]:
        """Yield possible names, the best first."""
        counts = self._counts[i]
        weights = {unit: self._weight(i, unit) for unit in counts.units}
        least = max(MIN_COUNT, MIN_SHARE * counts.size)
        pairs = [pair for pair, n in counts.pairs.items() if n >= least]

        def score(pair: Phrase) -> float:
            n = counts.pairs[pair]
            bonus = ACTION_BONUS if 2 * counts.actions[pair] >= n else 1.0
            return math.sqrt(n / counts.size) * (weights[pair[0]] + weights[pair[1]]) * bonus

        order = sorted(pairs, key=lambda pair: (-score(pair), pair))
        best_unit = max(weights, key=lambda unit: (weights[unit], unit), default=None)
        if best_unit is not None and counts.units[best_unit] >= least:
            pairs_with_it = max((counts.pairs[pair] for pair in pairs if best_unit in pair), default=0)
            if pairs_with_it < SHARE_OF_PAIR * counts.units[best_unit] and (not order or best_unit in order[0]):
                yield self._with_action(i, (best_unit,))
        for pair in order:
            yield self._with_action(i, self._whole(i, pair))
        for unit in sorted(weights, key=lambda unit: (-weights[unit], unit))[:3]:
            yield self._with_action(i, (unit,))

    def _whole(self, i: int, pair: Phrase) -> Phrase:
        """Return a pair with the third unit that most utterances with the pair have beside it."""
        beside: Counter[Phrase] = Counter()
        n = 0
        for units in self._counts[i].utterances:
            bases = [unit.base for unit in units]
            if pair[0] not in bases or pair[1] not in bases[bases.index(pair[0]) :]:
                continue
            first = bases.index(pair[0])
            second = bases.index(pair[1], first)
            n += 1
            found = set()
            if first > 0 and units[first].position - units[first - 1].position == 1:
                found.add((bases[first - 1], *pair))
            if second - first == 2:
                found.add((pair[0], bases[first + 1], pair[1]))
            if second + 1 < len(units) and units[second + 1].position - units[second].position <= 2:
                found.add((*pair, bases[second + 1]))
            beside.update(phrase for phrase in found if len(set(phrase)) == 3)
        if beside:
            phrase, count = max(beside.items(), key=lambda item: (item[1], item[0]))
            if count >= max(MIN_COUNT, SHARE_OF_WHOLE_PHRASE * n):
                return phrase
        return pair

    def _extended(self, i: int, phrase: Phrase, unit: str) -> Phrase:
        """Return a phrase with a further unit, before or after it as it is mostly said."""
        pairs = self._counts[i].pairs
        before = sum(pairs[unit, other] - pairs[other, unit] for other in phrase)
        return (unit, *phrase) if before > 0 else (*phrase, unit)

    def _with_action(self, i: int, phrase: Phrase) -> Phrase:
        """Return a phrase with what most people do with its object, if it names no action itself."""
        counts = self._counts[i]
        if len(phrase) > 2 or any(2 * counts.acted[unit] >= counts.units[unit] for unit in phrase):
            return phrase
        shares: dict[str, float] = {}
        for (verb, unit), n in counts.actions.items():
            if unit in phrase and verb not in phrase:
                shares[verb] = max(shares.get(verb, 0.0), n / counts.units[unit])
        enough = [verb for verb, share in shares.items() if share >= MIN_SHARE_OF_ACTION]
        if not enough:
            return phrase
        return (max(enough, key=lambda verb: (shares[verb] * self._contrast(i, verb), verb)), *phrase)

    def _written(self, i: int, phrase: Phrase) -> str:
        """Return a phrase as a name: what comes first in its base form, what follows an object as it is said."""
        return "_".join(self._word(i, unit, first=position == 0) for position, unit in enumerate(phrase))

    def _word(self, i: int, unit: str, *, first: bool) -> str:
        negation, _, verb = unit.partition("_")
        if negation == "cannot":
            return unit
        said = self._counts[i].forms[unit].most_common(1)[0][0]
        if negation == "not" and verb:
            return f"not_{ing_form(verb) if said == verb and '_' not in verb else said}"
        is_action = first and 2 * self._counts[i].acted[unit] >= self._counts[i].units[unit]
        return said if not is_action and said.endswith(("ed", "en", "ing", "sent", "paid")) else unit


def _count(texts: Sequence[Sequence[str]], vocabulary: Collection[str]) -> _Counts:
    counts = _Counts(len(texts))
    for words in texts:
        units = units_of(words, vocabulary)
        counts.utterances.append(units)
        counts.units.update({unit.base for unit in units})
        counts.acted.update({unit.base for unit in units if unit.action})
        for unit in units:
            counts.forms.setdefault(unit.base, Counter())[unit.form] += 1
        near = [(a, b) for a, b in combinations(units, 2) if b.position - a.position <= MAX_DISTANCE]
        counts.pairs.update({(a.base, b.base) for a, b in near if a.base != b.base})
        counts.actions.update({(a.base, b.base) for a, b in near if a.base != b.base and a.action})
    return counts


def _neighbours(counts: Sequence[_Counts], n: int) -> list[list[int]]:
    """Return the intents whose words are most like those of each of the first `n` intents."""
    total: Counter[str] = Counter()
    for own in counts:
        total.update(own.units.keys())
    columns = {unit: column for column, unit in enumerate(total)}
    entries: list[tuple[int, int, float]] = []
    for row, own in enumerate(counts):
        weights = {unit: own.share(unit) * math.log(len(counts) / total[unit] + 1) for unit in own.units}
        length = math.hypot(*weights.values()) or 1.0
        entries += [(row, columns[unit], weight / length) for unit, weight in weights.items()]
    rows, cols, values = zip(*entries, strict=True) if entries else ((), (), ())
    x = csr_matrix((values, (rows, cols)), shape=(len(counts), max(1, len(columns))), dtype=np.float64)
    similarity: npt.NDArray[np.float64] = (x[:n] @ x.T).toarray()
    similarity[np.arange(n), np.arange(n)] = -1
    order = np.argsort(-similarity.round(9), axis=1, kind="stable")[:, :NEIGHBOURS]
    return [[j for j in row if j != i] for i, row in enumerate(order.tolist())]
