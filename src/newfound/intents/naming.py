"""Names of new intents.

A name is an ordered pair of words that many utterances of the intent and few others have. In requests this is mostly an
action and its object, such as `cancel_booking`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations

from newfound.intents.english import is_english
from newfound.intents.keywords import keywords
from newfound.intents.phrases import Likeness, PhraseNames
from newfound.text import content_words, words_of

MAX_WORDS = 6  # of a name from one utterance
MAX_NAME_LENGTH = 48  # characters
MAX_DISTANCE_OF_PAIR = 5  # words from the first word of a pair to the second
MAX_TEXTS_READ = 400  # per intent
MAX_WORDS_READ = 40  # per text
MIN_SHARE_OF_PAIR = 0.08  # share of the utterances that must have a pair for it to be a name
WordPair = tuple[str, str]


def name_intents(
    texts: Sequence[Sequence[str]],
    *,
    taken: Collection[str] = (),
    others: Sequence[Sequence[str]] = (),
    likeness: Likeness | None = None,
) -> list[str]:
    """Return a short, unique snake_case name for each intent.

    Args:
        texts: The texts of each intent.
        taken: Names that must not be used.
        others: The texts of further intents, which the names should tell these from.
        likeness: How near phrases are to the texts of each intent; without it, counts of words alone decide.
    """
    words = [[_words(text) for text in own[:MAX_TEXTS_READ]] for own in (*texts, *others)]
    if not is_english([text for own in words for text in own]):
        return name_by_pairs(texts, taken=taken)
    proposed = PhraseNames(words[: len(texts)], words[len(texts) :]).names(taken, likeness)
    used = {*taken, *(name for name in proposed if name is not None)}
    names = []
    for own, name in zip(texts, proposed, strict=True):
        if name is None or len(name) > MAX_NAME_LENGTH:
            name = plain_name(own[0] if own else "", taken=used)
            used.add(name)
        names.append(name)
    return names


def _words(text: str) -> list[str]:
    return words_of(text)[:MAX_WORDS_READ]


def name_by_pairs(texts: Sequence[Sequence[str]], *, taken: Collection[str] = ()) -> list[str]:
    """Return a name for each intent from pairs of its words alone, in any language.

    Args:
        texts: The texts of each intent.
        taken: Names that must not be used.
    """
    pair_counts = [_count_pairs(texts_of_intent[:MAX_TEXTS_READ]) for texts_of_intent in texts]
    total_counts: Counter[WordPair] = sum(pair_counts, Counter())
    names: list[str] = []
    used = set(taken)
    for texts_of_intent, counts, words in zip(texts, pair_counts, keywords(texts), strict=True):
        for candidate in _candidates(counts, total_counts, words, min(len(texts_of_intent), MAX_TEXTS_READ)):
            if candidate not in used:
                break
        else:
            candidate = plain_name(texts_of_intent[0] if texts_of_intent else "", taken=used)
        names.append(candidate)
        used.add(candidate)
    return names


def _candidates(
    counts: Counter[WordPair], total_counts: Counter[WordPair], words: Sequence[str], n_texts: int
) -> list[str]:
    """Return possible names, best first: pairs that are frequent in the intent and rare elsewhere, then keywords."""

    def sort_key(pair: WordPair) -> tuple[float, WordPair]:
        n_keywords = sum(word in words for word in pair)
        return (-counts[pair] * counts[pair] / total_counts[pair] * (1 + n_keywords), pair)

    frequent = [pair for pair in counts if counts[pair] >= max(2, MIN_SHARE_OF_PAIR * n_texts)]
    names = ["_".join(pair) for pair in sorted(frequent, key=sort_key)]
    names += ["_".join(words[:2]), "_".join(words[:3])]
    return [name[:MAX_NAME_LENGTH].strip("_") for name in names if name]


def _count_pairs(texts: Sequence[str]) -> Counter[WordPair]:
    """Count the ordered pairs of content words that are close to each other, once per text."""
    counts: Counter[WordPair] = Counter()
    for text in texts:
        content = set(content_words(text))
        words = [(i, word) for i, word in enumerate(words_of(text)[:MAX_WORDS_READ]) if word in content]
        counts.update({(a, b) for (i, a), (j, b) in combinations(words, 2) if a != b and j - i <= MAX_DISTANCE_OF_PAIR})
    return counts


def plain_name(utterance: str, *, taken: Collection[str]) -> str:
    """Return a snake_case name from the first words of an utterance.

    Args:
        utterance: The utterance.
        taken: Names that must not be used.
    """
    base = "_".join(words_of(utterance)[:MAX_WORDS])[:MAX_NAME_LENGTH].strip("_") or "new_intent"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
