"""What to call a new intent, and what to show of it: names, keywords, exemplars and border cases.

Keywords are by class-based TF-IDF (Grootendorst 2022, BERTopic): words that are frequent in an intent and rare in the
others. A name is an ordered pair of words that many utterances of the intent share and few others do, which in
requests is mostly an action and its object: `cancel_booking`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor

MOST_WORDS = 6
LONGEST_NAME = 48
WINDOW = 5  # words between the two of a pair, at most
MOST_TEXTS = 400  # of an intent that are read for its name
LEAST_SHARE = 0.08  # of the utterances must share a pair for it to be a name
ALIKE = 0.95  # cosine of two exemplars that show the same

# Words that carry no meaning of their own in a request. Short on purpose: other languages pass through unharmed.
FILLERS = frozenset(
    """a about after again all also am an and any are as at be because been being but by can cant could couldnt did
    didnt do does doesnt doing dont for from get getting go going got had has hasnt have havent having he hello help
    her here hey hi him his how i id if ill im in into is isnt it its ive just know let like make me mine more much my
    need no not now of off ok okay on one or our out please she should so some someone still take tell thank thanks that
    thats the their them then there these they thing this those through to too up us use using very want wants was wasnt
    way we were what whats when where wheres which while who why will with without wont would you your yours""".split()
)


def words_of(text: str) -> list[str]:
    """Lower-case words; apostrophes join, everything else that is no letter or digit divides."""
    return re.findall(r"[^\W_]+", text.lower().replace("'", "").replace("’", ""))


def content_words(text: str) -> list[str]:
    return [word for word in words_of(text) if word not in FILLERS and (len(word) > 1 or not word.isascii())]


def keywords(texts: Sequence[Sequence[str]], most: int = 6) -> list[tuple[str, ...]]:
    """For each intent, given by its texts, the words that tell it from the others, best first."""
    counts = [Counter(word for text in own for word in set(content_words(text))) for own in texts]
    total: Counter[str] = Counter()
    for own in counts:
        total.update(own)
    mean = sum(total.values()) / max(1, len(texts))

    def best(own: Counter[str]) -> tuple[str, ...]:
        size = max(1, own.total())
        score = {word: count / size * math.log1p(mean / total[word]) for word, count in own.items()}
        return tuple(sorted(own, key=lambda word: (-score[word], word))[:most])

    return [best(own) for own in counts]


def name_intents(texts: Sequence[Sequence[str]], *, taken: Collection[str] = ()) -> list[str]:
    """A short snake_case name for each intent, given by its texts; unique, also among the names that are taken."""
    pairs = [_pairs(own[:MOST_TEXTS]) for own in texts]
    everywhere: Counter[tuple[str, str]] = sum(pairs, Counter())
    words = keywords(texts)
    names: list[str] = []
    used = set(taken)
    for own_texts, own, top in zip(texts, pairs, words, strict=True):
        for candidate in _candidates(own, everywhere, top, min(len(own_texts), MOST_TEXTS)):
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

    shared = [pair for pair in own if own[pair] >= max(2, LEAST_SHARE * texts)]
    names = ["_".join(pair) for pair in sorted(shared, key=score)]
    names += ["_".join(words[:2]), "_".join(words[:3])]
    return [name[:LONGEST_NAME].strip("_") for name in names if name]


def _pairs(texts: Sequence[str]) -> Counter[tuple[str, str]]:
    """Ordered pairs of content words that stand close together, counted once per text."""
    found: Counter[tuple[str, str]] = Counter()
    for text in texts:
        content = set(content_words(text))
        places = [(i, word) for i, word in enumerate(words_of(text)[:40]) if word in content]
        found.update({(a, b) for (i, a), (j, b) in combinations(places, 2) if a != b and j - i <= WINDOW})
    return found


def plain_name(utterance: str, *, taken: Collection[str]) -> str:
    """A name from one utterance: its opening words in snake_case, unique."""
    base = "_".join(words_of(utterance)[:MOST_WORDS])[:LONGEST_NAME].strip("_") or "new_intent"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def exemplars(x: Tensor, prototype: Tensor, texts: Sequence[str], most: int = 5) -> list[int]:
    """Positions of utterances that are close to the prototype [d] and not close to one another; x [n, d]."""
    x = F.normalize(x, dim=-1)
    order = (x @ F.normalize(prototype, dim=-1)).argsort(descending=True, stable=True).tolist()
    chosen: list[int] = []
    seen: set[str] = set()
    for limit in (ALIKE, 2.0):  # the second time around, whatever is not the very same text
        for i in order:
            if len(chosen) == most:
                return chosen
            text = " ".join(words_of(texts[i])) or texts[i]
            if text in seen or any(float(x[i] @ x[j]) > limit for j in chosen):
                continue
            chosen.append(i)
            seen.add(text)
    return chosen


def border_cases(logits: Tensor, column: int, texts: Sequence[str], most: int = 3) -> list[int]:
    """Positions of the utterances of an intent that are nearest to being of another; logits [n, intents]."""
    others = logits.clone()
    others[:, column] = -torch.inf
    margin = logits[:, column] - others.max(1).values
    chosen: dict[str, int] = {}
    for i in margin.argsort(stable=True).tolist():
        chosen.setdefault(texts[i], i)
        if len(chosen) == most:
            break
    return list(chosen.values())
