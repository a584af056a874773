"""What is read of a message: its own words without markup, of a long one what states a wish, without what is masked.

The same is done to the utterances that a model learns from and to the messages that it classifies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from newfound.data.corpus import Corpus
from newfound.errors import SettingsError
from newfound.plain import plain_paragraphs, plain_text
from newfound.small_talk import is_small_talk
from newfound.text import did_you_mean, is_wordless
from newfound.untrusted import parse
from newfound.wishes import log_odds_of_wish

MASKS = {
    "emails": re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"),
    "links": re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE),
    "mentions": re.compile(r"(?<![\w.@])[@#]\w+"),
    "ids": re.compile(r"(?<!\w)#?[A-Za-z]{0,6}[-_]?(?=(?:\d[A-Za-z_-]{0,6}){3})[\w-]{3,30}(?!\w)"),
    "numbers": re.compile(r"(?<!\w)[$€£]?\d+(?:[.,:/-]\d+)*(?!\w)(?:\s?[%€£])?"),
}
MIN_SHARE_TO_MASK = 0.5  # of the messages; what is in most of them says nothing about their intents
# A message of one paragraph with at most so many words is read whole, and one of several paragraphs with few words.
MAX_WORDS, FEW_WORDS = 50, 25
MAX_READINGS = 20  # of a message
MAX_MASKED_WORDS, MAX_BYTES_OF_WORDS = 10_000, 2**20
SENTENCE_END = re.compile(r"(?<=[.?!…])[\"'”’)\]]*\s+|(?<=[。？！؟])")


@dataclass(frozen=True, slots=True)
class Preparation:
    """How messages are prepared.

    Attributes:
        masks: Kinds of words that are left out, of `MASKS`.
        words: Further words that are left out, in lower case.
    """

    masks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def __call__(self, message: str) -> str:
        """Return what is likely to be read of a message, if nothing more is known of its intents."""
        return self.readings(message)[0]

    def readings(self, message: str) -> list[str]:
        """Return what may be read of a message, the likeliest first; one of which nothing is left stays as it is."""
        return [self.without_masked(text) for text in readings_of(message)]

    def without_masked(self, text: str) -> str:
        """Return a text without what is masked."""
        masked = text
        for pattern in self._patterns():
            masked = pattern.sub(" ", masked)
        if masked == text:
            return text
        masked = re.sub(r"\s+([,.;:?!])", r"\1", " ".join(masked.split())).lstrip(",.;:?! ")
        return text if is_wordless(masked) else masked

    def of_corpus(self, corpus: Corpus) -> tuple[Corpus, Counter[str]]:
        """Return a corpus of which each text is prepared, and how many were changed in which way.

        What was changed stays with it as its whole message.
        """
        counts, texts, origins = Counter[str](), [], []
        for message, origin in zip(corpus.texts, corpus.origins, strict=True):
            plain, wishes = plain_text(message), readings_of(message)[0]
            text = self.without_masked(wishes)
            counts["marked"] += plain != message
            counts["long"] += wishes != plain
            counts["masked"] += text != wishes
            texts.append(text)
            said = origin.said
            whole = origin if text == message else replace(origin, said=replace(said, message=said.message or message))
            origins.append(whole)
        return Corpus(tuple(texts), corpus.labels, tuple(origins)), counts

    def as_dict(self) -> dict[str, Any]:
        """Return what the provenance of a model keeps."""
        return {"masks": list(self.masks), "words": list(self.words)}

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> Preparation | None:
        """Return how a model's messages are prepared; None if they are read as they are.

        The provenance comes from a file and may hold anything.
        """
        try:
            found = parse(cls, provenance.get("preparation"))
        except ValueError:
            return None
        return found if set(found.masks) <= set(MASKS) and len(found.words) <= MAX_MASKED_WORDS else None

    def _patterns(self) -> list[re.Pattern[str]]:
        kinds = [pattern for name, pattern in MASKS.items() if name in self.masks]
        return [*kinds, pattern_of(self.words)] if self.words else kinds


@cache
def pattern_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of any of some words, the longest first."""
    any_of = "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
    return re.compile(rf"(?<!\w)(?:{any_of})(?!\w)", re.IGNORECASE)


def readings_of(message: str) -> list[str]:
    """Return what may be read of a message: its plain text, or a part of one with several paragraphs or many words.

    Such a part is a paragraph, or what states a wish in a long one; what most likely states a wish comes first.
    """
    paragraphs = plain_paragraphs(message)
    text = " ".join(paragraphs)
    n_words = len(text.split())
    if n_words <= (FEW_WORDS if len(paragraphs) > 1 else MAX_WORDS):
        return [text]
    if len(paragraphs) == 1:
        return [_wishes_in(text), *_telling(_sentences(text))]
    own = sorted(_telling(paragraphs), key=lambda paragraph: -log_odds_of_wish(paragraph))
    return [*map(_wishes_in, own), *([text] if n_words <= MAX_WORDS or not own else [])]


def _wishes_in(paragraph: str) -> str:
    """Return the sentences of a long paragraph that most likely state a wish, in order; a short one stays whole."""
    if len(paragraph.split()) <= MAX_WORDS:
        return paragraph
    sentences = _telling(_sentences(paragraph))
    odds = list(map(log_odds_of_wish, sentences))
    kept, n_words = list[int](), 0
    for i in sorted(range(len(sentences)), key=lambda i: (-odds[i], i)):
        n_words += len(sentences[i].split())
        if kept and (n_words > MAX_WORDS or odds[i] <= 0):
            break
        kept.append(i)
    return " ".join(sentences[i] for i in sorted(kept)) or paragraph


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in SENTENCE_END.split(text) if sentence.strip()]


def _telling(texts: Sequence[str]) -> list[str]:
    """Return the texts that are more than small talk and signs; of many, those that most likely state a wish."""
    telling = [text for text in texts if not is_small_talk(text) and not is_wordless(text)]
    if len(telling) <= MAX_READINGS:
        return telling
    likely = sorted(range(len(telling)), key=lambda i: (-log_odds_of_wish(telling[i]), i))[:MAX_READINGS]
    return [telling[i] for i in sorted(likely)]


def preparation_for(messages: Sequence[str], wanted: Sequence[str] | None) -> Preparation:
    """Return how to prepare messages of which nothing is known yet.

    `wanted` has names of `MASKS`, and files with a word on each line, to be masked; None masks what most messages hold.

    Raises:
        SettingsError: A name is neither a mask nor a file that can be read.
    """
    if wanted is None:
        found = Counter(name for text in messages for name, pattern in MASKS.items() if pattern.search(text))
        return Preparation(tuple(n for n in MASKS if messages and found[n] >= MIN_SHARE_TO_MASK * len(messages)))
    names = tuple(name for name in MASKS if name in wanted)
    words = dict.fromkeys(word for item in wanted if item not in MASKS for word in _words_in(item))
    return Preparation(names, tuple(words))


def _words_in(name: str) -> list[str]:
    """Return the words of a file, one a line, in lower case."""
    try:
        with Path(name).open("rb") as file:
            content = file.read(MAX_BYTES_OF_WORDS + 1)
        lines = content.decode("utf-8-sig").lower().splitlines()
    except (OSError, ValueError):
        close = did_you_mean(name, MASKS)
        raise SettingsError(f"mask {name!r}: neither {', '.join(MASKS)} nor a file of words{close}") from None
    words = [line.strip() for line in lines if line.strip()]
    if len(content) > MAX_BYTES_OF_WORDS or len(words) > MAX_MASKED_WORDS:
        raise SettingsError(f"{name}: too large for a list of words to mask; at most {MAX_MASKED_WORDS:,} words")
    return words
