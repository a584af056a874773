"""Names of new intents.

A name is an ordered pair of words that many utterances of the intent and few others have. In requests this is mostly an
action and its object, such as `cancel_booking`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from newfound.encoders.identification import UNKNOWN
from newfound.intents.english import is_english
from newfound.intents.keywords import keywords
from newfound.intents.languages import LanguageWords, in_one_language, languages_of
from newfound.intents.phrases import Likeness, PhraseNames
from newfound.text import words_of

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
    language: str = UNKNOWN,
) -> list[str]:
    """Return a short, unique snake_case name for each intent.

    Where the texts are in several languages, an intent is named in one of them.

    Args:
        texts: The texts of each intent.
        taken: Names that must not be used.
        others: The texts of further intents, which the names should tell these from.
        likeness: How near phrases are to the texts of each intent; without it, counts of words alone decide.
        language: The language of the names, for intents with enough texts in it; of others, that of most texts.
    """
    if len(languages_of([text for own in (*texts, *others) for text in own])) < 2:
        return _names_in_one_language(texts, taken, others, likeness)
    spoken = [in_one_language(own, language) for own in texts]
    names, used = [""] * len(texts), set(taken)
    for spoken_language in dict.fromkeys(own.language for own in spoken):
        rows = [i for i in range(len(texts)) if spoken[i].language == spoken_language]
        in_others = [in_one_language(own, spoken_language) for own in others]
        known = [own.texts for own in in_others if own.language == spoken_language]
        near = None if likeness is None else partial(_likeness_of_some, likeness, rows)
        found = _names_in_one_language([spoken[i].texts for i in rows], used, known, near)
        for i, name in zip(rows, found, strict=True):
            names[i] = name
        used.update(found)
    return names


def _likeness_of_some(likeness: Likeness, intents: Sequence[int], phrases: Sequence[str]) -> npt.NDArray[np.float32]:
    return likeness(phrases)[:, list(intents)]


def _names_in_one_language(
    texts: Sequence[Sequence[str]],
    taken: Collection[str],
    others: Sequence[Sequence[str]],
    likeness: Likeness | None,
) -> list[str]:
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
    every = [text for texts_of_intent in texts for text in texts_of_intent[:MAX_TEXTS_READ]]
    splitter = LanguageWords(next(iter(languages_of(every)), UNKNOWN), every)
    pair_counts = [_count_pairs(texts_of_intent[:MAX_TEXTS_READ], splitter) for texts_of_intent in texts]
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


def _count_pairs(texts: Sequence[str], splitter: LanguageWords) -> Counter[WordPair]:
    """Count the ordered pairs of content words that are close to each other, once per text."""
    counts: Counter[WordPair] = Counter()
    for text in texts:
        content = set(splitter.content(text))
        words = [(i, word) for i, word in enumerate(splitter.words(text)[:MAX_WORDS_READ]) if word in content]
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
