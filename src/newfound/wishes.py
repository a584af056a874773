"""How likely a text states a wish, as a request or a question does and a greeting, a name or an answer does not.

A logistic regression on word n-grams that many corpora share ("i want", "can you", "how do i"), so that it knows no
domain; `benchmarks/messages/wishes.py` trains it and writes `wishes.json`. It reads English only.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from importlib import resources

from newfound.small_talk import is_small_talk
from newfound.text import is_wordless

MAX_WORDS = 3  # of an n-gram
FEW_WORDS, VERY_FEW_WORDS = 4, 2
PIECE = re.compile(r"[a-z]+(?:['’][a-z]+)*|\d+|\?")


def log_odds_of_wish(text: str) -> float:
    """Return the logarithm of the odds that a text states a wish; above 0 it is more likely than not."""
    weights = _weights()
    return sum(weights.get(name, 0.0) * value for name, value in features(text).items())


def features(text: str) -> dict[str, float]:
    """Return the n-grams of a text, whether it is small talk, and how long it is."""
    words = ["^", *("0" if piece.isdecimal() else piece.replace("’", "'") for piece in PIECE.findall(text.lower()))]
    ngrams = (" ".join(words[i : i + n]) for n in range(1, MAX_WORDS + 1) for i in range(len(words) - n + 1))
    length = len(text.split())
    return dict.fromkeys(ngrams, 1.0) | {
        "INTERCEPT": 1.0,
        "SMALL TALK": float(is_small_talk(text) or is_wordless(text)),
        "FEW WORDS": float(length <= FEW_WORDS),
        "VERY FEW WORDS": float(length <= VERY_FEW_WORDS),
        "LOG OF LENGTH": math.log1p(length),
    }


@cache
def _weights() -> dict[str, float]:
    weights: dict[str, float] = json.loads(resources.files("newfound").joinpath("wishes.json").read_text("utf-8"))
    return weights
