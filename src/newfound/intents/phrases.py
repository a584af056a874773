"""Names of intents from the words that people say.

A name is made of words that stand close to each other in many utterances of the intent and in few of the intents that
it is most like: mostly an action and its object (`cancel_booking`), an object and what is the matter with it
(`card_declined`, `card_not_working`), or words that belong together (`exchange_rate`). Forms of a word count as one; in
English, so do a word and its negation or its particle (`top_up`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from newfound.intents.languages import LanguageWords
from newfound.intents.roles import WordRoles
from newfound.text import FILLERS, carries_meaning, words_of

MAX_WORDS_READ = 40  # per text
MAX_WORDS_APART = 5  # from one word of a name to the next
MAX_SIMILAR_INTENTS = 4  # that a name must tell apart
MIN_SHARE_OF_TEXTS = 0.06  # of the utterances that must have a phrase for it to be a name
MIN_TEXTS = 2  # with a unit or a phrase, likewise
MIN_SHARE_OF_THIRD_UNIT = 0.35  # of the utterances with a pair; a third unit that so many have belongs to it
MIN_SHARE_OF_ONE_CASE = 0.35  # of the utterances; a place or a name that so many have is what they are about
MIN_SHARE_IF_SHARED = 0.25  # of the utterances of at least half of the intents, for a word that they all share
MIN_INTENTS_TO_SHARE = 4
MIN_SHARE_OF_FORM = 0.2  # of the most frequent form of an action; a shorter form that fewer say is a slip
SMOOTHING_SHARE = 0.02  # words that hardly anybody says are no contrast
MAX_CANDIDATES = 24  # pairs of words of an intent that are compared
# What a phrase is worth as a name: by its form, by how many say it here and elsewhere, and by its vector. Chosen on the
# corpora of docs/names.md, with each of them left out in turn.
VALUE_OF_FORM = {"action object": 1.5, "object action": 0.8, "state": 0.9, "together": 0.4, "pair": 0.6, "word": -1.0}
VALUE_OF_THIRD, VALUE_OF_SHARE, VALUE_OF_CONTRAST, VALUE_OF_TELLING = 0.2, 0.6, 0.3, 0.4
VALUE_OF_NEARNESS, VALUE_OF_MARGIN = 1.2, 0.4
MIN_VALUE, MIN_VALUE_WITH_VECTORS = 1.5, 6.5  # of a name; a weaker one is no better than a quotation
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

    key: str  # the stem and the role, so that all forms of a word in one role have it
    form: str
    position: int


def units_of(words: LanguageWords, texts: Sequence[str], roles: WordRoles) -> dict[str, list[Unit]]:
    """Return the words of each text that may be in a name, in their order.

    The texts tell which words are mostly said with a particle, as `top up`.
    """
    said_in = {text: words.words(text)[:MAX_WORDS_READ] for text in texts}
    said, with_particle = Counter[str](), Counter[Phrase]()
    for text in texts:
        said.update(said_in[text])
        pairs = pairwise(said_in[text])
        with_particle.update(pair for pair in pairs if pair[1] in PARTICLES and pair[0] not in FILLERS)
    phrasal = {pair for pair, n in with_particle.items() if n >= max(MIN_TEXTS, said[pair[0]] / 2)}
    units, role_of = {text: list[Unit]() for text in texts}, cache(roles.role)
    for text, row in said_in.items():
        content = set(words.content(text)) - NEGATIONS
        for i, word in enumerate(row):
            if word not in content or roles.is_left_out(word):
                continue
            after = f"_{row[i + 1]}" if tuple(row[i : i + 2]) in phrasal else ""
            before = "not_" if _is_negated(row, i) else ""
            role = "state" if before else "name" if roles.is_of_one_case(word) else role_of(word)
            key = f"{before}{roles.stem(word)}{after}/{role}"
            units[text].append(Unit(key, before + word + after, i))
    return units


def _is_negated(words: Sequence[str], position: int) -> bool:
    for word in reversed(words[max(0, position - MAX_DISTANCE_OF_NEGATION) : position]):
        if word in NEGATIONS or carries_meaning(word):
            return word in NEGATIONS
    return False


def _role(key: str) -> str:
    return key.rpartition("/")[2]


class _Counts:
    """In which utterances of an intent each unit, and each pair of units that are near, occurs."""

    def __init__(self, utterances: Sequence[Sequence[Unit]]) -> None:
        self.size, self.utterances = len(utterances), utterances
        self.forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._rows: defaultdict[str, set[int]] = defaultdict(set)
        self.pairs: Counter[Phrase] = Counter()
        self.adjacent: set[Phrase] = set()
        self.triples_with: defaultdict[Phrase, Counter[Phrase]] = defaultdict(Counter)  # by two of their units
        for row, units in enumerate(utterances):
            for unit in units:
                self._rows[unit.key].add(row)
                self.forms[unit.key][unit.form] += 1
            near = [(a, b) for a, b in combinations(units, 2) if b.position - a.position <= MAX_WORDS_APART]
            self.pairs.update({(a.key, b.key) for a, b in near if a.key != b.key})
            self.adjacent.update((a.key, b.key) for a, b in near if b.position - a.position == 1)
            for i in range(len(units) - 2):
                a, b, c = (unit.key for unit in units[i : i + 3])
                if len({a, b, c}) == 3 and units[i + 2].position - units[i].position <= MAX_WORDS_APART:
                    for pair in ((a, b), (a, c), (b, c)):
                        self.triples_with[pair][a, b, c] += 1
        self.least = max(MIN_TEXTS, MIN_SHARE_OF_TEXTS * self.size)  # utterances with it, for a name

    def share(self, *phrase: str) -> float:
        """Return the share of the utterances that have all units of a phrase."""
        rows = sorted((self._rows.get(unit, set()) for unit in phrase), key=len)
        return len(rows[0].intersection(*rows[1:])) / max(1, self.size)

    def is_frequent(self, *phrase: str) -> bool:
        return self.share(*phrase) * self.size >= self.least - 1e-9


class PhraseNames:
    """Names for some intents, which tell them from one another and from the other intents."""

    def __init__(
        self, texts: Sequence[Sequence[Sequence[Unit]]], others: Sequence[Sequence[Sequence[Unit]]], roles: WordRoles
    ) -> None:
        """Count the units of each utterance of each intent that gets a name, and of further intents."""
        self._counts = [_Counts(intent) for intent in (*texts, *others)]
        self._n, self._knows_roles = len(texts), roles.are_known
        self._neighbours = _neighbours(self._counts, self._n)
        shares: defaultdict[str, list[float]] = defaultdict(list)
        for counts in self._counts:
            for unit in counts.forms:
                shares[unit].append(counts.share(unit))
        self._everywhere = {unit: sum(own) / len(self._counts) for unit, own in shares.items()}
        half = len(self._counts) / 2 if len(self._counts) >= MIN_INTENTS_TO_SHARE else math.inf
        self._shared = {u for u, own in shares.items() if sum(s >= MIN_SHARE_IF_SHARED for s in own) >= half}

    def names(self, taken: Collection[str], likeness: Likeness | None = None) -> list[str | None]:
        """Return one name for each intent that is not taken; None for an intent that has no good one of its own."""
        values, least = self._values(likeness)
        ranked = [sorted(own, key=lambda name: (-own[name], name)) for own in values]
        names: list[str | None] = [None] * self._n
        used = {bag_of(name) for name in taken}
        for i in sorted(range(self._n), key=lambda i: -max(values[i].values(), default=0.0)):
            good = (name for name in ranked[i] if values[i][name] >= least and bag_of(name) not in used)
            names[i] = next(good, None)
            used.add(bag_of(names[i] or ""))
        return names

    def _values(self, likeness: Likeness | None) -> tuple[list[dict[str, float]], float]:
        """Return what each possible name of each intent is worth, and what a good one is worth."""
        values = [{self._name(i, p): self._value(i, p) for p in self._candidates(i)} for i in range(self._n)]
        row = {name: i for i, name in enumerate(dict.fromkeys(name for own in values for name in own))}
        foreign = np.array([[name not in own for own in values] for name in row])
        if likeness is None or not foreign.any():
            return values, MIN_VALUE
        near = likeness([name.replace("_", " ") for name in row]).astype(np.float64)
        # Encoders differ in how near anything is: how near phrases are to other intents is the measure.
        near = (near - near[foreign].mean()) / max(float(near[foreign].std()), 1e-6)
        for i, own in enumerate(values):
            for name in own:
                margin = near[row[name], i] - np.delete(near[row[name]], i).max()
                value = own[name] + VALUE_OF_NEARNESS * near[row[name], i] + VALUE_OF_MARGIN * margin
                own[name] = round(float(value), 4)
        return values, MIN_VALUE_WITH_VECTORS

    def _value(self, i: int, phrase: Phrase) -> float:
        counts = self._counts[i]
        share, near = counts.share(*phrase), self._share_nearby(i, *phrase)
        contrast = math.log((share + SMOOTHING_SHARE) / (near + SMOOTHING_SHARE))
        telling = sum(self._telling(i, unit) for unit in phrase) / len(phrase)
        value = VALUE_OF_FORM[self._form(i, phrase)] + VALUE_OF_THIRD * (len(phrase) > 2)
        value += VALUE_OF_SHARE * math.sqrt(share) + VALUE_OF_CONTRAST * contrast + VALUE_OF_TELLING * telling
        return round(value, 4)

    def _form(self, i: int, phrase: Phrase) -> str:
        if len(phrase) == 1:
            return "word"
        roles = [_role(unit) for unit in phrase]
        if "action" in roles and len(set(roles)) > 1:
            return "action object" if roles[0] == "action" else "object action"
        if not self._knows_roles:
            return "action object"
        if roles[-1] == "state":
            return "state"
        return "together" if phrase[-2:] in self._counts[i].adjacent else "pair"

    def _share_nearby(self, i: int, *phrase: str) -> float:
        return max((self._counts[j].share(*phrase) for j in self._neighbours[i]), default=0.0)

    def _telling(self, i: int, unit: str) -> float:
        """How many say a unit, and how well it tells an intent from its neighbours and from all."""
        share = self._counts[i].share(unit)
        elsewhere = self._share_nearby(i, unit) + self._everywhere[unit] + SMOOTHING_SHARE
        return share * math.log1p(share / elsewhere)

    def _name(self, i: int, phrase: Phrase) -> str:
        return "_".join(self._written(self._counts[i].forms[unit], _role(unit)) for unit in phrase)

    def _written(self, forms: Counter[str], role: str) -> str:
        """Return the form of a word that is in a name: the most frequent one, and of an action the shortest one."""
        most = max(forms.values())
        if role == "action":
            return min((f for f in forms if forms[f] >= MIN_SHARE_OF_FORM * most), key=lambda f: (len(f), f))
        return min(forms, key=lambda f: (-forms[f], f))

    def _candidates(self, i: int) -> Iterator[Phrase]:
        """Yield possible names: pairs, those with a third unit, and single units."""
        counts = self._counts[i]
        units = [unit for unit in counts.forms if counts.is_frequent(unit) and self._is_allowed(i, unit)]
        telling = {unit: self._telling(i, unit) for unit in units}
        pairs = [p for p, n in counts.pairs.items() if n >= counts.least and p[0] in telling and p[1] in telling]
        value = {
            pair: math.sqrt(counts.pairs[pair] / counts.size) * (telling[pair[0]] + telling[pair[1]]) for pair in pairs
        }
        for pair in sorted(pairs, key=lambda pair: (-value[pair], pair))[:MAX_CANDIDATES]:
            yield pair
            triples = (t for t in counts.triples_with[pair] if all(unit in telling for unit in t))
            whole = max(triples, key=lambda t: (counts.triples_with[pair][t], t), default=pair)
            enough = MIN_SHARE_OF_THIRD_UNIT * counts.pairs[pair]
            if counts.triples_with[pair][whole] >= enough and counts.is_frequent(*whole):
                yield whole
        for unit in sorted(units, key=lambda unit: (-telling[unit], unit))[:3]:
            yield (unit,)

    def _is_allowed(self, i: int, unit: str) -> bool:
        """Return whether a unit is neither what all intents share nor a name of some texts only."""
        is_about_it = _role(unit) != "name" or self._counts[i].share(unit) >= MIN_SHARE_OF_ONE_CASE
        return is_about_it and unit not in self._shared


def base_of(word: str) -> str:
    """Return one form for all forms of a word; it need not be a word."""
    return f"{word[:-3]}y" if word.endswith("ies") else word.rstrip("s") or word


def bag_of(name: str) -> frozenset[str]:
    """Return what is equal for names of the same words in another order or number."""
    return frozenset(map(base_of, words_of(name.replace("_", " ")))) or frozenset([name])


def _neighbours(counts: Sequence[_Counts], n: int) -> list[list[int]]:
    """Return the intents whose words are most like those of each of the first `n` intents."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.preprocessing import normalize

    if not any(own.forms for own in counts):
        return [[] for _ in range(n)]
    frequency = Counter(unit for own in counts for unit in own.forms)
    weights = [
        {unit: own.share(unit) * math.log(len(counts) / frequency[unit] + 1) for unit in own.forms} for own in counts
    ]
    x = normalize(DictVectorizer().fit_transform(weights))
    similarity: npt.NDArray[np.float64] = (x[:n] @ x.T).toarray()
    similarity[np.arange(n), np.arange(n)] = -1
    order = np.argsort(-similarity.round(9), axis=1, kind="stable")[:, :MAX_SIMILAR_INTENTS]
    return [[j for j in row if j != i] for i, row in enumerate(order.tolist())]
