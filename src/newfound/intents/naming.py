"""What to call a new intent.

A name is an ordered pair of words that many utterances of the intent share and few others do, which in requests is
mostly an action and its object: `cancel_booking`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations

from newfound.intents.keywords import keywords
from newfound.text import content_words, words_of

MAX_WORDS = 6
MAX_NAME_LENGTH = 48
MAX_DISTANCE_OF_PAIR = 5  # words between the two of a pair
MAX_TEXTS_READ = 400  # of an intent, for its name
MIN_SHARE = 0.08  # of the utterances must share a pair for it to be a name


def name_intents(texts: Sequence[Sequence[str]], *, taken: Collection[str] = ()) -> list[str]:
    """Return a short snake_case name for each intent, given by its texts; unique, also among the names `taken`."""
    pairs = [_pairs(own[:MAX_TEXTS_READ]) for own in texts]
    everywhere: Counter[tuple[str, str]] = sum(pairs, Counter())
    words = keywords(texts)
    names: list[str] = []
    used = set(taken)
    for own_texts, own, top in zip(texts, pairs, words, strict=True):
        for candidate in _candidates(own, everywhere, top, min(len(own_texts), MAX_TEXTS_READ)):
            if candidate not in used:
                break
        else:
            candidate = plain_name(own_texts[0] if own_texts else "", taken=used)
        names.append(candidate)
        used.add(candidate)
    return names


def _candidates(
    own: Counter[tuple[str, str]], everywhere: Counter[tuple[str, str]], words: Sequence[str], texts: int
) -> list[str]:
    """Names from best to worst: shared pairs by how many utterances have them and how few elsewhere, then keywords."""

    def score(pair: tuple[str, str]) -> tuple[float, tuple[str, str]]:
        known = sum(word in words for word in pair)
        return (-own[pair] * own[pair] / everywhere[pair] * (1 + known), pair)

    shared = [pair for pair in own if own[pair] >= max(2, MIN_SHARE * texts)]
    names = ["_".join(pair) for pair in sorted(shared, key=score)]
    names += ["_".join(words[:2]), "_".join(words[:3])]
    return [name[:MAX_NAME_LENGTH].strip("_") for name in names if name]


def _pairs(texts: Sequence[str]) -> Counter[tuple[str, str]]:
    """Ordered pairs of content words that stand close together, counted once per text."""
    found: Counter[tuple[str, str]] = Counter()
    for text in texts:
        content = set(content_words(text))
        places = [(i, word) for i, word in enumerate(words_of(text)[:40]) if word in content]
        found.update({(a, b) for (i, a), (j, b) in combinations(places, 2) if a != b and j - i <= MAX_DISTANCE_OF_PAIR})
    return found


def plain_name(utterance: str, *, taken: Collection[str]) -> str:
    """Return a name from one utterance: its opening words in snake_case, not one of those `taken`."""
    base = "_".join(words_of(utterance)[:MAX_WORDS])[:MAX_NAME_LENGTH].strip("_") or "new_intent"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
